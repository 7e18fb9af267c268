"""Signals that are records of a topic."""

import json
import logging
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mysql.options.signals import SignalTopic
from connect_dagster.connectors.mysql.signals.signal import Signal
from connect_dagster.connectors.mysql.signals.signal_topic import SignalTopicReader

TOPIC = SignalTopic("shop-signal", {"bootstrap.servers": "broker:9092", "group.id": "kafka-signal"}, 100)


class Message:
    def __init__(self, key: bytes | None, value: bytes | None, error: KafkaError | None = None) -> None:
        self._key, self._value, self._error = key, value, error

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def error(self) -> KafkaError | None:
        return self._error


class Consumer:
    def __init__(self) -> None:
        self.assigned: list[Any] = []
        self.waits: list[float] = []
        self.messages: list[Message] = []
        self.failure: KafkaException | None = None
        self.is_closed = False

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(one.topic, one.partition) for one in partitions]

    def consume(self, _: int, timeout: float) -> list[Message]:
        self.waits.append(timeout)
        if self.failure is not None:
            raise self.failure
        found, self.messages = self.messages, []
        return found

    def close(self) -> None:
        self.is_closed = True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def reader(consumer: Consumer, clock: Clock, settings: list[Any] | None = None) -> SignalTopicReader:
    def make(given: Any) -> Any:
        if settings is not None:
            settings.append(given)
        return consumer

    return SignalTopicReader(TOPIC, "shop", 5.0, clock, make)


def signal(**fields: Any) -> bytes:
    return json.dumps({"id": "1", "type": "log", "data": {"message": "별"}, **fields}).encode()


def test_signals_are_read_from_time_to_time() -> None:
    consumer, clock, settings = Consumer(), Clock(), []  # type: ignore[var-annotated]
    reading = reader(consumer, clock, settings)
    consumer.messages = [Message(b"shop", signal()), Message(b"shop", signal(id=None)), Message(b"shop", b"")]
    assert reading.read() == [Signal("1", "log", '{"message":"별"}'), Signal(None, "log", '{"message":"별"}')]
    assert consumer.assigned == [("shop-signal", 0)]
    assert settings[0].items() >= TOPIC.consumer.items()
    clock.now = 4.9
    assert (reading.read(), consumer.waits) == ([], [0.1])
    clock.now = 5.0
    consumer.messages = [Message(b"shop", signal(data=None))]
    assert reading.read() == [Signal("1", "log", "{}")]
    assert len(settings) == 1
    reading.close()
    assert consumer.is_closed


@pytest.mark.parametrize(
    ("message", "level", "text"),
    [
        (Message(b"other", signal()), logging.INFO, "is for another connector than shop"),
        (Message(None, signal()), logging.INFO, "is for another connector than shop"),
        (Message(b"shop", b"{"), logging.WARNING, "it is not a JSON object"),
        (Message(b"shop", b"[]"), logging.WARNING, "it is not a JSON object"),
        (Message(b"shop", b"\xff"), logging.WARNING, "it is not a JSON object"),
        (Message(b"shop", signal(type=None)), logging.WARNING, "type must be a text"),
        (Message(b"shop", signal(data="{}")), logging.WARNING, "data a JSON object"),
        (Message(None, None, KafkaError(3)), logging.WARNING, "cannot be read from topic shop-signal"),
    ],
)
def test_records_that_are_passed_over(
    message: Message, level: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    consumer = Consumer()
    consumer.messages = [message]
    assert reader(consumer, Clock()).read() == []
    (record,) = caplog.records
    assert (record.levelno, text in record.message) == (level, True)


def test_brokers_that_fail(caplog: pytest.LogCaptureFixture) -> None:
    consumer, clock, settings = Consumer(), Clock(), []  # type: ignore[var-annotated]
    consumer.failure = KafkaException(KafkaError(-195))
    reading = reader(consumer, clock, settings)
    assert reading.read() == []
    assert "cannot be read from topic shop-signal" in caplog.text
    assert consumer.is_closed
    consumer.failure, consumer.messages = None, [Message(b"shop", signal()), Message(None, None, KafkaError(15))]
    clock.now = 5.0
    assert [one.id for one in reading.read()] == ["1"]
    clock.now = 10.0
    assert reading.read() == []
    assert len(settings) == 3
