"""Kept projections beside Spark's own way: the same rows, in the same types."""

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.worker.spark.kept_projection import KeptProjection, NotKeptError

ROWS = pa.table({"number": [1, 2, None, 4], "text": ["a", 'b"\\é\n', None, "😀"], "data": [b"", b"x", None, b"\x00"]})
EMPTY = ROWS.slice(0, 0)


def both_ways(spark: SparkSession, rows: pa.Table, plan: Callable[[DataFrame], DataFrame]) -> pa.Table:
    """Return what the kept projection makes, which is what Spark makes."""
    kept = KeptProjection(spark, rows.schema, plan).run(rows)
    plain = plan(spark.createDataFrame(rows)).toArrow()
    assert kept.schema == plain.schema
    assert kept.to_pylist() == plain.to_pylist()
    return kept


COLUMNS: Mapping[str, Callable[[], Column]] = {
    "a column": lambda: F.col("number"),
    "a constant": lambda: F.lit("x"),
    "a struct": lambda: F.struct("number", F.lit(None).cast("long").alias("none"), "data"),
    "an array": lambda: F.array("text", F.lit("z")),
    "a map": lambda: F.map_from_arrays(F.array(F.lit("k")), F.array("number")),
    "JSON": lambda: F.to_json(F.struct("number", "text")),
    "a decimal": lambda: F.col("number").cast("decimal(20,3)") / 7,
    "a point in time": lambda: F.timestamp_millis("number"),
    "a date": lambda: F.date_from_unix_date(F.col("number").cast("int")),
    "a cast that fails": lambda: F.col("text").try_cast("int"),
    "a regular expression": lambda: F.regexp_replace("text", "[a-z]", "<$0>"),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_an_expression(spark: SparkSession, column: Callable[[], Column]) -> None:
    both_ways(spark, ROWS, lambda df: df.select("text", column().alias("made")))


def test_filters_between_projections(spark: SparkSession) -> None:
    def plan(df: DataFrame) -> DataFrame:
        return (
            df.withColumn("twice", F.col("number") * 2).where("twice > 2").select("twice", "data").where("data = 'x'")
        )

    assert both_ways(spark, ROWS, plan).to_pylist() == [{"twice": 4, "data": b"x"}]


@pytest.mark.parametrize("rows", [ROWS, EMPTY], ids=["some rows", "no row"])
def test_nothing_is_left(spark: SparkSession, rows: pa.Table) -> None:
    assert both_ways(spark, rows, lambda df: df.where("number > 9").select("text")).num_rows == 0


def test_no_operator(spark: SparkSession) -> None:
    assert both_ways(spark, ROWS, lambda df: df).num_rows == 4


def test_other_rows_each_time(spark: SparkSession) -> None:
    kept = KeptProjection(spark, ROWS.schema, lambda df: df.select(F.upper("text").alias("text")))
    for count in (3, 0, 1, 4):
        made = kept.run(ROWS.slice(0, count))
        assert made.to_pylist() == [{"text": text} for text in ["A", 'B"\\É\n', None, "😀"][:count]]


def test_the_types_that_records_have(spark: SparkSession) -> None:
    instant = datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=datetime.UTC)
    rows = pa.table(
        {
            "when": pa.array([instant, None], pa.timestamp("us", "UTC")),
            "day": pa.array([datetime.date(2026, 1, 2), None], pa.date32()),
            "amount": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "part": pa.array([1, None], pa.int8()),
            "ratio": pa.array([0.5, None], pa.float32()),
            "nested": pa.array([{"a": [1, None], "b": {"c": "d"}}, None]),
            "pairs": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    both_ways(spark, rows, lambda df: df.select("*", F.struct("when", "amount").alias("made")))


NOT_KEPT: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "the current time": lambda df: df.select(F.current_timestamp().alias("now")),
    "today": lambda df: df.select(F.current_date().alias("today")),
    "a random number": lambda df: df.select(F.rand().alias("random")),
    "a number of the row": lambda df: df.select(F.monotonically_increasing_id().alias("row")),
    "rows that multiply": lambda df: df.select(F.explode(F.split("text", "")).alias("character")),
    "an aggregation": lambda df: df.groupBy("text").count(),
    "a function in Python": lambda df: df.select(F.udf(lambda text: text)("text").alias("text")),
    "several frames": lambda df: df.union(df),
}


@pytest.mark.parametrize("plan", NOT_KEPT.values(), ids=NOT_KEPT.keys())
def test_what_depends_on_more_than_the_row(spark: SparkSession, plan: Callable[[DataFrame], DataFrame]) -> None:
    with pytest.raises(NotKeptError):
        KeptProjection(spark, ROWS.schema, plan).run(ROWS)


def test_a_row_that_fails(spark: SparkSession) -> None:
    check = F.when(F.col("number") > 3, F.raise_error(F.lit("four"))).otherwise(F.lit(True))
    kept = KeptProjection(spark, ROWS.schema, lambda df: df.where(check))
    with pytest.raises(NotKeptError, match="four"):
        kept.run(ROWS)


TEXT, NUMBER = Schema(SchemaType.STRING, optional=True), Schema(SchemaType.INT32, optional=True)
PERSON = Schema(
    SchemaType.STRUCT, optional=True, fields=(SchemaField("name", STRING_SCHEMA), SchemaField("age", NUMBER))
)
NUMBERS = st.none() | st.integers(-(2**31), 2**31 - 1)
PEOPLE = st.lists(st.none() | st.fixed_dictionaries({"name": st.text(), "age": NUMBERS}), max_size=20)
TEXTS = st.lists(st.none() | st.text(), max_size=20)


@settings(max_examples=30, deadline=None)
@given(values=PEOPLE.map(lambda people: (PERSON, people)) | TEXTS.map(lambda texts: (TEXT, texts)))
def test_a_converter(spark: SparkSession, values: tuple[Schema, list[Any]]) -> None:
    converter = JsonConverter()
    converter.configure({}, is_key=False)
    schema, data = values
    rows = pa.table({"value": pa.array(data, to_arrow_type(schema.to_spark()))})
    both_ways(spark, rows, lambda df: df.select(converter.encode(schema, F.col("value")).alias("value")))
