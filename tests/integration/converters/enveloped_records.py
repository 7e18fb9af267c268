"""Records through converters with a schema registry: data as envelopes, bytes as they are."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.converter import Converter, Decoder
from tests.conformance.our_records import envelopes


def written(
    spark: SparkSession, converter: Converter, topic: str, data: Sequence[bytes | None]
) -> list[bytes | str | None]:
    """The bytes that a converter makes of data in envelopes, or the text of the error; each schema has its topic."""
    df = spark.createDataFrame(list(enumerate(data)), "i int, v binary")
    answers: list[bytes | str | None] = [None] * len(data)
    for number, decoder in enumerate(envelopes().decoders(df, "v")):
        rows = _matching(df, decoder).select("i", decoder.value.alias("v"))
        try:
            encoded = converter.encode_for(f"{topic}{number}", decoder.schema, F.col("v"))
            error = converter.encode_errors(decoder.schema, F.col("v"))
        except ConnectError as failure:
            for row in rows.select("i").collect():
                answers[row.i] = str(failure)
            continue
        text = F.lit(None).cast("string") if error is None else error
        for row in rows.select("i", F.when(text.isNull(), encoded).alias("b"), text.alias("e")).collect():
            answers[row.i] = row.e if row.b is None else bytes(row.b)
    return answers


def read(spark: SparkSession, converter: Converter, records: Sequence[bytes | None]) -> list[bytes | str | None]:
    """The data that a converter reads from bytes, as envelopes, or the text of the error."""
    df = spark.createDataFrame(list(enumerate(records)), "i int, v binary")
    answers: list[bytes | str | None] = [None] * len(records)
    for decoder in converter.decoders(df, "v"):
        error = F.lit(None).cast("string")
        if decoder.readable is not None and decoder.error is not None:
            error = F.when(decoder.value.isNull() & ~decoder.readable, decoder.error)
        rows = _matching(df, decoder).select("i", decoder.value.alias("v"), error.alias("e"))
        data = F.when(F.col("e").isNull(), envelopes().encode(decoder.schema, F.col("v")))
        for row in rows.select("i", data.alias("b"), "e").collect():
            answers[row.i] = row.e if row.b is None else bytes(row.b)
    return answers


def _matching(df: DataFrame, decoder: Decoder) -> DataFrame:
    return df if decoder.matches is None else df.where(decoder.matches)
