"""Records joined with tables in Parquet, CSV and JSON files."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError, RetriableError
from connect_dagster.expressions.spark_schemas import connect_schema
from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.lookup_join import LookupJoin
from connect_dagster.worker.transforms import TransformationStage, apply_chain

COUNTRIES = [("KR", "Korea", 51_700_000), ("DE", "Germany", 83_200_000), ("NR", None, 12_000)]


def join(**config: str) -> LookupJoin:
    transform = LookupJoin()
    transform.configure({key.replace("_", "."): value for key, value in config.items()})
    return transform


@pytest.fixture(scope="module")
def countries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables") / "countries"
    spark.createDataFrame(COUNTRIES, "code string, name string, people long").coalesce(1).write.parquet(str(folder))
    return folder


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> SourceFrame:
    rows = [((1, "KR"),), ((2, "XX"),), ((3, None),), ((4, "NR"),), (None,)]
    df = spark.createDataFrame(rows, "value struct<id: int, country: string>").localCheckpoint()
    schema = connect_schema(df.schema["value"].dataType, True, "value")
    return SourceFrame(df, {}, {}, topic="orders", value_schema=schema)


def values(frame: SourceFrame) -> list[object]:
    return [row.value and tuple(row.value) for row in frame.df.collect()]


def test_columns_of_a_parquet_table(orders: SourceFrame, countries: Path) -> None:
    transform = join(path=str(countries), fields="country", keys="code", columns="name:country_name,people")
    (frame,) = apply_chain([TransformationStage("j", transform)], orders)
    assert values(frame) == [
        (1, "KR", "Korea", 51_700_000),
        (2, "XX", None, None),
        (3, None, None, None),
        (4, "NR", None, 12_000),
        None,
    ]
    assert frame.value_schema is not None
    assert [(one.name, one.schema.type, one.schema.optional) for one in frame.value_schema.fields[2:]] == [
        ("country_name", SchemaType.STRING, True),
        ("people", SchemaType.INT64, True),
    ]
    assert "BroadcastHashJoin" in frame.df._jdf.queryExecution().executedPlan().toString()
    transform.close()


def test_only_records_with_a_match(orders: SourceFrame, countries: Path) -> None:
    transform = join(path=str(countries), fields="country", keys="code", columns="people:country", join_type="inner")
    (frame,) = apply_chain([TransformationStage("j", transform)], orders)
    assert values(frame) == [(1, 51_700_000), (4, 12_000)]
    (frame,) = apply_chain([TransformationStage("j", transform)], orders.fail_where(F.col("value.id") == 2, "bad"))
    assert values(frame) == [(1, 51_700_000), (2, None), (4, 12_000)]
    assert [row[FAILURE] and row[FAILURE].message for row in frame.df.collect()] == [None, "bad", None]
    transform.close()


def test_json_without_a_schema_and_two_keys(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    rows = [{"sku": 1, "size": "L", "price": 2.5, "tags": ["a"]}, {"sku": 1, "size": "M", "price": 2.0, "tags": None}]
    table.write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    texts = ['{"sku": 1, "size": "L", "n": 1.50}', '{"sku": "1", "size": "M"}', '{"sku": 2}', '{"sku": "x"}', "5", None]
    df = spark.createDataFrame([(text,) for text in texts], "value string").localCheckpoint()
    frame = SourceFrame(df, {}, {}, topic="t", value_schema=None)
    transform = join(format="json", path=str(table), fields="sku,size", columns="price,tags")
    (changed,) = apply_chain([TransformationStage("j", transform)], frame)
    assert [text and json.loads(text) for text in (row.value for row in changed.df.collect())] == [
        {"sku": 1, "size": "L", "n": 1.5, "price": 2.5, "tags": ["a"]},
        {"sku": "1", "size": "M", "price": 2.0, "tags": None},
        {"sku": 2, "price": None, "tags": None},
        {"sku": "x", "price": None, "tags": None},
        5,
        None,
    ]
    assert changed.value_schema is None
    transform.close()


def test_the_table_is_read_again(spark: SparkSession, orders: SourceFrame, tmp_path: Path) -> None:
    table = tmp_path / "names.csv"

    def write(name: str) -> None:
        fresh = tmp_path / "fresh.csv"
        fresh.write_text(f"country,name\nKR,{name}\n")
        fresh.replace(table)

    def first(transform: LookupJoin) -> str:
        (frame,) = apply_chain([TransformationStage("j", transform)], orders)
        return str(frame.df.collect()[0].value.name)

    options = {"format": "csv", "path": str(table), "options_header": "true", "fields": "country", "columns": "name"}
    write("old")
    always, once = join(**options, refresh_interval_ms="0"), join(**options, refresh_interval_ms="-1")
    assert (first(always), first(once)) == ("old", "old")
    write("new")
    assert (first(always), first(once)) == ("new", "old")
    always.close()
    once.close()


def test_what_cannot_be_joined(spark: SparkSession, orders: SourceFrame, countries: Path, tmp_path: Path) -> None:
    with pytest.raises(RetriableError, match=r"The lookup table .*absent cannot be read"):
        join(path=str(tmp_path / "absent"), fields="country", columns="name").apply(orders)
    with pytest.raises(DataError, match="no column nothing; it has code, name, people"):
        join(path=str(countries), fields="country", keys="code", columns="nothing").apply(orders)
    with pytest.raises(DataError, match="city is not a valid field name; the value has id, country"):
        join(path=str(countries), fields="city", keys="code", columns="name").apply(orders)
    text = SourceFrame(spark.createDataFrame([("x",)], "value string"), {}, {}, value_schema=STRING_SCHEMA)
    with pytest.raises(DataError, match="structs or without a schema, found: STRING"):
        join(path=str(countries), fields="city", keys="code", columns="name").apply(text)
    with pytest.raises(ConfigError, match="for configuration keys: There are 1 fields to look up"):
        join(path="x", fields="a", keys="b,c", columns="d")
    with pytest.raises(ConfigError, match=r"join\.type: String must be one of: left, inner"):
        join(path="x", fields="a", columns="d", join_type="outer")


def test_a_schema_is_optional_where_the_values_were(orders: SourceFrame, countries: Path) -> None:
    transform = join(path=str(countries), fields="country", keys="code", columns="name")
    (frame,) = apply_chain([TransformationStage("j", transform)], orders)
    assert isinstance(frame.value_schema, Schema)
    assert frame.value_schema.optional
    transform.close()
