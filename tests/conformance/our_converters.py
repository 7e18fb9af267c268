"""Our converters over what Java's get: data as envelopes, bytes as they are, many records in one plan."""

import functools
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.errors import ConnectError, DataError
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema
from tests.conformance.java_records import Failed
from tests.conformance.our_records import EnvelopeHeaders, envelopes

Answer = bytes | Failed | None


def configured(made: Converter, config: Mapping[str, str]) -> Converter:
    """The converter with its options."""
    made.configure(config, is_key=False)
    return made


def header_configured(made: HeaderConverter, config: Mapping[str, str]) -> HeaderConverter:
    """The header converter with its options."""
    made.configure_headers(config)
    return made


def written(spark: SparkSession, converter: Converter, data: Sequence[bytes | None]) -> list[Answer]:
    """The bytes that a converter makes of data in envelopes."""
    parts = []
    for schema, rows in _typed(spark, tuple(data)):
        try:
            error = converter.encode_errors(schema, F.col("v"))
            bytes_ = converter.encode(schema, F.col("v"))
        except ConnectError as failure:
            parts.append(rows.select("i", F.lit(None).cast("binary").alias("b"), F.lit(str(failure)).alias("e")))
            continue
        if error is None:
            parts.append(rows.select("i", bytes_.alias("b"), F.lit(None).cast("string").alias("e")))
        else:
            parts.append(rows.select("i", F.when(error.isNull(), bytes_).alias("b"), error.alias("e")))
    return _taken(parts, len(data))


@functools.lru_cache(maxsize=1)
def _typed(spark: SparkSession, data: tuple[bytes | None, ...]) -> list[tuple[Schema | None, DataFrame]]:
    """The data as columns, kept for the next converter that is asked about it."""
    df = spark.createDataFrame(list(enumerate(data)), "i int, v binary").localCheckpoint()
    found = envelopes().decoders(df, "v")
    return [
        (one.schema, _matching(df, one).select("i", one.value.alias("v")).localCheckpoint(eager=len(found) > 1))
        for one in found
    ]


def read(spark: SparkSession, converter: Converter, records: Sequence[bytes | None]) -> list[Answer]:
    """The data that a converter reads from bytes, as envelopes."""
    df = spark.createDataFrame(list(enumerate(records)), "i int, v binary").localCheckpoint()
    parts = []
    for decoder in converter.decoders(df, "v"):
        error = F.lit(None).cast("string")
        if decoder.readable is not None and decoder.error is not None:
            error = F.when(decoder.value.isNull() & ~decoder.readable, decoder.error)
        rows = _matching(df, decoder).select("i", decoder.value.alias("v"), error.alias("e"))
        bytes_ = F.when(F.col("e").isNull(), envelopes().encode(decoder.schema, F.col("v")))
        parts.append(rows.select("i", bytes_.alias("b"), "e"))
    return _taken(parts, len(records))


def headers_written(converter: HeaderConverter, data: Sequence[bytes | None]) -> list[Answer]:
    """The bytes that a header converter makes of single values in envelopes."""
    return [_one_header_written(converter, one) for one in data]


def _one_header_written(converter: HeaderConverter, data: bytes | None) -> Answer:
    schema, value = header_configured(JsonConverter(), {"replace.null.with.default": "false"}).to_value(data)
    try:
        return converter.to_bytes(schema, value)
    except DataError as error:
        return Failed(error.java_name, str(error))


def headers_read(converter: HeaderConverter, headers: Sequence[bytes | None]) -> list[Answer]:
    """The data that a header converter reads from bytes, as envelopes."""
    return [_one_header_read(converter, one) for one in headers]


def _one_header_read(converter: HeaderConverter, data: bytes | None) -> Answer:
    try:
        schema, value = converter.to_value(data)
    except DataError as error:
        return Failed(error.java_name, str(error))
    return EnvelopeHeaders().to_bytes(schema, value)


def _matching(df: DataFrame, decoder: Decoder) -> DataFrame:
    return df if decoder.matches is None else df.where(decoder.matches)


def _taken(parts: Sequence[DataFrame], count: int) -> list[Answer]:
    """One job for all."""
    answers: dict[int, Answer] = {}
    for row in functools.reduce(DataFrame.union, parts).collect():
        assert row.i not in answers, "each record has exactly one decoder"
        failed = Failed(DataError.java_name, row.e)
        answers[row.i] = failed if row.e is not None else (None if row.b is None else bytes(row.b))
    return [answers[i] for i in range(count)]
