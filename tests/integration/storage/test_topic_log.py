"""A topic as a log: everything is read in its order, quickly, whatever happens to the brokers."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import ConnectError
from connect_dagster.storage.topic_log import Headers, NotPermittedError, TopicLog, TopicMissingError
from tests.integration import topics
from tests.integration.storage.stores import SECONDS, Stores, wait_until

Record = tuple[bytes | None, bytes | None, int, int]


class Heard:
    """What a log handed on."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def __call__(
        self, key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        assert timestamp > 0
        self.records.append((key, value, partition, offset))

    @property
    def pairs(self) -> list[tuple[bytes | None, bytes | None]]:
        return [record[:2] for record in self.records]


@pytest.fixture
def topic(stores: Stores) -> str:
    """A topic with three partitions."""
    name = f"{stores.prefix}log"
    topics.create(stores.bootstrap_servers, name, 3)
    return name


def test_a_log_begins_at_the_beginning_and_goes_on(stores: Stores, topic: str) -> None:
    before = [(f"k{number}", f"v{number}") for number in range(30)]
    stores.write_raw(topic, *before, ("k0", None))
    heard = Heard()
    log = stores.log(topic, heard)
    assert sorted(pair[0] or b"" for pair in heard.pairs) == sorted([key.encode() for key, _ in before] + [b"k0"])
    assert log.partitions == [0, 1, 2]
    log.write([(b"after", b"1"), (b"after", None)], SECONDS)
    assert heard.pairs[-2:] == [(b"after", b"1"), (b"after", None)]
    for number in log.partitions:
        offsets = [offset for _, _, partition, offset in heard.records if partition == number]
        assert offsets == list(range(len(offsets)))


def test_logs_hear_of_each_other_in_milliseconds(stores: Stores, topic: str) -> None:
    first, second = Heard(), Heard()
    writer, reader = stores.log(topic, first), stores.log(topic, second)
    writer.write([(b"warm", b"up")], SECONDS)
    reader.read_to_end(SECONDS)
    took = []
    for number in range(20):
        began = time.monotonic()
        writer.write([(b"key", str(number).encode())], SECONDS)
        reader.read_to_end(SECONDS)
        took.append(time.monotonic() - began)
        assert second.pairs[-1] == (b"key", str(number).encode())
    assert sorted(took)[10] < 0.1, took


def test_transactions_markers_are_read_over(stores: Stores, topic: str) -> None:
    """Markers take offsets, and no reader gets them; what was aborted counts, as with Java's default isolation."""
    producer = Producer({"bootstrap.servers": stores.bootstrap_servers, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(SECONDS)
    heard = Heard()
    early = stores.log(topic, heard)
    for value, end in ((b"1", producer.commit_transaction), (b"2", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, b"key", partition=1)
        producer.flush(SECONDS)
        early.read_to_end(SECONDS)  # the transaction is still open
        end(SECONDS)
        early.read_to_end(SECONDS)
    assert heard.records == [(b"key", b"1", 1, 0), (b"key", b"2", 1, 2)]
    late = Heard()
    began = time.monotonic()
    stores.log(topic, late).read_to_end(SECONDS)
    assert late.records == heard.records
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("key", "partitions", "partition"),
    [
        ("status-connector-postgres_jdbc_ops_sink_customers_avro_01", 5, 4),
        ("status-task-postgres_jdbc_ops_sink_order_items_avro_01-0", 5, 4),
        ('["local-file-source",{"filename":"/tmp/test.txt"}]', 25, 21),
        ("status-task-kc-src-0", 2, 0),
        ("status-connector-kc-src", 2, 1),
        ("status-topic-kc-t:connector-kc-src", 2, 1),
    ],
)
def test_s2_06_keys_go_to_the_partitions_that_java_chose(
    stores: Stores, key: str, partitions: int, partition: int
) -> None:
    topic = f"{stores.prefix}partitions"
    topics.create(stores.bootstrap_servers, topic, partitions)
    stores.log(topic, Heard()).append([(key.encode(), b"{}")], SECONDS)
    assert stores.read_raw(topic) == {partition: [(key, "{}")]}


def test_a_record_that_its_reader_cannot_take_is_left_out(
    stores: Stores, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[bytes | None] = []

    def take(
        key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        if value == b"bad":
            raise ValueError("a reader's own mistake")
        seen.append(value)

    log = stores.log(topic, take)
    log.write([(b"k", b"good"), (b"k", b"bad"), (b"k", b"better")], SECONDS)
    assert seen == [b"good", b"better"]
    assert f"Leaving out the record of topic {topic} in partition" in caplog.text


def test_who_may_not_write_does_not(stores: Stores, topic: str) -> None:
    permitted = threading.Event()
    log = stores.log(topic, Heard(), permitted.is_set)
    with pytest.raises(NotPermittedError, match=f"This worker may not write to topic '{topic}' now"):
        log.write([(b"k", b"no")], SECONDS)
    permitted.set()
    log.write([(b"k", b"yes")], SECONDS)
    assert list(stores.read_raw(topic).values()) == [[("k", "yes")]]


def test_a_record_that_is_too_large_is_refused(stores: Stores, topic: str) -> None:
    log = stores.log(topic, Heard())
    with pytest.raises(ConnectError, match=f"Could not write to topic '{topic}'.*too large"):
        log.write([(b"k", b"x" * 2_000_000)], SECONDS)
    log.write([(b"k", b"x")], SECONDS)


def test_a_missing_topic_is_named(stores: Stores) -> None:
    with pytest.raises(ConnectError, match=f"Could not look up partition metadata for topic '{stores.prefix}none'"):
        stores.log_for(f"{stores.prefix}none", Heard()).start(1)


def test_many_records_are_read_at_the_start(stores: Stores, topic: str) -> None:
    producer = Producer({"bootstrap.servers": stores.bootstrap_servers})
    for number in range(20_000):
        producer.produce(topic, b"x" * 100, str(number).encode())
    assert producer.flush(SECONDS) == 0
    heard = Heard()
    stores.log(topic, heard)
    assert len(heard.records) == 20_000


@pytest.mark.nightly
def test_a_log_survives_its_brokers(
    own_broker: EmbeddedBroker, own_stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    topics.create(own_stores.bootstrap_servers, "log", 3)
    heard = Heard()
    log = own_stores.log("log", heard)
    log.write([(b"k", b"1")], SECONDS)
    own_broker.stop()
    with pytest.raises(TimeoutError):
        log.read_to_end(1)
    with pytest.raises(TimeoutError, match="The brokers did not acknowledge 1 records of topic 'log' in time"):
        log.write([(b"k", b"2")], 1)
    own_broker.start()
    log.write([(b"k", b"3")], 60)
    log.read_to_end(60)
    assert heard.pairs == [(b"k", b"1"), (b"k", b"2"), (b"k", b"3")]
    assert "Traceback" not in caplog.text


@pytest.mark.nightly
def test_what_waits_for_the_brokers_is_dropped_with_the_permission(
    own_broker: EmbeddedBroker, own_stores: Stores
) -> None:
    """A worker cut off from the brokers loses its place; when they come back, its successor's records stay."""
    topics.create(own_stores.bootstrap_servers, "log", 1)
    permitted = threading.Event()
    permitted.set()
    log = own_stores.log("log", Heard(), permitted.is_set)
    log.write([(b"k", b"mine")], SECONDS)
    own_broker.stop()
    answers: list[str] = []
    log.send(b"k", b"late", lambda error, message: answers.append(error.name() if error else "written"))
    permitted.clear()
    wait_until(lambda: answers == ["_PURGE_QUEUE"], "drop the record")
    own_broker.start()
    log.read_to_end(60)
    assert own_stores.read_raw("log") == {0: [("k", "mine")]}


def misses_its_topic(log: TopicLog) -> bool:
    """Read; brokers may deny a topic for a moment, so at first the time passes."""
    try:
        log.read_to_end(1)
    except TopicMissingError:
        return True
    except TimeoutError:
        return False
    raise AssertionError("a topic that does not exist was read")


@pytest.mark.nightly
def test_a_topic_that_is_deleted_is_waited_for(own_broker: EmbeddedBroker, own_stores: Stores) -> None:
    topics.create(own_stores.bootstrap_servers, "log", 1)
    heard = Heard()
    log = own_stores.log("log", heard)
    log.write([(b"k", b"1"), (b"k", b"2")], SECONDS)
    admin = AdminClient({"bootstrap.servers": own_stores.bootstrap_servers})
    admin.delete_topics(["log"])["log"].result(SECONDS)
    wait_until(lambda: own_stores.admin.partitions("log", SECONDS) == [], "forget the topic")
    wait_until(lambda: misses_its_topic(log), "miss the topic")
    topics.create(own_stores.bootstrap_servers, "log", 1)
    own_stores.write_raw("log", ("k", "new"))
    wait_until(lambda: heard.pairs[-1] == (b"k", b"new"), "read the new topic", 60)
    log.write([(b"k", b"newer")], 60)
    log.read_to_end(60)
    assert heard.pairs[-1] == (b"k", b"newer")
