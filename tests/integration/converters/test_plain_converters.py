from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.plain.byte_array_converter import ByteArrayConverter
from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.schema import (
    BYTES_SCHEMA,
    DECIMAL,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP,
    Schema,
    SchemaField,
    SchemaType,
)

INT = Schema(SchemaType.INT32, optional=True)


def configured(converter: Converter, **options: str) -> Converter:
    converter.configure({name.replace("_", "."): value for name, value in options.items()}, is_key=False)
    return converter


def encoded(spark: SparkSession, one: Converter, schema: Schema | None, value: object) -> bytes | None:
    kind = "string" if schema is None else schema.to_spark().simpleString()
    row = spark.createDataFrame([(value,)], f"v {kind}").select(one.encode(schema, F.col("v")).alias("e")).first()
    assert row is not None
    return None if row.e is None else bytes(row.e)


def decoded(spark: SparkSession, one: Converter, values: Sequence[bytes | None]) -> list[object]:
    df = spark.createDataFrame([(value,) for value in values], "v binary")
    (decoder,) = one.decoders(df, "v")
    return [row.x for row in df.select(decoder.value.alias("x")).collect()]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (STRING_SCHEMA, "세 ", "세 "),
        (OPTIONAL_STRING_SCHEMA, None, None),
        (INT, 5, "5"),
        (Schema(SchemaType.FLOAT64), 1e10, "1.0E10"),
        (Schema(SchemaType.BOOLEAN), True, "true"),
        (Schema(SchemaType.ARRAY, value_schema=INT), [1, None], "[1, null]"),
        (Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=INT), {"k": 1}, "{k=1}"),
        (Schema(SchemaType.STRUCT, fields=(SchemaField("a", INT), SchemaField("b", INT))), (1, None), "Struct{a=1}"),
        (Schema(SchemaType.BYTES, name=DECIMAL, parameters=(("scale", "8"),)), Decimal("1E-8"), "1E-8"),
        (
            Schema(SchemaType.INT64, name=TIMESTAMP),
            datetime(2022, 1, 21, 0, 44, 13, tzinfo=UTC),
            "Fri Jan 21 00:44:13 UTC 2022",
        ),
        (None, '{"k":1}', '{"k":1}'),
        (None, '"a\\\\n\\u00e9"', "a\\né"),
        (None, '[1.50,["x",null]]', "[1.5, [x, null]]"),
    ],
)
def test_strings_are_what_java_prints(
    spark: SparkSession, schema: Schema | None, value: object, text: str | None
) -> None:
    expected = None if text is None else text.encode()
    assert encoded(spark, configured(StringConverter()), schema, value) == expected


def test_strings_are_read_with_invalid_utf8_replaced(spark: SparkSession) -> None:
    one = configured(StringConverter())
    assert decoded(spark, one, [b"a\xffb", "세".encode(), None, b""]) == ["a\ufffdb", "세", None, ""]


def test_strings_in_another_character_set(spark: SparkSession) -> None:
    one = configured(StringConverter(), converter_encoding="iso-8859-1")
    assert encoded(spark, one, STRING_SCHEMA, "é") == b"\xe9"
    assert decoded(spark, one, [b"\xe9"]) == ["é"]
    assert encoded(spark, one, STRING_SCHEMA, "세 é😀.") == "세 é😀.".encode("iso-8859-1", "replace") == b"? \xe9?."
    ascii, utf16 = (configured(StringConverter(), converter_encoding=name) for name in ("us-ascii", "utf-16be"))
    assert decoded(spark, ascii, [b"a\xe9b"]) == ["a\ufffdb"]
    assert decoded(spark, utf16, [b"\0a\xd8\0\0b", b"\0a\0"]) == ["a\ufffd", "a\ufffd"]


def test_an_unknown_character_set_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"converter\.encoding"):
        configured(StringConverter(), converter_encoding="klingon")


def test_bytes_pass_through(spark: SparkSession) -> None:
    one = configured(ByteArrayConverter())
    assert encoded(spark, one, BYTES_SCHEMA, b"\x00\xff") == b"\x00\xff"
    assert encoded(spark, one, None, None) is None
    assert decoded(spark, one, [b"\xff", None]) == [b"\xff", None]
    likely = one.expected_decoder("v")
    assert likely is not None
    assert likely.schema == OPTIONAL_BYTES_SCHEMA


def test_what_is_no_bytes_fails_with_javas_text(spark: SparkSession) -> None:
    one = configured(ByteArrayConverter())
    with pytest.raises(DataError, match="Invalid schema type for ByteArrayConverter: STRING"):
        one.encode(STRING_SCHEMA, F.lit("a"))
    with pytest.raises(Exception, match="ByteArrayConverter is not compatible with objects of type"):
        encoded(spark, one, None, '"a"')
