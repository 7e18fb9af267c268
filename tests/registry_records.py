"""Records through converters with a schema registry, as lists of Python values."""

import datetime
from collections.abc import Sequence
from typing import Any

import requests
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark_types

from connect_dagster.converters.protobuf.connect_schema import nullable
from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.schema import Schema


def encoded(
    spark: SparkSession, converter: Converter, topic: str, schema: Schema, values: Sequence[Any]
) -> list[bytes | None]:
    """Bytes of values of one schema."""
    type_ = spark_types.StructType(
        [
            spark_types.StructField("i", spark_types.IntegerType()),
            spark_types.StructField("v", nullable(schema).to_spark()),
        ]
    )
    df = spark.createDataFrame(list(enumerate(values)), type_)
    rows = df.select("i", converter.encode_for(topic, schema, F.col("v")).alias("b")).orderBy("i").collect()
    return [None if row.b is None else bytes(row.b) for row in rows]


def decoded(
    spark: SparkSession, converter: Converter, records: Sequence[bytes | None], *, schemas_of: slice = slice(None)
) -> tuple[list[Schema | None], list[Any]]:
    """Schemas in the order of the first record of each, and the values; the error's text where there is one."""
    df = spark.createDataFrame(list(enumerate(records)), "i int, v binary")
    values: dict[int, Any] = {}
    schemas: dict[int, Schema | None] = {}
    for decoder in converter.decoders(df, "v"):
        matching = df if decoder.matches is None else df.where(decoder.matches)
        error = F.lit(None) if decoder.readable is None else F.when(~decoder.readable, decoder.error)
        rows = matching.select("i", decoder.value.alias("value"), error.alias("error")).collect()
        for row in rows:
            assert row.i not in values
            values[row.i] = row.error if row.error is not None else plain(row.value)
        schemas[min(row.i for row in rows)] = decoder.schema
    return [schemas[i] for i in sorted(schemas)][schemas_of], [values[i] for i in range(len(records))]


def plain(value: Any) -> Any:
    """Spark's values as Python's."""
    match value:
        case Row():
            return {name: plain(item) for name, item in value.asDict().items()}
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case bytearray():
            return bytes(value)
        case datetime.datetime():
            return value.astimezone(datetime.UTC)  # Spark gives it in this machine's time zone
        case _:
            return value


def versions_of(url: str, subject: str) -> list[int]:
    """The versions that a subject has."""
    found: list[int] = requests.get(f"{url}/subjects/{subject}/versions", timeout=30).json()
    return found
