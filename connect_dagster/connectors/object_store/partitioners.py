"""Partitioners: the directory of a record below that of its topic, and the record's time (Confluent: ``Partitioner``).

What a directory depends on is a Spark expression over the record; the directory itself is text that is made once for
all records of a batch that are in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.object_store.rotation import Numbers
from connect_dagster.connectors.object_store.time_directories import TimeDirectories
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, TIMESTAMP, Schema, SchemaType

_DAY_MILLIS = 86_400_000
_WHOLE_NUMBER = "^-?[0-9]{1,19}$"
_NUMBERS = frozenset({SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64})
_FIELDS_OF_DIRECTORIES = _NUMBERS | {SchemaType.STRING, SchemaType.BOOLEAN}


class Extractor(Enum):
    """Origin of a record's time (Confluent: ``TimestampExtractor``)."""

    WALLCLOCK = "Wallclock"
    RECORD = "Record"
    RECORD_FIELD = "RecordField"


@dataclass(frozen=True, slots=True)
class Partitioner:
    """The directories of records; by their Kafka partition, unless there are fields or intervals of time.

    Attributes:
        fields: of the value that give the directory.
        times: intervals of time that give the directory.
        extractor: of a record's time.
        time_field: the field with the time.
        delimiter: between directories.
    """

    fields: tuple[str, ...] = ()
    times: TimeDirectories | None = None
    extractor: Extractor = Extractor.WALLCLOCK
    time_field: str = "timestamp"
    delimiter: str = "/"

    def time(self, schema: Schema | None) -> Column | None:
        """Return a record's time in milliseconds, null where it has none; ``None`` for the clock's.

        Args:
            schema: of values.

        Raises:
            DataError: the values have no such field, or no time in it.
        """
        match self.extractor:
            case Extractor.WALLCLOCK:
                return None
            case Extractor.RECORD:
                return F.col("timestamp")
            case Extractor.RECORD_FIELD:
                return _millis(self.time_field, *_nested("timestamp.field", self.time_field, schema))

    def field_text(self, schema: Schema | None) -> Column | None:
        """Return the directory of a record by its fields; ``None`` without fields.

        Args:
            schema: of values.

        Raises:
            DataError: the values have no such fields, or of types that are not for directories.
        """
        if not self.fields:
            return None
        parts = [_directory_of_field(name, schema) for name in self.fields]
        return F.concat_ws(self.delimiter, *parts)

    def directories(self, partition: int, times: Numbers, texts: pa.ChunkedArray | None) -> tuple[list[str], Numbers]:
        """Return the directories of records of one Kafka partition, and the index of each record's directory.

        Args:
            partition: the Kafka partition.
            times: of the records.
            texts: what ``field_text`` gives.

        Raises:
            DataError: a time is out of the range of dates.
        """
        if self.times is not None:
            return self.times.of(times)
        if texts is not None:
            encoded = texts.combine_chunks().dictionary_encode()
            return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
        return [f"partition={partition}"], np.zeros(len(times), np.int64)


def _nested(key: str, name: str, schema: Schema | None) -> tuple[Schema | None, Column]:
    """Return the schema of a field, with a dot before each level, and its column; JSON text has no schemas."""
    column = F.col("value")
    if schema is None:
        return None, F.get_json_object(column, "$" + "".join(f"['{part}']" for part in name.split(".")))
    found: Schema = schema
    for part in name.split("."):
        inner = next((field.schema for field in found.fields if field.name == part), None)
        if inner is None:
            there = ", ".join(field.name for field in found.fields) or f"no fields, as they are {found.type.value}"
            raise DataError(f"Values have no field '{name}', which {key} names; they have {there}")
        found, column = inner, column[part]
    return found, column


def _millis(name: str, schema: Schema | None, column: Column) -> Column:
    if schema is None or schema.type is SchemaType.STRING:
        number = F.when(column.rlike(_WHOLE_NUMBER), column.try_cast("bigint"))
        return F.coalesce(number, F.unix_millis(column.try_cast("timestamp")))
    if schema.name == TIMESTAMP:
        return F.unix_millis(column)
    if schema.name == DATE:
        return F.unix_date(column).cast("bigint") * _DAY_MILLIS
    if schema.type in (SchemaType.INT32, SchemaType.INT64):
        return column.cast("bigint")
    raise DataError(
        f"Field '{name}', which timestamp.field names, is {_kind(schema)}: a time is a Timestamp, a Date, int32 or "
        "int64 in milliseconds, or a string"
    )


def _directory_of_field(name: str, schema: Schema | None) -> Column:
    if schema is None or schema.type is not SchemaType.STRUCT:
        found = "JSON without a schema" if schema is None else _kind(schema)
        raise DataError(f"partition.field.name needs values that are structs with a schema; these are {found}")
    kind, column = _nested("partition.field.name", name, schema)
    if kind is None or kind.name is not None or kind.type not in _FIELDS_OF_DIRECTORIES:
        found = "?" if kind is None else _kind(kind)
        raise DataError(
            f"Field '{name}', which partition.field.name names, is {found}: a directory is named by a number without "
            "a fraction, a string or a boolean"
        )
    # A slash would be another level.
    text = F.replace(column.cast("string"), F.lit("/"), F.lit("%2F"))
    return F.concat(F.lit(f"{name}="), F.coalesce(text, F.lit("null")))


def _kind(schema: Schema) -> str:
    return schema.type.value if schema.name is None else f"{schema.name} ({schema.type.value})"
