"""Decimals that a source gives as the bytes of their unscaled values."""

import base64
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import StructField, StructType

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.errors import DataError
from connect_dagster.expressions import decimal_bytes
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaField, SchemaType

WIDE = "12345678901234567890123456789012345.123456789012345678901234567890"


def decimal(digits: int, scale: int, default: Decimal | None = None) -> Schema:
    parameters = (("scale", str(scale)), ("connect.decimal.precision", str(digits)))
    return Schema(SchemaType.BYTES, True, DECIMAL, 1, None, parameters, default, unscaled=True)


def row(schema: Schema) -> Schema:
    return Schema(SchemaType.STRUCT, fields=(SchemaField("price", schema),))


def bytes_of(text: str) -> bytes:
    number = int(text.replace(".", ""))
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def written(spark: SparkSession, converter: Any, schema: Schema, *values: bytes | None) -> list[str]:
    kind = pa.struct({"price": pa.binary()})
    df = spark.createDataFrame(pa.table({"value": pa.array([{"price": value} for value in values], kind)}))
    rows = df.select(converter.encode(row(schema), F.col("value")).alias("value")).collect()
    return [bytes(one.value).decode() for one in rows]


def json_converter(**more: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false", **{k.replace("_", "."): v for k, v in more.items()}}, is_key=False)
    return converter


def test_they_are_written_as_they_are(spark: SparkSession) -> None:
    values = (bytes_of("2.50"), bytes_of("-0.01"), None)
    found = [json.loads(text)["price"] for text in written(spark, json_converter(), decimal(10, 2), *values)]
    assert found == ["APo=", "/w==", None]


def test_those_of_more_digits_than_sparks(spark: SparkSession) -> None:
    (found,) = written(spark, json_converter(), decimal(65, 30), bytes_of(WIDE))
    assert base64.b64decode(json.loads(found)["price"]) == bytes_of(WIDE)


def test_a_default_in_place_of_null(spark: SparkSession) -> None:
    (found,) = written(spark, json_converter(), decimal(10, 2, Decimal("2.50")), None)
    assert json.loads(found) == {"price": "APo="}


def test_as_numbers_and_as_text(spark: SparkSession) -> None:
    numeric = json_converter(decimal_format="NUMERIC")
    assert written(spark, numeric, decimal(10, 2), bytes_of("2.50")) == ['{"price":2.50}']
    text = StringConverter()
    text.configure({}, is_key=False)
    assert written(spark, text, decimal(10, 2), bytes_of("-2.50")) == ["Struct{price=-2.50}"]
    assert written(spark, numeric, decimal(65, 30), bytes_of(WIDE)) == [f'{{"price":{WIDE}}}']
    with pytest.raises(DataError, match="Decimals of 65 digits can only be written as their bytes"):
        written(spark, text, decimal(65, 30), bytes_of(WIDE))


def test_all_parts_of_a_column(spark: SparkSession) -> None:
    part = decimal(10, 2)
    schema = Schema(
        SchemaType.STRUCT,
        fields=(
            SchemaField("one", part),
            SchemaField("list", Schema(SchemaType.ARRAY, value_schema=part)),
            SchemaField("map", Schema(SchemaType.MAP, key_schema=Schema(SchemaType.STRING), value_schema=part)),
            SchemaField("text", Schema(SchemaType.STRING)),
        ),
    )
    value = {"one": bytes_of("2.50"), "list": [bytes_of("0.01"), None], "map": {"a": bytes_of("-1.00")}, "text": "b"}
    df = spark.createDataFrame([(value,)], StructType([StructField("value", schema.to_spark())]))
    made, column = decimal_bytes.all_scaled(schema, F.col("value"))
    (found,) = df.select(column.alias("value")).collect()
    assert found.value.asDict(recursive=True) == {
        "one": Decimal("2.50"),
        "list": [Decimal("0.01"), None],
        "map": {"a": Decimal("-1.00")},
        "text": "b",
    }
    assert decimal_bytes.all_scaled(made, column)[0] is made
