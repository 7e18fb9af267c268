"""Fields of an envelope by reference, as ``add.fields`` and ``add.headers`` name them (Debezium: ``FieldReference``).

>>> FieldReference.parsed("__", "op")
FieldReference(struct=None, field='op', name='__op')
>>> FieldReference.parsed("__", "lsn")
FieldReference(struct='source', field='lsn', name='__lsn')
>>> FieldReference.parsed("__", "source.ts_ms")
FieldReference(struct='source', field='ts_ms', name='__source_ts_ms')
>>> FieldReference.parsed("", "transaction.id:tx")
FieldReference(struct='transaction', field='id', name='tx')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions.struct_edits import fields_by_name
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium.envelopes import OP, SOURCE, TRANSACTION, TS_MS

_FORM = "Each item has to be field, struct.field, field:new_name or struct.field:new_name, such as op,source.ts_ms:at"
# Structs of fields that are named without one; all others are in `source`.
_STRUCTS: Mapping[str, str | None] = {
    **dict.fromkeys((OP, TS_MS, "ts_us", "ts_ns")),
    **dict.fromkeys(("id", "total_order", "data_collection_order"), TRANSACTION),
    "updateDescription": "updateDescription",
}


@dataclass(frozen=True, slots=True)
class FieldReference:
    """A field of an envelope, and what it is called where it is added.

    Attributes:
        struct: field of the envelope that has the field; ``None`` for the envelope itself.
        field: its name there.
        name: its new name, with the prefix.
    """

    struct: str | None
    field: str
    name: str

    @classmethod
    def parsed(cls, prefix: str, text: str) -> Self:
        """Return the reference of an item of the option; of several dots the second part counts, as in Debezium.

        Raises:
            ValueError: it has another form.
        """
        named, path = _java_split(text, ":"), _java_split(text.partition(":")[0], ".")
        if len(named) > 2 or not path or not all(path):
            raise ValueError(text)
        struct, field = (path[0], path[1]) if len(path) > 1 else (_STRUCTS.get(path[0], SOURCE), path[0])
        usual = f"{struct}_{field}" if len(path) > 1 else field
        return cls(struct, field, prefix + (named[1] if len(named) == 2 else usual))

    def found(self, envelope: Schema) -> FoundField | None:
        """Return the field in envelopes of a schema; ``None`` where it is missing, as it is not added then.

        Raises:
            DataError: the envelope has no such struct, or the field is a struct.
        """
        outer = fields_by_name(envelope)
        parent = envelope if self.struct is None else _struct(outer, self.struct)
        inner = fields_by_name(parent).get(self.field)
        field = inner or outer.get(self.field)
        if field is None:
            return None
        if field.schema.type is SchemaType.STRUCT:
            # Java's copy of the schema has no fields.
            raise DataError("Struct schemas do not match.")
        added = replace(field.schema, optional=True, default=None)
        return FoundField(SchemaField(self.name, added), self.struct, self.field, is_inner=inner is not None)


@dataclass(frozen=True, slots=True)
class FoundField:
    """A field of the envelopes of a schema that is added to records.

    Attributes:
        added: the new field.
        struct: as of the reference.
        name: in the envelope.
        is_inner: whether the struct has it; else the envelope itself has, and it is null where the struct is.
    """

    added: SchemaField
    struct: str | None
    name: str
    is_inner: bool

    def value(self, envelope: Column) -> Column:
        """Return the value, without its default."""
        if self.struct is None:
            return envelope.getField(self.name)
        parent = envelope.getField(self.struct)
        return parent.getField(self.name) if self.is_inner else F.when(parent.isNotNull(), envelope.getField(self.name))


def references(prefix: str, items: Sequence[str]) -> tuple[FieldReference, ...]:
    """Return the references of an option."""
    return tuple(FieldReference.parsed(prefix, item) for item in items)


def valid_references(name: str, value: Any) -> None:
    """Check the items of an option."""
    try:
        references("", value)
    except ValueError as error:
        raise ConfigError.invalid(name, value, f"{_FORM}, but one is '{error}'") from error


def all_found(wanted: Sequence[FieldReference], envelope: Schema) -> tuple[FoundField, ...]:
    """Return the fields that envelopes of a schema have.

    Raises:
        DataError: as :meth:`FieldReference.found`.
    """
    found = (reference.found(envelope) for reference in wanted)
    return tuple(field for field in found if field is not None)


def _struct(fields: dict[str, SchemaField], name: str) -> Schema:
    if name not in fields:
        raise DataError(f"The envelope has no struct {name}, of which a field is added; it has: {', '.join(fields)}")
    schema = fields[name].schema
    if schema.type is not SchemaType.STRUCT:
        raise DataError("Cannot look up fields on non-struct type")
    return schema


def _java_split(text: str, at: str) -> list[str]:
    """Return the parts without empty ones at the end (Java: ``Pattern.split``)."""
    parts = text.split(at)
    while parts and not parts[-1]:
        parts.pop()
    return parts
