"""Deliveries that fail: only a record's own fault costs a record, whatever errors.tolerance is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not said to be
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.worker.source.sender import RecordSender, RejectedRecord
from tests.integration import topics

SECONDS = 60.0


class Sending:
    """A sender, its brokers, and the records that were told to be rejected."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.servers = bootstrap_servers
        self.admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self.rejected: list[bytes] = []
        self._given_up = threading.Event()
        settings = clients.producer_settings(
            bootstrap_servers, "sender", {"topic.metadata.propagation.max.ms": "1000", "max.request.size": "100000"}
        )
        self.sender = RecordSender(settings, self._given_up.is_set, self._waited, lambda _: None)
        self._thread = ThreadPoolExecutor(1)

    def _waited(self, seconds: float) -> bool:
        return not self._given_up.wait(seconds)

    def create(self, topic: str, partitions: int = 1, **settings: str) -> None:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(SECONDS)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(SECONDS)

    def send(self, common: str, tolerant: bool, /, **columns: list[Any]) -> Future[bool]:
        """Send records on another thread."""

        def tolerate(record: RejectedRecord) -> bool:
            self.rejected.append(record.record["value"])
            return tolerant

        return self._thread.submit(self.sender.send, table(**columns), common, tolerate)

    def read(self, topic: str, count: int) -> list[Message]:
        return topics.read_topic(self.servers, topic, count)

    def values(self, topic: str) -> list[bytes | None]:
        """All values of a topic."""
        return [one.value() for one in self.read(topic, topics.size(self.servers, topic))]

    def close(self) -> None:
        self._given_up.set()
        self.sender.purge()
        self._thread.shutdown()
        self.sender.close()


def table(**columns: list[Any]) -> pa.Table:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    types = {"timestamp": pa.int64(), "partition": pa.int32(), "topic": pa.string(), "headers": header}
    return pa.table({name: pa.array(values, types.get(name, pa.binary())) for name, values in columns.items()})


def numbered(count: int, size: int = 1) -> list[bytes]:
    return [b"%04d" % number + b"x" * size for number in range(count)]


@pytest.fixture(scope="module")
def strict_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that makes no topics, and knows rights."""
    settings = {
        "auto.create.topics.enable": "false",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    folder: Path = tmp_path_factory.mktemp("strict")
    with EmbeddedBroker(folder, 0, heap="384m", settings=settings) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def sending(strict_broker: str) -> Iterator[Sending]:
    made = Sending(strict_broker)
    yield made
    made.close()


TOLERANT = pytest.mark.parametrize("tolerant", [False, True])


@TOLERANT
def test_r2_records_wait_for_a_missing_topic(sending: Sending, topic_prefix: str, tolerant: bool) -> None:
    """At ce718d3: refused after topic.metadata.propagation.max.ms, with tolerance dropped."""
    topic = f"{topic_prefix}t"
    sent = sending.send(topic, tolerant, value=numbered(1200))
    time.sleep(3)
    assert not sent.done(), sent.exception()
    sending.create(topic)
    assert sent.result(SECONDS)
    assert sending.values(topic) == numbered(1200)
    assert sending.rejected == []


@pytest.mark.nightly
@TOLERANT
def test_r2_records_wait_for_a_deleted_topic(sending: Sending, topic_prefix: str, tolerant: bool) -> None:
    """At ce718d3: refused as soon as librdkafka's metadata lacks the topic, with tolerance dropped."""
    topic = f"{topic_prefix}t"
    sending.create(topic, 3)
    keys = [b"%d" % (number % 5) for number in range(600)]
    assert sending.send(topic, tolerant, key=keys, value=numbered(600)).result(SECONDS)
    sending.delete(topic)
    sent = sending.send(topic, tolerant, key=keys, value=numbered(600))
    time.sleep(4)
    assert not sent.done(), sent.exception()
    sending.create(topic, 3)
    assert sent.result(SECONDS)
    for key in set(keys):
        found = [one.value() for one in sending.read(topic, 600) if one.key() == key]
        assert found == [value for value, own in zip(numbered(600), keys, strict=True) if own == key]
    assert sending.rejected == []


@TOLERANT
def test_r2_a_topic_that_may_not_be_written_fails_the_task(sending: Sending, topic_prefix: str, tolerant: bool) -> None:
    """At ce718d3: with tolerance every record is dropped."""
    topic = f"{topic_prefix}t"
    sending.create(topic)
    forbidden = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:*",
        "*",
        AclOperation.WRITE,
        AclPermissionType.DENY,
    )
    sending.admin.create_acls([forbidden])[forbidden].result(SECONDS)
    with pytest.raises(ConnectError, match="Topic authorization failed"):
        sending.send(topic, tolerant, value=numbered(3)).result(SECONDS)
    assert sending.rejected == []


def test_one_record_without_key_costs_a_compacted_topic_no_other(sending: Sending, topic_prefix: str) -> None:
    """Brokers reject all records of the request, and librdkafka reports each of them."""
    topic = f"{topic_prefix}t"
    sending.create(topic, cleanup_policy="compact")
    keys = [None if number == 700 else b"%d" % number for number in range(1000)]
    assert sending.send(topic, True, key=keys, value=numbered(1000)).result(SECONDS)
    assert sending.rejected == [numbered(1000)[700]]
    found = sending.values(topic)
    assert {*found} == {*numbered(1000)} - {numbered(1000)[700]}
    assert found[-1] == numbered(1000)[-1]


def test_a_request_too_large_is_sent_in_parts(sending: Sending, topic_prefix: str) -> None:
    """Java splits such a batch too; a record too large is rejected alone."""
    topic = f"{topic_prefix}t"
    sending.create(topic, max_message_bytes="2000")
    values = [*numbered(20, 500), b"y" * 3000, b"z" * 200_000]
    assert sending.send(topic, True, value=values).result(SECONDS)
    assert sorted(sending.rejected) == sorted(values[-2:])
    assert list(dict.fromkeys(sending.values(topic))) == values[:-2]


def test_an_invalid_topic_is_the_records_fault(sending: Sending, topic_prefix: str) -> None:
    topic = f"{topic_prefix}t"
    sending.create(topic)
    names = [topic, "no topic", topic]
    assert sending.send("unused", True, topic=names, value=numbered(3)).result(SECONDS)
    assert sending.rejected == [numbered(3)[1]]
    assert {*sending.values(topic)} == {numbered(3)[0], numbered(3)[2]}


def test_a_partition_that_comes_later_is_waited_for(sending: Sending, topic_prefix: str) -> None:
    topic = f"{topic_prefix}t"
    sending.create(topic)
    sent = sending.send(topic, True, partition=[0, 1, 0], value=numbered(3))
    time.sleep(3)
    assert not sent.done(), sent.exception()
    size = topics.size(sending.servers, topic)
    time.sleep(2)
    assert topics.size(sending.servers, topic) == size, "nothing is written again and again"
    sending.close()
    assert sent.result(SECONDS) is False


def test_a_timestamp_of_0_is_kept(sending: Sending, topic_prefix: str) -> None:
    topic = f"{topic_prefix}t"
    sending.create(topic)
    headers = [[{"key": "a", "value": None}, {"key": "b", "value": b"1"}], [], None, []]
    columns: dict[str, list[Any]] = {
        "value": [b"1", b"2", None, b"4"],
        "key": [b"k", None, None, b"k"],
        "headers": headers,
    }
    assert sending.send(topic, False, timestamp=[0, 5, 0, None], **columns).result(SECONDS)
    found = sending.read(topic, 4)
    assert [one.value() for one in found] == columns["value"]
    assert [one.key() for one in found] == columns["key"]
    assert [one.timestamp()[1] for one in found[:3]] == [0, 5, 0]
    assert found[3].timestamp()[1] > 5
    assert found[0].headers() == [("a", None), ("b", b"1")]
    assert not found[2].headers()
