import json
from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import StringType, StructField, StructType

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaField, SchemaType

LINE = b'{"schema":{"type":"string","optional":false},"payload":"a line"}'
NUMBER = b'{"schema":{"type":"int32","optional":false},"payload":5}'


def converter(**options: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): value for name, value in options.items()}, is_key=False)
    return made


def batch(spark: SparkSession, *records: bytes | None) -> DataFrame:
    return spark.createDataFrame([(record,) for record in records], "v binary")


def encoded(
    spark: SparkSession, one: JsonConverter, schema: Schema | None, values: Sequence[object]
) -> list[bytes | None]:
    kind = StringType() if schema is None else schema.to_spark()
    df = spark.createDataFrame([(value,) for value in values], StructType([StructField("v", kind)]))
    rows = df.select(one.encode(schema, F.col("v")).alias("e")).collect()
    return [None if row.e is None else bytes(row.e) for row in rows]


def test_s1_02_lines_are_written_as_java_writes_them(spark: SparkSession) -> None:
    found = encoded(spark, converter(), STRING_SCHEMA, ["first message", "세번째 메시지"])
    start = '{"schema":{"type":"string","optional":false},"payload":'
    assert found == [f'{start}"first message"}}'.encode(), f'{start}"세번째 메시지"}}'.encode()]


def test_s4_06_without_schemas_a_line_is_a_json_string(spark: SparkSession) -> None:
    assert encoded(spark, converter(schemas_enable="false"), STRING_SCHEMA, ["first message"]) == [b'"first message"']


def test_null_is_a_payload_with_a_schema_and_a_tombstone_without(spark: SparkSession) -> None:
    head = b'{"schema":{"type":"string","optional":true},"payload":'
    assert encoded(spark, converter(), OPTIONAL_STRING_SCHEMA, [None]) == [head + b"null}"]
    assert encoded(spark, converter(), None, [None, "[1]"]) == [None, b'{"schema":null,"payload":[1]}']
    assert encoded(spark, converter(schemas_enable="false"), OPTIONAL_STRING_SCHEMA, [None]) == [b"null"]


def test_null_where_a_value_is_required_fails_with_javas_text(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="Conversion error: null value for field that is required"):
        encoded(spark, converter(), STRING_SCHEMA, [None])


def test_characters_beyond_16_bits_are_escaped_everywhere(spark: SparkSession) -> None:
    found = encoded(spark, converter(schemas_enable="false"), STRING_SCHEMA, ["😀😀 세 \U0010ffff", "세"])
    assert found == ['"\\uD83D\\uDE00\\uD83D\\uDE00 세 \\uDBFF\\uDFFF"'.encode(), '"세"'.encode()]


@pytest.mark.parametrize("enveloped", ["true", "false"])
def test_characters_beyond_16_bits_are_escaped_wherever_they_are(spark: SparkSession, enveloped: str) -> None:
    texts = Schema(SchemaType.ARRAY, optional=True, value_schema=OPTIONAL_STRING_SCHEMA)
    named = Schema(SchemaType.MAP, optional=True, key_schema=STRING_SCHEMA, value_schema=OPTIONAL_STRING_SCHEMA)
    filled = Schema(SchemaType.STRING, optional=True, default="세 😀")
    inner = Schema(SchemaType.STRUCT, optional=True, fields=(SchemaField("n", OPTIONAL_STRING_SCHEMA),))
    parts = {"a": texts, "m": named, "f": filled, "s": inner}
    schema = Schema(SchemaType.STRUCT, fields=tuple(SchemaField(name, part) for name, part in parts.items()))
    wide, escaped = "😀 세", "\\uD83D\\uDE00 세"
    plain = '{"a":null,"m":null,"f":"x","s":null}'
    values = [
        (([None, wide], None, "x", None), plain.replace('"a":null', f'"a":[null,"{escaped}"]')),
        ((None, {wide: None}, "x", None), plain.replace('"m":null', f'"m":{{"{escaped}":null}}')),
        ((None, {"k": wide}, "x", None), plain.replace('"m":null', f'"m":{{"k":"{escaped}"}}')),
        ((None, None, None, None), plain.replace('"x"', '"세 \\uD83D\\uDE00"')),
        ((None, None, "x", (wide,)), plain.replace('"s":null', f'"s":{{"n":"{escaped}"}}')),
        ((None, None, "x", None), plain),
    ]
    found = encoded(spark, converter(schemas_enable=enveloped), schema, [value for value, _ in values])
    for record, (_, text) in zip(found, values, strict=True):
        assert record is not None
        assert record.decode().endswith(f'"payload":{text}}}' if enveloped == "true" else text)


def test_a_field_named_by_a_character_beyond_16_bits(spark: SparkSession) -> None:
    schema = Schema(SchemaType.STRUCT, fields=(SchemaField("😀", Schema(SchemaType.INT32)),))
    assert encoded(spark, converter(schemas_enable="false"), schema, [(1,)]) == [b'{"\\uD83D\\uDE00":1}']


@pytest.mark.parametrize(
    ("payload", "readable"),
    [
        ('{"a":"x"}}', True),
        ('{"a":"}{"}}', True),
        ("{}}", True),
        ('{"a":"x"}}}', True),  # as Jackson, which stops where the object ends
        ('{"a":"x"},"b":1}', False),
        ('{"a":"x"},"b":1}}', False),
        ('{"a":"x"},"b":{}}', False),
        ('{"a":"x"},"b":"}}"}', False),
        ('{"a":"x"}', False),
        ('{"a":"x}}', False),
    ],
)
def test_an_envelope_has_two_members(spark: SparkSession, payload: str, readable: bool) -> None:
    head = '{"schema":{"type":"struct","fields":[{"type":"string","optional":true,"field":"a"}],"optional":false}'
    df = batch(spark, f'{head},"payload":{payload}'.encode())
    (decoder,) = converter().decoders(df, "v")
    assert decoder.readable is not None
    assert df.select(decoder.readable.alias("r")).collect()[0].r is readable


def test_nothing_is_likely_before_the_first_batch() -> None:
    assert converter().expected_decoder("v") is None


def test_the_schema_of_the_last_batch_is_likely(spark: SparkSession) -> None:
    one = converter()
    one.decoders(batch(spark, LINE, LINE), "v")
    likely = one.expected_decoder("v")
    assert likely is not None
    assert likely.schema == STRING_SCHEMA
    assert likely.matches is not None
    rows = batch(spark, LINE, NUMBER, None).select(likely.matches.alias("m"), likely.value.alias("x")).collect()
    assert [row.m for row in rows] == [True, False, False]
    assert rows[0].x == "a line"


def test_keys_that_are_all_null_are_likely_null_again(spark: SparkSession) -> None:
    one = converter()
    one.decoders(batch(spark, None, None), "v")
    likely = one.expected_decoder("v")
    assert likely is not None
    assert likely.schema is None


def test_several_schemas_leave_nothing_likely(spark: SparkSession) -> None:
    one = converter()
    df = batch(spark, LINE, NUMBER, None, LINE)
    decoders = one.decoders(df, "v")
    counts = {d.schema and d.schema.type: df.where(d.matches).count() for d in decoders if d.matches is not None}
    assert counts == {SchemaType.STRING: 2, SchemaType.INT32: 1, None: 1}
    assert one.expected_decoder("v") is None


def test_records_of_other_producers_match_one_decoder(spark: SparkSession) -> None:
    other = b'{"payload": "x", "schema": {"type": "string"}}'
    df = batch(spark, LINE, other, b"no json")
    matching = [df.where(d.matches).count() for d in converter().decoders(df, "v") if d.matches is not None]
    assert matching == [1, 1, 1]


def test_a_schema_that_cannot_be_read_fails_its_own_records_only(spark: SparkSession) -> None:
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1}
    nested = '{"type":"array","items":' * 400 + '{"type":"string"}' + "}" * 400
    deepest = '{"type":"array","items":' * 100_000
    schemas = [json.dumps(decimal), json.dumps({**decimal, "parameters": {"scale": "127"}}), nested, deepest]
    df = batch(spark, LINE, *(f'{{"schema":{schema},"payload":null}}'.encode() for schema in schemas))
    found: dict[bytes, str] = {}
    for decoder in converter().decoders(df, "v"):
        assert decoder.matches is not None
        assert decoder.readable is not None
        said = F.coalesce(decoder.value.cast("string"), F.when(~decoder.readable, decoder.error)).alias("said")
        for row in df.where(decoder.matches).select("v", said).collect():
            found[bytes(row.v)] = row.said
    texts = [found[bytes(row.v)] for row in df.collect()]
    assert texts[:3] == [
        "a line",
        "Invalid Decimal schema: scale parameter not found.",
        "Decimals of scale 127 cannot be read: it may be 0 to 38",
    ]
    assert all(texts)


def test_null_without_schemas_may_stand_after_blanks(spark: SparkSession) -> None:
    df = batch(spark, b"null", b" \t\r\nnull\n", b'\n"null"')
    (decoder,) = converter(schemas_enable="false").decoders(df, "v")
    assert [row.x for row in df.select(decoder.value.alias("x")).collect()] == [None, None, '\n"null"']


def test_schemas_beyond_the_cache_are_read_again(spark: SparkSession) -> None:
    one = converter(schemas_cache_size="1")
    df = batch(spark, LINE, NUMBER)
    for _ in range(2):
        assert {d.schema and d.schema.type for d in one.decoders(df, "v")} == {SchemaType.STRING, SchemaType.INT32}


def test_schema_content_that_is_none_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="Failed to parse schema in converter config"):
        converter(schema_content="{")


@pytest.mark.parametrize("keys", ["int32", "string"])
def test_a_decimal_that_spark_cannot_hold_is_an_error_also_in_maps(spark: SparkSession, keys: str) -> None:
    decimal = {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "0"},
        "optional": True,
    }
    schema = {"type": "map", "keys": {"type": keys}, "values": decimal}
    values = ["/////////////////////w==", "Zm9yIDM5IGRpZ2l0cyBsb25nIG51bWJlcg==", None]
    payloads = [{"k": value} if keys == "string" else [[1, value]] for value in values]
    df = batch(spark, *(json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads))
    (decoder,) = converter().decoders(df, "v")
    assert decoder.readable is not None
    assert [row[0] for row in df.select(decoder.readable).collect()] == [True, False, True]


JAVAS = b'{"schema":{"type":"string","optional":false},"payload":"a"}'


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (JAVAS, True),
        (None, True),
        (JAVAS.replace(b':"a"', ':"ü😀"'.encode()), True),
        (b'{"schema":{"type":"nothing"},"payload":1}', True),
        (b'{"schema":{"type":"string","doc":",\\"payload\\":"},"payload":"a"}', True),
        (b'{"schema":{"type":"string","doc":"x,\\"payload\\":"},"payload":"a"}', True),
        (b'{"payload":"a","schema":{"type":"string"}}', False),
        (b'{"schema": {"type":"string"},"payload":"a"}', True),
        (b'{"schema":{"type":"string"},"payload' + b"\xff" + b'":"a"}', False),
        (b'{"schema":{"a":{"b":1,"payload":2}},"payload":3}', False),
        (b'"a"', False),
        (b"", False),
    ],
)
def test_a_record_that_is_expected_is_read_as_one_that_was_searched(
    spark: SparkSession, record: bytes | None, known: bool
) -> None:
    searched, expecting = converter(), converter()
    df = batch(spark, record)
    (decoder,) = searched.decoders(df, "v")
    assert expecting.expect(record) is known
    expected = expecting.expected_decoder("v")
    assert (expected is not None) is known
    if expected is not None:
        assert expected.schema == decoder.schema
        has_errors = expected.readable is not None  # simple records can be read
        found = [
            df.select(*(one.alias(str(at)) for at, one in enumerate(columns) if one is not None)).collect()
            for columns in (
                (each.value, each.matches, each.readable if has_errors else None, each.error if has_errors else None)
                for each in (decoder, expected)
            )
        ]
        assert found[0] == found[1]


def test_tasks_share_what_reads_their_records(spark: SparkSession) -> None:
    one, other = converter(), converter()
    assert one.expect(JAVAS)
    assert other.expect(JAVAS.replace(b':"a"', b':"b"'))
    assert one.expected_decoder("v") is other.expected_decoder("v")
    assert other.expect(None)
    assert one.expected_decoder("v") is not other.expected_decoder("v")
