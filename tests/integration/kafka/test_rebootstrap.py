"""Clients that librdkafka has left without any broker find the brokers again (confluentinc/librdkafka#5301)."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.kafka import clients, librdkafka
from connect_dagster.kafka.column_producer import ColumnProducer
from connect_dagster.kafka.settings import ClientKind, to_librdkafka
from tests.integration.kafka.fenced_broker import FencedBroker

CLIENTS = 4
SECONDS = 30.0
# The response that leaves a client without brokers comes with the refresh.
REFRESH = {"topic.metadata.refresh.interval.ms": 1500}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FencedBroker]:
    folder: Path = tmp_path_factory.mktemp("broker")
    with EmbeddedBroker(folder, 0, heap="256m") as real, FencedBroker(real.bootstrap_servers) as proxy:
        yield proxy


def settings(broker: FencedBroker) -> dict[str, str]:
    return clients.JAVA_RECONNECT | {"bootstrap.servers": broker.bootstrap_servers}


def until(over: Callable[[], bool], serve: Callable[[], object], seconds: float = SECONDS) -> None:
    """Serve clients until something is over. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not over():
        if time.monotonic() > deadline:
            raise TimeoutError
        serve()
        time.sleep(0.02)


def serve_for(seconds: float, serve: Callable[[], object]) -> None:
    """Serve clients for a time."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, serve)


def leave_without_brokers(broker: FencedBroker, serve: Callable[[], object]) -> None:
    """Cut connections while responses are read, then have a response name no broker."""
    cut, told = broker.cut, broker.told
    broker.cutting = True
    serve_for(4, serve)
    broker.cutting = False
    assert broker.cut > cut
    serve_for(6, serve)  # what a lost connection left behind is still there
    broker.fenced = True
    until(lambda: broker.told > told, serve)
    serve_for(2, serve)
    broker.fenced = False


@pytest.mark.nightly
def test_producers_find_the_brokers_again(broker: FencedBroker) -> None:
    producers: list[Producer] = [clients.producer(settings(broker), REFRESH) for _ in range(CLIENTS)]

    def serve() -> None:
        for producer in producers:
            producer.poll(0)

    def written() -> bool:
        return not any(len(producer) for producer in producers)

    for text in (b"before", b"after"):
        for producer in producers:
            producer.produce("written", text)
        until(written, serve)
        if text == b"before":
            leave_without_brokers(broker, serve)


@pytest.mark.nightly
def test_producers_of_columns_find_the_brokers_again(broker: FencedBroker) -> None:
    config = {**to_librdkafka(ClientKind.PRODUCER, settings(broker)), **REFRESH}
    failed: list[object] = []
    producers = [ColumnProducer(config, lambda *one: failed.append(one), lambda _: None) for _ in range(CLIENTS)]

    def serve() -> None:
        for producer in producers:
            producer.serve()

    for text in ("before", "after"):
        for producer in producers:
            assert list(producer.produce(pa.table({"value": [text]}), "columns", lambda: False)) == []
        until(lambda: all(producer.flush(0) for producer in producers), serve)
        if text == "before":
            leave_without_brokers(broker, serve)
    assert failed == []
    for producer in producers:
        producer.close()


@pytest.mark.nightly
def test_consumers_find_the_brokers_again(broker: FencedBroker) -> None:
    writer = clients.producer(settings(broker))
    writer.produce("read", b"before")
    writer.flush()
    consumers: list[Consumer] = []
    read: list[list[bytes]] = [[] for _ in range(CLIENTS)]
    for number in range(CLIENTS):
        own = {**settings(broker), "group.id": f"group-{number}", "auto.offset.reset": "earliest"}
        consumers.append(clients.consumer(own, REFRESH))
        consumers[-1].subscribe(["read"])

    def serve() -> None:
        for consumer, found in zip(consumers, read, strict=True):
            message = consumer.poll(0)
            if message is not None and message.error() is None:
                value = message.value()
                assert isinstance(value, bytes)
                found.append(value)

    until(lambda: all(found == [b"before"] for found in read), serve)
    leave_without_brokers(broker, serve)
    writer.produce("read", b"after")
    writer.flush()
    until(lambda: all(found == [b"before", b"after"] for found in read), serve)
    for consumer in consumers:
        consumer.close()


def test_a_handle_is_that_of_librdkafka() -> None:
    producer = clients.producer({"bootstrap.servers": "127.0.0.1:1", "client.id": "mine"})
    consumer = clients.consumer({"bootstrap.servers": "127.0.0.1:1", "client.id": "ours", "group.id": "g"})
    name = librdkafka.library().name
    assert name(librdkafka.handle_of(producer)).startswith(b"mine#producer-")
    assert name(librdkafka.handle_of(consumer)).startswith(b"ours#consumer-")
    consumer.close()
    assert librdkafka.handle_of(consumer) is None
