"""Objects are read without Spark's parser where they can be, and then as the parser reads them."""

import base64
import json
import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json import quick as json_quick
from connect_dagster.converters.json.decoding import JsonDecoding
from connect_dagster.converters.json.reading import JsonReading
from connect_dagster.expressions import java_calls
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType

RECORDS = 3000
DAY = 86_400_000
SCALARS = [kind for kind in SchemaType if kind not in (SchemaType.STRUCT, SchemaType.ARRAY, SchemaType.MAP)]
LOGICAL = {TIMESTAMP: SchemaType.INT64, DATE: SchemaType.INT32, TIME: SchemaType.INT32}
PLACE = Schema(
    SchemaType.STRUCT,
    optional=True,
    fields=(
        SchemaField("city", Schema(SchemaType.STRING)),
        SchemaField("zip", Schema(SchemaType.INT32, optional=True)),
    ),
)
FIELDS = {
    **{kind.value: Schema(kind, optional=True) for kind in SCALARS},
    **{name.rpartition(".")[2]: Schema(kind, optional=True, name=name) for name, kind in LOGICAL.items()},
    "price": Schema(SchemaType.BYTES, optional=True, name=DECIMAL, parameters=(("scale", "2"),)),
    "note": Schema(SchemaType.STRING, optional=True, default='it,"s":1'),
    "needed": Schema(SchemaType.INT32),
    "place": PLACE,
    "way": Schema(
        SchemaType.STRUCT,
        optional=True,
        fields=(
            SchemaField("from", PLACE),
            SchemaField("to", replace(PLACE, optional=False)),
            SchemaField("length", Schema(SchemaType.INT64, default=3)),
        ),
    ),
}
SCHEMA = Schema(SchemaType.STRUCT, fields=tuple(SchemaField(name, schema) for name, schema in FIELDS.items()))
BEGINNING = f'{{"schema":{json_envelope.schema_text(SCHEMA)},"payload":'
OTHER = BEGINNING.replace('"field":"note"', '"field":"notes"')
STARTS = (BEGINNING, f"{BEGINNING} ", OTHER)
TEXTS = ["", "a", "서울", "a,b", 'x,"string":"y', "null", "\\", "\n", "{}", "1.0", " "]
EXTREMES = [sign * (1 << bits) - take for sign in (1, -1) for bits in (15, 31, 63) for take in (0, 1)]
PUT_IN = ['"', ",", ":", "\\", " ", "0", "1", "-", ".", "e", "n", "}", "{", "null", "\t", "\x01", "\ud55c", '",', ',"']


def value(schema: Schema, chance: random.Random) -> Any:
    if schema.optional and chance.random() < 0.1:
        return None
    match schema.type:
        case SchemaType.STRUCT:
            return {field.name: value(field.schema, chance) for field in schema.fields if chance.random() < 0.9}
        case SchemaType.STRING:
            return chance.choice(TEXTS) if chance.random() < 0.2 else "text"
        case SchemaType.BYTES:
            return base64.b64encode(chance.randbytes(chance.randrange(1, 9))).decode()
        case SchemaType.BOOLEAN:
            return chance.random() < 0.5
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            return chance.choice([0.0, -1.5, 0.25, 1e-9, 123456.75])
        case _ if schema.name == TIME:
            return chance.choice([0, DAY, DAY + 1, -1]) if chance.random() < 0.2 else 1
        case _:
            return chance.choice(EXTREMES) if chance.random() < 0.05 else chance.choice([0, 1, -1, 127, -128])


def damaged(text: str, chance: random.Random) -> str:
    for _ in range(chance.randrange(3)):
        place = chance.randrange(len(text))
        text = text[:place] + chance.choice([*PUT_IN, ""]) + text[place + chance.randrange(2) :]
    return text


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    chance = random.Random(4)
    payloads = [{name: value(schema, chance) for name, schema in FIELDS.items()} for _ in range(RECORDS)]
    texts = [json.dumps(payload, ensure_ascii=False, separators=(",", ":")) for payload in payloads]
    values = [f"{BEGINNING}{damaged(text, chance)}}}".encode(errors="surrogatepass") for text in texts]
    values += [BEGINNING.encode() + part for part in (b"", b"}", b"{}", b"{}}", b"{}}}", b"null}", b'{"')]
    return spark.createDataFrame([(bytearray(one),) for one in values], "v binary").cache()


@pytest.mark.nightly
@pytest.mark.parametrize("replace_null", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_the_same_as_by_the_parser(records: DataFrame, replace_null: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    for is_quick in (json_quick.is_quick, lambda schema: False):
        monkeypatch.setattr(json_quick, "is_quick", is_quick)
        (decoder,) = JsonReading(replace_null, 10, None).decoders(records, "v")
        readable = decoder.readable
        assert decoder.schema == SCHEMA
        assert readable is not None
        read.append(
            records.select("v", decoder.value.cast("string").alias("value"), readable.alias("readable")).collect()
        )
    quickly, slowly = read
    assert [row for row in zip(quickly, slowly, strict=True) if row[0] != row[1]] == []
    assert {row.readable for row in slowly} == {True, False}


@pytest.mark.nightly
def test_many_are_read_without_the_parser(records: DataFrame) -> None:
    quick = json_quick.quick_struct(JsonDecoding(), SCHEMA, F.col("v"), BEGINNING)
    (row,) = records.select(F.count_if(quick.isNotNull()).alias("found")).collect()
    assert row.found > RECORDS / 6


@pytest.mark.nightly
def test_the_parser_reads_a_stream_with_a_record_that_is_not_so_simple(spark: SparkSession) -> None:
    """Expect simple records alone, by a small expression, until a record is not simple."""
    reading = JsonReading(True, 10, None)
    texts = [[f'{start}{{"needed":{number}}}}}' for number in range(3)] for start in STARTS]
    simple, spaced, others = ([text.encode() for text in some] for some in texts)

    def read(values: list[bytes]) -> list[int | None]:
        decoder = reading.expected_decoder("v")
        assert decoder is not None
        rows = spark.createDataFrame([(bytearray(one),) for one in values], "v binary")
        return [row.needed for row in rows.select(decoder.value["needed"].alias("needed")).collect()]

    assert reading.expect(simple[0])
    assert read(simple) == [0, 1, 2]
    assert read([*simple, *spaced]) == [0, 1, 2, None, None, None]
    both = spark.createDataFrame([(bytearray(one),) for one in (*simple, *spaced)], "v binary")
    (decoder,) = reading.decoders(both, "v")
    assert decoder.readable is not None
    assert read([*simple, *spaced]) == [0, 1, 2] * 2
    expected = reading.expected_decoder("v")
    assert expected is not None
    assert expected.readable is not None

    (decoder,) = reading.decoders(spark.createDataFrame([(bytearray(one),) for one in others], "v binary"), "v")
    expected = reading.expected_decoder("v")
    assert expected is not None
    assert expected.readable is None
    assert read(others) == [0, 1, 2]


def test_without_jackson_the_parser_reads_all(records: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json_quick.is_quick(SCHEMA)
    monkeypatch.setattr(java_calls, "_JSON_NODE", "com.fasterxml.jackson.databind.NoSuchNode")
    assert not json_quick.is_quick(SCHEMA)


def test_structs_with_lists_and_large_ones_are_left_to_the_parser() -> None:
    numbers = Schema(SchemaType.ARRAY, value_schema=Schema(SchemaType.INT32))
    for fields in ([], [numbers], [Schema(SchemaType.INT32)] * 51, [Schema(SchemaType.STRUCT, fields=())]):
        named = tuple(SchemaField(f"f{number}", schema) for number, schema in enumerate(fields))
        assert not json_quick.is_quick(Schema(SchemaType.STRUCT, fields=named))


def test_what_reads_a_struct_in_a_struct_grows_with_its_fields_alone(spark: SparkSession) -> None:
    """At 479f78dc the expression of each field had that of the whole struct in it."""

    def size(count: int) -> int:
        numbers = tuple(SchemaField(f"f{number:02}", Schema(SchemaType.INT32)) for number in range(count))
        row = Schema(SchemaType.STRUCT, fields=numbers)
        envelope = Schema(SchemaType.STRUCT, fields=(SchemaField("after", row),))
        quick = json_quick.quick_struct(JsonDecoding(), envelope, F.col("v"), BEGINNING)
        return len(str(spark.range(0).select(F.lit(b"").alias("v")).select(quick)._jdf.queryExecution().analyzed()))

    assert size(40) < 2.5 * size(20)
