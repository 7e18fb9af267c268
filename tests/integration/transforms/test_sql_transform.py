"""A Spark SQL select over records: in frames, and in a worker between a file and a topic."""

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions.spark_schemas import connect_schema
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import SinkFrame, SourceFrame
from connect_dagster.plugin.schema import Schema, SchemaType
from connect_dagster.transforms.filter import Filter
from connect_dagster.transforms.sql_transform import SqlTransform
from connect_dagster.worker.transforms import TransformationStage, apply_chain
from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess

OPTIONAL_STRING = Schema(SchemaType.STRING, optional=True)


def stage(transform: SqlTransform) -> TransformationStage:
    return TransformationStage("s", transform)


def select(sql: str) -> SqlTransform:
    transform = SqlTransform()
    transform.configure({"sql": sql})
    return transform


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> SourceFrame:
    """Real orders, the last a tombstone."""
    rows = [("a", (1, "tea", Decimal("2.50"))), ("b", (2, None, Decimal("120.00"))), ("c", None)]
    df = spark.createDataFrame(rows, "key string, value struct<id: int not null, name: string, price: decimal(10,2)>")
    schema = connect_schema(df.schema["value"].dataType, True, "value")
    df = df.withColumn("value", df.value.cast(schema.to_spark())).localCheckpoint()
    return SourceFrame(df, {}, {}, topic="orders", value_schema=schema, key_schema=OPTIONAL_STRING)


def test_columns_become_the_value(orders: SourceFrame) -> None:
    sql = "SELECT value.id, upper(value.name) AS name, value.price * 2 AS double, key AS origin FROM record"
    (frame,) = apply_chain([stage(select(sql))], orders)
    values = [row.value and row.value.asDict() for row in frame.df.collect()]
    assert values == [
        {"id": 1, "name": "TEA", "double": Decimal("5.00"), "origin": "a"},
        {"id": 2, "name": None, "double": Decimal("240.00"), "origin": "b"},
        None,
    ]
    assert frame.value_schema is not None
    assert frame.value_schema.optional
    assert [(field.name, field.schema.type.value) for field in frame.value_schema.fields] == [
        ("id", "int32"),
        ("name", "string"),
        ("double", "bytes"),
        ("origin", "string"),
    ]
    assert frame.df.schema["value"].dataType == frame.value_schema.to_spark()
    assert (frame.topic, frame.key_schema) == ("orders", OPTIONAL_STRING)


def test_places_of_the_record(orders: SourceFrame) -> None:
    sql = "SELECT concat(topic, '-', key) AS _topic, value.id AS _key, 3 AS _partition, 5 AS _timestamp FROM record"
    (frame,) = apply_chain([stage(select(sql))], orders)
    rows = [
        (row.topic, row.key, row.partition, row.timestamp, row.value and row.value.id) for row in frame.df.collect()
    ]
    assert rows == [("orders-a", 1, 3, 5, 1), ("orders-b", 2, 3, 5, 2), ("orders-c", None, 3, 5, None)]
    assert frame.value_schema == orders.value_schema
    assert frame.key_schema == Schema(SchemaType.INT32, optional=True)


def test_a_record_without_a_topic_has_failed(orders: SourceFrame) -> None:
    (frame,) = apply_chain([stage(select("SELECT if(key = 'a', null, topic) AS _topic FROM record"))], orders)
    assert [(row.topic, row[FAILURE] and row[FAILURE].message) for row in frame.df.collect()] == [
        (None, "SqlTransform gave no topic"),
        ("orders", None),
        ("orders", None),
    ]


def test_where_and_names_and_stars(orders: SourceFrame) -> None:
    sql = "SELECT r.value.*, length(r.value.name) AS n -- all of it\nFROM record AS r WHERE r.value.price > 100"
    (frame,) = apply_chain([stage(select(sql))], orders)
    (row,) = frame.df.collect()
    assert row.value.asDict() == {"id": 2, "name": None, "price": Decimal("120.00"), "n": None}


def test_where_keeps_what_has_failed(orders: SourceFrame) -> None:
    where = "SELECT value.id FROM record WHERE value.price > 100"
    (frame,) = apply_chain([stage(select(where))], orders.fail_where(F.col("key") == "a", "bad"))
    assert [(row.key, row[FAILURE] and row[FAILURE].message) for row in frame.df.collect()] == [
        ("a", "bad"),
        ("b", None),
    ]


LISTS = "array<struct<n: int not null, t: string>>"


@pytest.fixture(scope="module")
def lists(spark: SparkSession) -> SourceFrame:
    """Records with a list each: of two, empty, null; the last two have failed, with lists as before."""
    two = [(1, "a"), (2, "b")]
    rows: list[tuple[str, Any, Any]] = [("two", two, {"x": 1}), ("empty", [], {}), ("null", None, None)]
    failed = [(f"failed {key}", list_, map_) for key, list_, map_ in rows]
    df = spark.createDataFrame([*rows, *failed], f"key string, l {LISTS}, m map<string, int>")
    df = df.select("key", F.struct("l", "m").alias("value"))
    schema = connect_schema(df.schema["value"].dataType, True, "value")
    df = df.withColumn("value", F.col("value").cast(schema.to_spark())).localCheckpoint()
    frame = SourceFrame(df, {}, {}, topic="lists", value_schema=schema, key_schema=OPTIONAL_STRING)
    return frame.fail_where(F.col("key").startswith("failed"), "bad")


WELL: dict[str, list[Any]] = {
    "explode(value.l) AS e": [("two", (1, "a")), ("two", (2, "b"))],
    "explode_outer(value.l) AS e": [("two", (1, "a")), ("two", (2, "b")), ("empty", None), ("null", None)],
    "posexplode(value.l) AS (p, e)": [("two", 0, (1, "a")), ("two", 1, (2, "b"))],
    "posexplode(value.l)": [("two", 0, (1, "a")), ("two", 1, (2, "b"))],
    "explode(value.m) AS (k, v)": [("two", "x", 1)],
    "EXPLODE(collection => value.m)": [("two", "x", 1)],
    "inline(value.l)": [("two", 1, "a"), ("two", 2, "b")],
    "inline_outer(value.l) AS (o, q)": [
        *(("two", 1, "a"), ("two", 2, "b")),
        *(("empty", None, None), ("null", None, None)),
    ],
    "stack(2, 1, 'x', 2) AS (s, t)": [(key, *row) for key in ("two", "empty", "null") for row in ((1, "x"), (2, None))],
    "stack(2, 1, 2)": [(key, row) for key in ("two", "empty", "null") for row in (1, 2)],
    "explode(value.l) AS e, stack(2, 1, 2) AS s, explode(value.m) AS (k, v)": [
        ("two", element, number, "x", 1) for element in ((1, "a"), (2, "b")) for number in (1, 2)
    ],
    "json_tuple('{\"a\": 1}', 'a') AS j": [(key, "1") for key in ("two", "empty", "null")],
}


@pytest.mark.parametrize("where", ["", "WHERE key NOT LIKE 'failed%'"])
@pytest.mark.parametrize("item", WELL)
def test_a_record_that_has_failed_stays_one(lists: SourceFrame, item: str, where: str) -> None:
    """At 1f0d1e0 an empty list dropped it, so that its failure was never reported; a list of two reported it twice."""
    sql = select(f"SELECT key AS origin, {item} FROM record {where}")
    (frame,) = apply_chain([stage(sql)], lists)
    rows = frame.df.collect()
    assert sorted(row.key for row in rows if row[FAILURE]) == ["failed empty", "failed null", "failed two"]
    well = [tuple(map(_plain, row.value)) for row in rows if not row[FAILURE]]
    assert sorted(well, key=str) == sorted(WELL[item], key=str)
    (unfailing,) = apply_chain([stage(sql)], replace(lists, df=lists.df.drop(FAILURE)))
    assert frame.value_schema == unfailing.value_schema
    assert frame.df.schema["value"] == unfailing.df.schema["value"]


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, tuple) else value


def test_a_generator_that_spark_refuses(lists: SourceFrame) -> None:
    for sql in ("SELECT explode(key) FROM record", "SELECT upper(explode(value.l)) FROM record"):
        with pytest.raises(DataError, match="The select of SqlTransform cannot be applied"):
            select(sql).apply(lists)


def test_a_list_of_what_connect_has_no_type_for(lists: SourceFrame) -> None:
    with pytest.raises(DataError, match="Column v is of Spark's type variant, which Kafka Connect has none for"):
        select("SELECT explode(array(parse_json('1'))) AS v FROM record").apply(lists)


def test_one_column_as_the_value(orders: SourceFrame) -> None:
    (frame,) = apply_chain([stage(select("SELECT value.name AS _value FROM record"))], orders)
    assert [row.value for row in frame.df.collect()] == ["tea", None, None]
    assert frame.value_schema == OPTIONAL_STRING


def test_several_records_of_one_and_hidden_columns(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(7, "t", 0, 5, 9, "k", "a b")],
        f"{ROW} long, topic string, partition int, offset long, timestamp long, key string, value string",
    )
    frame = SinkFrame(df, Schema(SchemaType.STRING), None)
    (split,) = apply_chain([stage(select("SELECT explode(split(value, ' ')) AS word, offset FROM record"))], frame)
    assert [(row[ROW], row.value.asDict()) for row in split.df.collect()] == [
        (7, {"word": "a", "offset": 5}),
        (7, {"word": "b", "offset": 5}),
    ]


def test_without_a_schema_values_are_variants(spark: SparkSession) -> None:
    df = spark.createDataFrame([('{"id": 1, "tags": ["x", "y"]}',), ('"text"',), (None,)], "value string")
    frame = SourceFrame(df, {}, {}, topic="t", value_schema=None)
    tag = "try_variant_get(value, '$.tags[1]', 'string') AS tag"
    sql = f"SELECT try_variant_get(value, '$.id', 'int') AS id, {tag} FROM record"
    (changed,) = apply_chain([stage(select(sql))], frame)
    assert [row.value and tuple(row.value) for row in changed.df.collect()] == [(1, "y"), (None, None), None]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELEC 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 1, pos 0)"),
        ("SELECT 1", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT * FROM orders", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT a FROM record JOIN x", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT topic FROM record GROUP BY topic", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT 1 FROM record LIMIT 1", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT DISTINCT topic FROM record", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT topic FROM record ORDER BY topic", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT topic FROM record HAVING topic > 'a'", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT 1 FROM record UNION ALL SELECT 2 FROM record", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT x FROM record LATERAL VIEW explode(a) AS x", "It has to be one SELECT … FROM record [WHERE …]"),
        ("SELECT 1 FROM record TABLESAMPLE (1 PERCENT)", "It has to be one SELECT … FROM record [WHERE …]"),
        ("FROM record |> LIMIT 1", "It has to be one SELECT … FROM record [WHERE …]"),
        ("DROP TABLE record", "It has to be one SELECT … FROM record [WHERE …]"),
    ],
)
def test_bad_sql_names_the_option(spark: SparkSession, sql: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        select(sql)
    assert str(error.value).startswith(f"Invalid value {sql} for configuration sql: {reason}")


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT value.nothing FROM record", "No such struct field `nothing` in `id`, `name`, `price`"),
        ("SELECT count(*) AS n FROM record", "cannot be applied"),
        ("SELECT 1 AS a, 2 AS a FROM record", "two columns of one name"),
        ("SELECT 1 AS _value, 2 AS a FROM record", "_value and other fields: a"),
        ("SELECT make_interval(1) AS i FROM record", "Column i is of Spark's type interval"),
    ],
)
def test_a_select_that_does_not_fit_the_records(orders: SourceFrame, sql: str, text: str) -> None:
    with pytest.raises(DataError, match="(?s)" + text.replace("(", "\\(")):
        select(sql).apply(orders)


def test_after_another_transform(orders: SourceFrame) -> None:
    nothing: Transform = Filter()
    (frame,) = apply_chain([TransformationStage("f", nothing), stage(select("SELECT key AS k FROM record"))], orders)
    assert frame.df.collect() == []


@pytest.fixture
def worker(broker: Broker, tmp_path: Path) -> Iterator[WorkerProcess]:
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], tmp_path / "worker") as process:
        yield process


@pytest.mark.nightly
def test_from_a_file_to_two_topics(worker: WorkerProcess, broker: Broker, tmp_path: Path, topic_prefix: str) -> None:
    """Access logs: parsed by SQL, errors to a topic of their own, others dropped or enriched from a table."""
    log = tmp_path / "access.log"
    log.write_text("".join(f"10.0.0.{i % 3} GET /page/{i} {200 if i % 5 else 500}\n" for i in range(20)))
    hosts = tmp_path / "hosts.csv"
    hosts.write_text("ip,host\n10.0.0.0,web\n10.0.0.1,db\n")
    topic = f"{topic_prefix}access"
    fields = "split(value, ' ')[0] AS ip, cast(split(value, ' ')[3] AS int) AS status"
    route = "if(value LIKE '% 500', concat(topic, '-errors'), topic) AS _topic"
    config = {
        "connector.class": "FileStreamSource",
        "file": str(log),
        "topic": topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "parse,host",
        "transforms.parse.type": "SqlTransform",
        "transforms.parse.sql": f"SELECT {fields}, {route} FROM record WHERE value LIKE '%GET%'",
        "transforms.host.type": "LookupJoin",
        "transforms.host.format": "csv",
        "transforms.host.path": str(hosts),
        "transforms.host.options.header": "true",
        "transforms.host.fields": "ip",
        "transforms.host.columns": "host",
    }
    answer = worker.call("PUT", f"/connectors/{topic}/config", {"name": topic, **config})
    assert answer.status == 201, answer.body
    worker.wait_states(topic, "RUNNING", "RUNNING")
    found = {
        name: topics.values(broker.bootstrap_servers, name, count)
        for name, count in ((topic, 16), (f"{topic}-errors", 4))
    }
    names = {"10.0.0.0": "web", "10.0.0.1": "db", "10.0.0.2": None}
    for name, numbers in ((topic, [i for i in range(20) if i % 5]), (f"{topic}-errors", [0, 5, 10, 15])):
        wanted = [
            {"ip": (ip := f"10.0.0.{i % 3}"), "status": 200 if i % 5 else 500, "host": names[ip]} for i in numbers
        ]
        assert [json.loads(text) for text in found[name]] == wanted
    wrong = {**config, "transforms.parse.sql": "SELECT FROM"}
    answer = worker.call("PUT", "/connector-plugins/FileStreamSource/config/validate", {"name": "v", **wrong})
    errors = {one["value"]["name"]: one["value"]["errors"] for one in answer.json["configs"] if one["value"]["errors"]}
    assert list(errors) == ["transforms.parse.sql"]
    assert errors["transforms.parse.sql"][0].startswith(
        "Invalid value SELECT FROM for configuration sql: It has to be one SELECT"
    )
