"""SparkSink: records become rows of a Parquet folder and of a Delta table, whose jars come over `spark.jars`."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from connect_dagster.connectors.spark.sink import SparkSinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.testing.contexts import sink_batch
from tests.conftest import Broker
from tests.integration.sink.spark_tables import DELTA, actions, committed, rows
from tests.integration.topics import create
from tests.integration.worker_process import WorkerProcess

FIELDS = [{"field": "id", "type": "int64"}, {"field": "day", "type": "string", "optional": True}]


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    props = {"bootstrap.servers": broker.bootstrap_servers, "consumer.auto.offset.reset": "earliest", **DELTA}
    with WorkerProcess(props, [], tmp_path_factory.mktemp("spark-sink")) as process:
        yield process


def order(id: int, day: str | None, version: int = 0) -> bytes:
    schema = {"type": "struct", "version": version, "fields": FIELDS}
    return json.dumps({"schema": schema, "payload": {"id": id, "day": day}}).encode()


def produce(broker: Broker, topic: str, *values: bytes | None) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0


def committed_offset(worker: WorkerProcess, name: str) -> int | None:
    """How far the connector is in its one partition."""
    found = worker.call("GET", f"/connectors/{name}/offsets").json["offsets"]
    return found[0]["offset"]["kafka_offset"] if found else None


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_parquet_folder(worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    name = topic = f"{topic_prefix}parquet"
    create(broker.bootstrap_servers, topic, 1)
    config = {
        "connector.class": "SparkSink",
        "topics": topic,
        "format": "parquet",
        "options.path": str(tmp_path / "orders"),
        "partition.by": "day",
        "record.columns": "topic,offset",
    }
    assert worker.call("PUT", f"/connectors/{name}/config", config).status == 201
    produce(broker, topic, order(1, "mon"), order(2, "tue"), None, order(3, "mon"))
    worker.wait_until(lambda: len(rows(tmp_path / "orders")) == 3, "write three rows", 120)
    assert rows(tmp_path / "orders") == [
        {"id": id, "kafka_topic": topic, "kafka_offset": offset, "day": day}
        for id, offset, day in ((1, 0, "mon"), (2, 1, "tue"), (3, 3, "mon"))
    ]
    assert {folder.name for folder in (tmp_path / "orders").glob("day=*")} == {"day=mon", "day=tue"}
    produce(broker, topic, None)
    worker.wait_until(lambda: committed_offset(worker, name) == 5, "commit a tombstone alone", 90)
    assert worker.call("GET", f"/connectors/{name}/status").json["tasks"][0]["state"] == "RUNNING"
    assert len(rows(tmp_path / "orders")) == 3
    worker.call("DELETE", f"/connectors/{name}")


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_delta_table_has_each_record_once(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    name, topic, table = f"{topic_prefix}delta", f"{topic_prefix}delta", tmp_path / "orders"
    create(broker.bootstrap_servers, topic, 2)
    config = {
        "connector.class": "SparkSink",
        "topics": topic,
        "format": "delta",
        "options.path": str(table),
        "exactly.once": "true",
    }
    assert worker.call("PUT", f"/connectors/{name}/config", config).status == 201
    produce(broker, topic, *(order(id, None) for id in range(5)))
    worker.wait_until(lambda: len(committed(table)) == 5, "write five rows", 200)
    # As if the worker had died before it committed: Kafka would have all come again, the table knows better.
    worker.call("PUT", f"/connectors/{name}/stop")
    worker.wait_states(name, "STOPPED", timeout=90)
    assert worker.call("DELETE", f"/connectors/{name}/offsets").status == 200
    produce(broker, topic, order(5, None))
    worker.call("PUT", f"/connectors/{name}/resume")
    worker.wait_until(lambda: len(committed(table)) > 5, "write the sixth row", 200)
    assert committed(table) == [0, 1, 2, 3, 4, 5]
    worker.call("DELETE", f"/connectors/{name}")
    transactions = [action["txn"] for action in actions(table) if "txn" in action]
    assert transactions[-1]["appId"].rpartition(":")[0] == f"{name}/{topic}-0"
    assert transactions[-1]["version"] == 5


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_delta_table_of_an_earlier_version_is_continued(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    """Its transactions have no ids of topics."""
    name = topic = f"{topic_prefix}earlier"
    create(broker.bootstrap_servers, topic, 1)
    config = {"connector.class": "SparkSink", "topics": topic, "format": "delta", "exactly.once": "true"}
    written, table = tmp_path / "written", tmp_path / "earlier"
    path = {"options.path": str(written)}
    assert worker.call("PUT", f"/connectors/{name}/config", {**config, **path}).status == 201
    produce(broker, topic, *(order(id, None) for id in range(5)))
    worker.wait_until(lambda: len(committed(written)) == 5, "write five rows", 200)
    worker.call("PUT", f"/connectors/{name}/stop")
    worker.wait_states(name, "STOPPED", timeout=90)
    assert worker.call("DELETE", f"/connectors/{name}/offsets").status == 200
    shutil.copytree(written, table)
    for file in (table / "_delta_log").glob("0*.json"):
        file.write_text(re.sub(r'("appId":"[^":]+):[^"]+"', r'\1"', file.read_text()))
    for checksum in (table / "_delta_log").glob("*.crc"):  # of what is changed
        checksum.unlink()
    assert {action["txn"]["appId"] for action in actions(table) if "txn" in action} == {f"{name}/{topic}-0"}
    worker.call("PUT", f"/connectors/{name}/config", {**config, "options.path": str(table)})
    produce(broker, topic, order(5, None))
    worker.call("PUT", f"/connectors/{name}/resume")
    worker.wait_until(lambda: 5 in committed(table), "write the sixth row", 200)
    assert committed(table) == [0, 1, 2, 3, 4, 5]
    worker.call("DELETE", f"/connectors/{name}")


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_delta_table_has_records_of_several_schemas_and_places_once(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    name, a, b, table = f"{topic_prefix}both", f"{topic_prefix}a", f"{topic_prefix}b", tmp_path / "orders"
    for topic in (a, b):
        create(broker.bootstrap_servers, topic, 1)
    produce(broker, a, *(order(id, None, id % 2) for id in range(6)), None)
    produce(broker, b, order(10, None))
    config = {
        "connector.class": "SparkSink",
        "topics": f"{a},{b}",
        "format": "delta",
        "options.path": str(table),
        "exactly.once": "true",
        "transforms": "one",
        "transforms.one.type": "RegexRouter",
        "transforms.one.regex": ".*",
        "transforms.one.replacement": "one",
    }
    assert worker.call("PUT", f"/connectors/{name}/config", config).status == 201
    worker.wait_until(lambda: len(committed(table)) >= 7, "write seven rows", 200)
    produce(broker, b, order(11, None))
    worker.wait_until(lambda: 11 in committed(table), "write what comes later", 90)
    assert committed(table) == [0, 1, 2, 3, 4, 5, 10, 11]
    worker.call("DELETE", f"/connectors/{name}")
    transactions = [action["txn"] for action in actions(table) if "txn" in action]
    versions = {one["appId"].rpartition(":")[0]: one["version"] for one in transactions}
    assert versions == {f"{name}/{a}-0": 5, f"{name}/{b}-0": 1}


def test_overwriting_writes_a_batch_once_and_nothing_for_tombstones(spark: SparkSession, tmp_path: Path) -> None:
    task = SparkSinkTask()
    task.start({"name": "o", "format": "parquet", "options.path": str(tmp_path / "o"), "mode": "overwrite"})
    numbered = Schema(SchemaType.STRUCT, fields=(SchemaField("id", Schema(SchemaType.INT64)),))
    named = Schema(SchemaType.STRUCT, fields=(*numbered.fields, SchemaField("day", OPTIONAL_STRING_SCHEMA)))
    task.put(sink_batch(spark, "t", [(0, "sun")], named))
    one, other = sink_batch(spark, "t", [(1,)], numbered), sink_batch(spark, "t", [(2, "mon")], named)
    task.put(SinkBatch((*one, *other, *sink_batch(spark, "t", [None]))))
    assert rows(tmp_path / "o") == [{"id": 1, "day": None}, {"id": 2, "day": "mon"}]
    task.put(sink_batch(spark, "t", [None]))
    assert len(rows(tmp_path / "o")) == 2


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"table": ""}, "Either table or options.path must say where to write"),
        ({"exactly.once": "true"}, "Only appending to a Delta table by its path"),
        ({"record.columns": "offset,colour"}, "Invalid value colour for configuration record.columns"),
        ({"mode": "merge"}, "Invalid value merge for configuration mode"),
    ],
)
def test_what_cannot_be(worker: WorkerProcess, topic_prefix: str, wrong: dict[str, str], text: str) -> None:
    config = {"connector.class": "SparkSink", "topics": topic_prefix, "format": "parquet", "table": "t", **wrong}
    answer = worker.call("PUT", f"/connectors/{topic_prefix}c/config", config)
    assert answer.status == 400
    assert text in answer.message
