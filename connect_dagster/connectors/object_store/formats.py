"""Formats of files: the rows that Spark writes of the records of one schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

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
        extension: in place of Spark's ``.txt``.
    """

    spark: str
    encode: Callable[[Schema | None], Encoded]
    options: Mapping[str, str] = field(default_factory=dict)
    extension: str = ".txt"


def columns_of_fields(schema: Schema | None) -> Encoded:
    """Return the fields of a struct as columns, any other value as the column ``value``."""
    is_struct = schema is not None and schema.type is SchemaType.STRUCT
    column, kind = with_nulls(F.col(VALUE), schema)
    return Encoded(column, kind, [F.col(f"{VALUE}.*") if is_struct else F.col(VALUE)])


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
