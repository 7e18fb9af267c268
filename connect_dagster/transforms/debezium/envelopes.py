"""Change events as Debezium's transforms find them: envelopes around a row, before and after its change.

Only the name of a value's schema shows that it is one (Debezium: ``SmtManager.isValidEnvelope``). So all data without
schema, and the records beside the data, such as schema changes and heartbeats, are not envelopes: they pass.

A record whose value is null is a tombstone. One with a schema that requires a value can only be in a frame from a
source, and has no schema once it is separate.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import fields_by_name
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, RecordFrame, SourceFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

DEBEZIUM_VERSION: Final = "3.6.1.Final"
"""Release whose transforms these are."""

BEFORE, AFTER, SOURCE, TRANSACTION = "before", "after", "source", "transaction"
OP, TS_MS = "op", "ts_ms"
ENVELOPE_SUFFIX = ".Envelope"

# What String.trim takes away.
_JAVA_WHITESPACE = "".join(map(chr, range(0x21)))


class SplittingTransform(Transform):
    """A transform whose records may get several schemas."""

    version = DEBEZIUM_VERSION

    def apply(self, frame: Frame) -> Frame:
        """Return the frame of ``apply_split``.

        Raises:
            ConnectError: its records get several schemas.
        """
        changed = self.apply_split(frame)
        if len(changed) > 1:
            raise ConnectError(f"{type(self).__name__} gives these records several schemas, so apply_split is needed")
        return changed[0]

    @abstractmethod
    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        """Return the frames after the transform."""


def is_envelope(schema: Schema | None) -> bool:
    """Return whether the values of a schema are change events."""
    return schema is not None and (schema.name or "").endswith(ENVELOPE_SUFFIX)


def is_null(frame: RecordFrame) -> Column:
    """Return whether the value of a record is null; never null."""
    value = frame.column("value")
    return json_objects.is_null(value.cast("string")) if frame.value_schema is None else value.isNull()


def may_have_nulls(frame: RecordFrame) -> bool:
    """Return whether the values may be null; converters read no null for a schema that requires a value."""
    return frame.value_schema is None or frame.value_schema.optional or is_source(frame)


def is_source(frame: RecordFrame) -> bool:
    """Return whether the records are on their way to Kafka."""
    return isinstance(frame, SourceFrame)


def without_value(frame: Frame) -> Frame:
    """Return the records as tombstones, which have neither value nor schema."""
    return frame.with_value(F.lit(None).cast("string"), None)


def as_tombstones(frame: Frame) -> Frame:
    """Return records whose value is null as Debezium passes them: with a schema, if that allows null."""
    schema = frame.value_schema
    return frame if schema is None or schema.optional else without_value(frame)


def field_of(schema: Schema, name: str, type_: SchemaType | None = None) -> SchemaField:
    """Return a field of a struct (Java: ``Struct.get``, ``Struct.getString``).

    Args:
        schema: of the struct.
        name: of the field.
        type_: that the field has to have; ``None`` for any.

    Raises:
        DataError: there is not such a field, in Java's words.
    """
    found = fields_by_name(schema).get(name)
    if found is None:
        raise DataError(f"{name} is not a valid field name")
    if type_ is not None and found.schema.type is not type_:
        raise DataError(f"Field '{name}' is not of type {type_.name}")
    return found


def is_blank(text: Column) -> Column:
    """Return whether a text has nothing but blanks (Java: ``trim().isEmpty()``); null for null."""
    return F.trim(text, F.lit(_JAVA_WHITESPACE)) == ""
