"""Java's JsonConverter and ours, record by record, byte by byte."""

from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.file.sink import as_text
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.plugin.schema import Schema, SchemaType
from tests.conformance import converter_cases as cases
from tests.conformance.java_converters import JavaAnswer, JavaConverter
from tests.golden_answers import Golden


def converter(options: Mapping[str, str]) -> JsonConverter:
    made = JsonConverter()
    made.configure(options, is_key=False)
    return made


def ours(spark: SparkSession, options: Mapping[str, str], records: Sequence[bytes | None]) -> list[JavaAnswer]:
    """Read the records and write them again; each must have exactly one decoder."""
    one = converter(options)
    df = spark.createDataFrame(list(enumerate(records)), "i int, v binary").localCheckpoint()
    answers: dict[int, JavaAnswer] = {}
    for decoder in one.decoders(df, "v"):
        matching = df if decoder.matches is None else df.where(decoder.matches)
        readable = F.lit(True) if decoder.readable is None else decoder.readable
        error = F.lit(None) if decoder.error is None else decoder.error
        read = matching.select("i", decoder.value.alias("value"), F.when(~readable, error).alias("error"))
        written = F.when(F.col("error").isNull(), one.encode(decoder.schema, F.col("value")))
        text = as_text(decoder.schema, F.col("value"))
        for row in read.localCheckpoint().select("i", "error", written.alias("w"), text.alias("t")).collect():
            assert row.i not in answers, f"two decoders for {records[row.i]!r}"
            answer = JavaAnswer(error=row.error) if row.error is not None else JavaAnswer(row.w and bytes(row.w), row.t)
            answers[row.i] = answer
    return [answers[i] for i in range(len(records))]


Both = list[tuple[bytes, JavaAnswer, JavaAnswer]]


def both(
    java: JavaConverter,
    spark: SparkSession,
    options: Mapping[str, str],
    records: Sequence[bytes] = cases.SAME_BOTH_WAYS,
) -> Both:
    """Each record with Java's answer and ours."""
    return list(zip(records, java.round_trips(options, records), ours(spark, options, records), strict=True))


@pytest.fixture(scope="module")
def java(golden: Golden) -> JavaConverter:
    return JavaConverter(golden)


@pytest.fixture(scope="module")
def by_default(java: JavaConverter, spark: SparkSession) -> Both:
    return both(java, spark, {})


def different(answers: Both) -> list[tuple[bytes, JavaAnswer, JavaAnswer]]:
    """Those that are not written alike."""
    return [
        (record, our, theirs)
        for record, theirs, our in answers
        if (our.written, our.error is None) != (theirs.written, theirs.error is None)
    ]


@pytest.mark.nightly
def test_records_are_written_as_java_writes_them(by_default: Both) -> None:
    assert different(by_default) == []


# The text is in the records that the option is about: `make test` has those, the nightly run all.
OPTIONS = [({"decimal.format": "numeric"}, b"Decimal"), ({"replace.null.with.default": "false"}, b'"default"')]


@pytest.mark.parametrize(
    ("options", "text"),
    [*OPTIONS, *(pytest.param(options, b"", marks=pytest.mark.nightly) for options, _ in OPTIONS)],
    ids=str,
)
def test_options_change_what_is_written_as_in_java(
    java: JavaConverter, spark: SparkSession, options: dict[str, str], text: bytes
) -> None:
    theirs = zip(cases.SAME_BOTH_WAYS, java.round_trips(options, cases.SAME_BOTH_WAYS), strict=True)
    expected = {record: answer for record, answer in theirs if text in record}
    found = zip(expected.items(), ours(spark, options, list(expected)), strict=True)
    answers = [(record, answer, our) for (record, answer), our in found]
    assert answers
    assert different(answers) == []


def test_values_are_printed_as_java_prints_them(by_default: Both) -> None:
    printed_otherwise = b'"bytes"'  # Java prints the address of an array
    for record, theirs, our in by_default:
        if (printed_otherwise not in record or b"Decimal" in record) and b'"raw"' not in record:
            assert our.text == theirs.text, record


def test_schemaless_values_in_an_envelope(java: JavaConverter, spark: SparkSession) -> None:
    records = cases.SCHEMALESS_IN_ENVELOPE
    for record, theirs, our in both(java, spark, {}, records):
        assert our == theirs, record


def test_records_without_schemas(java: JavaConverter, spark: SparkSession) -> None:
    options = {"schemas.enable": "false"}
    records = cases.SCHEMALESS
    for record, theirs, our in zip(
        records, java.round_trips(options, records), ours(spark, options, records), strict=True
    ):
        assert our == theirs, record


@pytest.mark.parametrize("record", [b"{", b'"a', b"nul", b'"\xff"', b"[1,]"])
def test_what_is_no_json_fails_without_schemas(java: JavaConverter, spark: SparkSession, record: bytes) -> None:
    options = {"schemas.enable": "false"}
    (theirs,), (our,) = java.round_trips(options, [record]), ours(spark, options, [record])
    assert theirs.error is not None
    assert our.error == cases.MALFORMED


def test_errors_have_javas_texts(java: JavaConverter, spark: SparkSession) -> None:
    records = cases.ERRORS
    for record, theirs, our in both(java, spark, {}, records):
        assert theirs.error is not None, record
        assert our.error == theirs.error, record


def test_a_fixed_schema_reads_payloads(java: JavaConverter, spark: SparkSession) -> None:
    content = '{"type":"struct","optional":false,"fields":[{"type":"int32","field":"a"}]}'
    options = {"schema.content": content}
    records = [b'{"a":1}', b' {"a" : 2 } ', b'{"a":null}', b"{", b'{"a":1,"b":2}']
    for record, theirs, our in zip(
        records, java.round_trips(options, records), ours(spark, options, records), strict=True
    ):
        assert (our.written, our.error is None) == (theirs.written, theirs.error is None), record


@pytest.mark.parametrize(("kind", "type_"), [("double", SchemaType.FLOAT64), ("float", SchemaType.FLOAT32)])
def test_numbers_are_written_as_java_writes_them(
    java: JavaConverter, spark: SparkSession, kind: str, type_: SchemaType
) -> None:
    numbers = [
        "NaN",
        "Infinity",
        "-Infinity",
        "0.0",
        "-0.0",
        "1.0",
        "9999999",
        "10000000",
        "0.001",
        "9.999E-4",
        "1.1E-10",
    ]
    df = spark.createDataFrame([(number,) for number in numbers], "t string")
    encoded = converter({}).encode(Schema(type_), F.col("t").cast(kind))
    found = [bytes(row.e) for row in df.select(encoded.alias("e")).collect()]
    assert found == [answer.written for answer in java.written_numbers(kind, numbers)]
