"""Records keep their order where brokers refuse a request for a while."""

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from connect_dagster.kafka import clients
from connect_dagster.kafka.column_producer import LazyColumnProducer
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.worker.source.sender import RecordSender
from tests.mock_cluster import INIT_PRODUCER_ID, PRODUCE, MockCluster, mock_cluster

TOPIC = "lines"


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """A broker with a topic."""
    with mock_cluster() as found:
        found.create(TOPIC)
        yield found


def settings(cluster: MockCluster, overrides: Settings) -> dict[str, str]:
    """A task's producer."""
    return clients.producer_settings(cluster.bootstrap_servers, "p", overrides)


def lines(cluster: MockCluster, count: int) -> list[bytes]:
    """The first values of the topic."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found = consumer.consume(count, timeout=20)
    consumer.close()
    return [one.value() or b"" for one in found]


@pytest.mark.parametrize("overrides", [{}, {"linger.ms": "1"}])
def test_a_request_that_is_refused_goes_before_the_next(cluster: MockCluster, overrides: Settings) -> None:
    """Failed: librdkafka made the next request while it waited for the answer, and sent it before the repetition."""
    producer = clients.producer(settings(cluster, overrides))
    producer.produce(TOPIC, b"0")
    assert producer.flush(20) == 0
    cluster.answer_after(milliseconds=300)
    cluster.fail_next(PRODUCE)
    for value in (b"1", b"2"):
        producer.produce(TOPIC, value)
        time.sleep(0.1)
    assert producer.flush(20) == 0
    assert lines(cluster, 3) == [b"0", b"1", b"2"]


def test_the_same_by_columns(cluster: MockCluster) -> None:
    failed: list[object] = []
    columns = LazyColumnProducer(settings(cluster, {}), {}, lambda *one: failed.append(one), failed.append).get()
    assert columns is not None
    list(columns.produce(pa.table({"value": [b"0"]}), TOPIC, lambda: False))
    assert columns.flush(20)
    cluster.answer_after(milliseconds=300)
    cluster.fail_next(PRODUCE)
    for value in (b"1", b"2"):
        list(columns.produce(pa.table({"value": [value]}), TOPIC, lambda: False))
        time.sleep(0.1)
    assert columns.flush(20)
    columns.close()
    assert not failed
    assert lines(cluster, 3) == [b"0", b"1", b"2"]


@pytest.mark.parametrize(
    ("overrides", "is_idempotent"),
    [
        ({}, "true"),
        ({"acks": "-1", "max.in.flight.requests.per.connection": "5"}, "true"),
        ({"acks": "1"}, "false"),
        ({"retries": "0"}, "false"),
        ({"max.in.flight.requests.per.connection": "6"}, "false"),
        ({"enable.idempotence": "false"}, "false"),
    ],
)
def test_a_producer_is_idempotent_where_its_settings_allow_for_it(overrides: Settings, is_idempotent: str) -> None:
    made = clients.producer_settings("localhost:9092", "p", overrides)
    assert made["enable.idempotence"] == is_idempotent
    clients.producer(made)


@pytest.mark.parametrize("size", [3, 2000])
def test_a_producer_whose_sequence_the_brokers_do_not_know_is_replaced(
    cluster: MockCluster, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Else its records would count as delivered: librdkafka drops them after a fatal error."""
    sender = RecordSender(settings(cluster, {}), lambda: False, lambda _: True, lambda _: None)
    values = [b"%d" % number for number in range(3 * size)]
    tables = [pa.table({"value": values[start : start + size]}) for start in range(0, len(values), size)]
    assert sender.send(tables[0], TOPIC, lambda _: False)
    cluster.fail_next(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert all(sender.send(table, TOPIC, lambda _: False) for table in tables[1:])
    found = lines(cluster, 3 * size)
    sender.purge()
    sender.close()
    assert found == values
    assert "Client p goes on without idempotence" in caplog.text


@pytest.mark.parametrize("size", [3, 2000])
def test_a_producer_that_may_not_be_idempotent_is_not(
    cluster: MockCluster, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """As with brokers before 2.8 that check rights."""
    for _ in range(2):  # that of tables, and the other
        cluster.fail_next(INIT_PRODUCER_ID, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    sender = RecordSender(settings(cluster, {}), lambda: False, lambda _: True, lambda _: None)
    values = [b"%d" % number for number in range(size)]
    assert sender.send(pa.table({"value": values}), TOPIC, lambda _: False)
    sender.purge()
    sender.close()
    assert lines(cluster, size) == values
    assert "Client p goes on without idempotence" in caplog.text
