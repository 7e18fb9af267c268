"""The S3 sink beside a server with the API of S3, and what its user reads when that is missing or refuses."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from connect_dagster.connectors.object_store.s3_sink import S3SinkTask
from connect_dagster.embedded.ports import free_port
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.records import TopicPartition
from tests.conftest import Broker
from tests.integration.object_store.file_batches import batch, orders, task_context
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import STRING
from tests.integration.worker_process import WorkerProcess, write_properties
from tests.object_store_server import KEYS, REGION, ObjectStoreServer, running_object_store

pytestmark = pytest.mark.nightly

PLACE = TopicPartition("orders", 0)
ROOT = "topics/orders/partition=0/orders+0+000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStoreServer]:
    with running_object_store(tmp_path_factory.mktemp("moto")) as running:
        running.create_bucket("lake")
        yield running


def config(server: ObjectStoreServer, **others: str) -> dict[str, str]:
    return {
        "name": "s",
        "topics": "orders",
        "store.url": server.url,
        "s3.region": REGION,
        "s3.bucket.name": "lake",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "flush.size": "2",
        "s3.part.retries": "0",
        **KEYS,
        **others,
    }


@contextmanager
def started(spark: SparkSession, options: Mapping[str, str]) -> Iterator[S3SinkTask]:
    task = S3SinkTask()
    task.context = task_context(spark, PLACE)
    try:
        task.start(options)
        task.open([PLACE])
        yield task
    finally:
        task.stop()


def test_objects(spark: SparkSession, server: ObjectStoreServer) -> None:
    server.create_bucket("objects")
    options = {**config(server), "s3.bucket.name": "objects", "s3.acl.canned": "private", "s3.compression.type": "none"}
    with started(spark, options) as task:
        task.put(batch(spark, orders(0, 1, 2, 3, 4)))
        assert task.pre_commit({PLACE: 5}) == {PLACE: 4}
    found = {
        name: [json.loads(line)["id"] for line in content.splitlines()]
        for name, content in server.objects("objects").items()
    }
    assert found == {f"{ROOT}0.json": [0, 1], f"{ROOT}2.json": [2, 3]}


def test_an_object_of_many_megabytes_is_uploaded_in_parts(spark: SparkSession, server: ObjectStoreServer) -> None:
    server.create_bucket("large")
    options = {**config(server), "s3.bucket.name": "large", "flush.size": "24"}
    with started(spark, options) as task:
        task.put(batch(spark, orders(*range(24), shop="x" * (1 << 20))))
    (content,) = server.objects("large").values()
    assert [json.loads(line)["id"] for line in content.splitlines()] == list(range(24))


def test_a_bucket_that_does_not_exist(spark: SparkSession, server: ObjectStoreServer) -> None:
    options = {**config(server), "s3.bucket.name": "nowhere"}
    wrong = pytest.raises(ConnectError, match=r"/nowhere cannot be written: the bucket nowhere does not exist")
    with wrong, started(spark, options):
        pass


def test_a_server_that_cannot_be_reached(spark: SparkSession, server: ObjectStoreServer, tmp_path: Path) -> None:
    nobody = {**config(server), "store.url": f"http://127.0.0.1:{free_port()}"}
    with (
        pytest.raises(ConnectError, match=r"http://127.0.0.1:\d+/lake cannot be written: the server cannot be reached"),
        started(spark, nobody),
    ):
        pass
    with running_object_store(tmp_path) as other:
        other.create_bucket("lake")
        with started(spark, config(other)) as task:
            task.put(batch(spark, orders(0)))
            other.stop()
            with pytest.raises(
                RetriableError, match=r"orders\+0\+0000000000.json cannot be written: the server cannot"
            ):
                task.put(batch(spark, orders(1, 2)))
            assert task.pre_commit({PLACE: 1}) == {PLACE: 0}
            other.start()
            other.create_bucket("lake")
            task.put(batch(spark, orders(1, 2)))
            assert task.pre_commit({PLACE: 3}) == {PLACE: 2}
            assert list(other.objects("lake")) == [f"{ROOT}0.json"]


def test_rights(spark: SparkSession, server: ObjectStoreServer) -> None:
    reader = server.create_user("reader", "s3:ListBucket", "s3:GetObject")
    writer = server.create_user("writer", "s3:PutObject")
    with server.asking_for_rights():
        with (
            started(spark, config(server, **reader)) as task,
            pytest.raises(ConnectError, match="have no right to it; writing needs s3:PutObject"),
        ):
            task.put(batch(spark, orders(10, 11)))
        with started(spark, config(server, **writer)) as task:
            task.put(batch(spark, orders(20, 21)))
        with (
            started(spark, config(server, **{**KEYS, "aws.access.key.id": "stranger"})) as task,
            pytest.raises(ConnectError, match=r"the access key \(aws.access.key.id, .* is not known there"),
        ):
            task.put(batch(spark, orders(30, 31)))
        with (
            started(spark, config(server, **{**writer, "aws.secret.access.key": "wrong"})) as task,
            pytest.raises(ConnectError, match=r"the secret key \(aws.secret.access.key, .* is not that of"),
        ):
            task.put(batch(spark, orders(40, 41)))
    names = [name for name in server.objects("lake") if name.startswith("topics/orders/")]
    assert names == ["topics/orders/partition=0/orders+0+0000000020.json"]


@pytest.mark.timeout(600)
def test_a_worker_takes_confluents_configuration(
    broker: Broker, topic_prefix: str, server: ObjectStoreServer, tmp_path: Path
) -> None:
    topics = Topics(broker.bootstrap_servers)
    topic, name = topics.create(f"{topic_prefix}t"), f"{topic_prefix}sink"
    options = {
        **config(server, name=name, topics=topic, **{"flush.size": "3"}),
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "tasks.max": "1",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "schema.compatibility": "NONE",
        "partitioner.class": "io.confluent.connect.storage.partitioner.DefaultPartitioner",
    }
    connector = write_properties(tmp_path / "sink.properties", options)
    props = {"bootstrap.servers": broker.bootstrap_servers, "key.converter": STRING, "value.converter": STRING}
    topics.write(topic, "abcdefg")
    with WorkerProcess({**props, "consumer.auto.offset.reset": "earliest"}, [connector], tmp_path) as worker:
        topics.await_committed(f"connect-{name}", topic, {0: 6}, 120)
        wrong = {**options, "store.kafka.keys": "true", "flush.size": "x"}
        answer = worker.call("PUT", "/connector-plugins/S3SinkConnector/config/validate", wrong)
        found = {
            one["value"]["name"]: one["value"]["errors"] for one in answer.json["configs"] if one["value"]["errors"]
        }
        assert found.keys() == {"flush.size", "store.kafka.keys"}
    found = {key: value for key, value in server.objects("lake").items() if topic in key}
    assert found == {
        f"topics/{topic}/partition=0/{topic}+0+0000000000.json": b'"a"\n"b"\n"c"\n',
        f"topics/{topic}/partition=0/{topic}+0+0000000003.json": b'"d"\n"e"\n"f"\n',
    }
