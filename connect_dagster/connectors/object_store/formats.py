"""Formats of files: the rows that Spark writes of the records of one schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaType

VALUE = "value"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value as it waits for its file.

    Attributes:
        column: over the record.
        type: of the column.
        rows: columns of the file, over ``value``.
    """

    column: Column
    type: spark.DataType
    rows: Sequence[Column]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format.

    Attributes:
        spark: Spark's name of it.
        encode: returns the values of a schema.
        options: of Spark's writer.
        extension: of files; ``None`` for Spark's own.
    """

    spark: str
    encode: Callable[[Schema | None], Encoded]
    options: Mapping[str, str] = field(default_factory=dict)
    extension: str | None = None


def columns_of_fields(schema: Schema | None) -> Encoded:
    """Return the fields of a struct as columns, any other value as the column ``value``."""
    is_struct = schema is not None and schema.type is SchemaType.STRUCT
    column, kind = with_nulls(F.col(VALUE), schema)
    return Encoded(column, kind, [F.col(f"{VALUE}.*") if is_struct else F.col(VALUE)])


def bytes_as_lines(schema: Schema | None) -> Encoded:
    """Return values that are bytes, for lines of them (Confluent: ``ByteArrayFormat``).

    Raises:
        DataError: they are not.
    """
    if schema is None or schema.type not in (SchemaType.BYTES, SchemaType.STRING) or schema.name is not None:
        found = "JSON without a schema" if schema is None else schema.name or schema.type.value
        raise DataError(
            f"ByteArrayFormat writes bytes, and the values are {found}: set "
            "value.converter=org.apache.kafka.connect.converters.ByteArrayConverter"
        )
    # As Spark's text, which is not looked at: its bytes go to the file as they are.
    return Encoded(F.col(VALUE).cast("binary"), spark.BinaryType(), [F.col(VALUE).cast("string").alias(VALUE)])


def with_nulls(column: Column, schema: Schema | None) -> tuple[Column, spark.DataType]:
    """Return a column of a schema as one whose parts may all be null, and its type.

    Arrow has nothing to put into the required fields of a struct that is null.
    """
    kind = spark.StringType() if schema is None else schema.to_spark()
    nullable = _nullable(kind)
    return (column if nullable == kind else column.cast(nullable)), nullable


def _nullable(kind: spark.DataType) -> spark.DataType:
    match kind:
        case spark.StructType():
            return spark.StructType([spark.StructField(one.name, _nullable(one.dataType)) for one in kind])
        case spark.ArrayType():
            return spark.ArrayType(_nullable(kind.elementType))
        case spark.MapType():
            return spark.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind
