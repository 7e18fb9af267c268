"""Dead letters of a topic: their headers, and their replay to the topics they came from.

Independent of workers: a letter is recognized by its headers ``__connect.errors.*``, which a connector adds when
``errors.deadletterqueue.context.headers.enable`` is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message, Producer

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.kafka.topic_reading import partition_count, read_topic
from connect_dagster.protocol.dead_letter_headers import (
    CONNECTOR,
    EXCEPTION,
    MESSAGE,
    OFFSET,
    PARTITION,
    PREFIX,
    SOURCE_OFFSET,
    SOURCE_PARTITION,
    STAGE,
    TOPIC,
)

if TYPE_CHECKING:
    from connect_dagster.kafka.epoch_producer import EpochProducer

_FULL_QUEUE_SECONDS = 0.1
_RECEIPT_SECONDS = 30.0
_SETTINGS: Mapping[str, Any] = {
    "log_level": 0,
    "enable.idempotence": True,
    "message.timeout.ms": 30_000,
    "topic.metadata.propagation.max.ms": 5_000,
}


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of a dead letter queue topic."""

    message: Message

    @property
    def offset(self) -> int:
        """Return the offset in the dead letter queue."""
        return int(self.message.offset() or 0)

    @property
    def partition(self) -> int:
        """Return the partition in the dead letter queue."""
        return int(self.message.partition() or 0)

    @property
    def timestamp(self) -> int | None:
        """Return the record's own time in epoch milliseconds, not that of its failure."""
        kind, millis = self.message.timestamp()
        return None if kind == TIMESTAMP_NOT_AVAILABLE else int(millis)

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """Return the headers that the record came with."""
        return [(name, value) for name, value in self._headers() if not name.startswith(PREFIX)]

    @property
    def topic(self) -> str | None:
        """Return the topic that the record came from or went to; ``None`` without that header."""
        return self._told(TOPIC)

    @property
    def connector(self) -> str | None:
        """Return the connector that wrote it."""
        return self._told(CONNECTOR)

    @property
    def stage(self) -> str | None:
        """Return the stage that failed."""
        return self._told(STAGE)

    @property
    def exception(self) -> str | None:
        """Return the class of the error."""
        return self._told(EXCEPTION)

    @property
    def text(self) -> str | None:
        """Return the text of the error."""
        return self._told(MESSAGE)

    @property
    def origin(self) -> str | None:
        """Return the record's origin: ``topic-partition@offset``, or a source's partition and offset."""
        partition, offset = self._told(PARTITION), self._told(OFFSET)
        if partition is not None and offset is not None:
            return f"{self.topic}-{partition}@{offset}"
        source = self._told(SOURCE_PARTITION)
        return None if source is None else f"{source}@{self._told(SOURCE_OFFSET)}"

    def _told(self, name: str) -> str | None:
        values = [value for key, value in self._headers() if key == name and value is not None]
        return values[-1].decode(errors="replace") if values else None

    def _headers(self) -> list[tuple[str, bytes | None]]:
        found: Any = self.message.headers() or []
        return [(name, value.encode() if isinstance(value, str) else value) for name, value in found]


@dataclass(slots=True)
class Replay:
    """The result of a replay.

    Attributes:
        written: letters that the brokers have, by the topic they went to.
        last: by partition of the dead letters, the offset of the last one written.
    """

    written: dict[str, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def text(self) -> str:
        """Return the result as a sentence."""
        if not self.written:
            return "Replayed no record."
        topics = ", ".join(f"{count} to {topic}" for topic, count in sorted(self.written.items()))
        ends = ", ".join(f"{offset} (partition {partition})" for partition, offset in sorted(self.last.items()))
        return f"Replayed {topics}; the last offset was {ends}."


def dead_letters(bootstrap: Bootstrap, topic: str, timeout: float) -> Iterator[DeadLetter]:
    """Yield the dead letters of a topic, up to its end now.

    Args:
        bootstrap: brokers, ``host:port``, separated by commas.
        topic: its name.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        BrokersError: the topic does not exist, or no broker responds.
    """
    return map(DeadLetter, read_topic(bootstrap, topic, timeout))


def replay(
    bootstrap: Bootstrap,
    letters: Iterable[DeadLetter],
    target: str | None,
    timeout: float,
    report: Callable[[Replay], None],
) -> Replay:
    """Write dead letters back without the added headers, in their order.

    Args:
        bootstrap: brokers, ``host:port``, separated by commas.
        letters: which ones.
        target: the topic to write to; ``None`` for the one that each letter came from.
        timeout: longest wait for the brokers, in seconds.
        report: called with the result, also before an error is raised.

    Raises:
        BrokersError: a letter names no topic, the topic does not exist, or the brokers refuse; letters before
            it are written.
    """
    done = Replay()
    refused: list[KafkaError] = []
    settings = client_settings(bootstrap)
    with brokers_errors():
        producer = clients.producer(settings, _SETTINGS)
    # Only now: who lists dead letters needs no NumPy.
    from connect_dagster.kafka.epoch_producer import EpochProducer

    epochs = EpochProducer(settings, lambda _, error: refused.append(error), _SETTINGS)
    known: set[str] = set()

    def delivered(letter: DeadLetter, topic: str) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                refused.append(error)
            elif not refused:
                done.written[topic] = done.written.get(topic, 0) + 1
                done.last[letter.partition] = letter.offset

        return report

    try:
        for letter in letters:
            topic = _target(letter, target)
            _require(bootstrap, topic, known, timeout)
            if letter.timestamp == 0 and _is_possible(epochs):
                producer.flush()  # the letters of both producers keep their order
                _produce_at_epoch(epochs, letter, topic, refused)
                delivered(letter, topic)(None, letter.message)
            else:
                _produce(producer, letter, topic, delivered(letter, topic))
            if refused:
                break
    finally:
        producer.flush()
        epochs.close()
        report(done)
    if refused:
        with brokers_errors():
            raise KafkaException(refused[0])
    return done


def _target(letter: DeadLetter, target: str | None) -> str:
    topic = target if target is not None else letter.topic
    if topic is None:
        raise BrokersError(
            f"The record at offset {letter.offset} has no header with the topic it came from "
            "(errors.deadletterqueue.context.headers.enable was off): name a topic with --to."
        )
    return topic


def _require(bootstrap: Bootstrap, topic: str, known: set[str], timeout: float) -> None:
    """Raise BrokersError for a topic that does not exist, so that it is not created by mistake."""
    if topic in known:
        return
    if partition_count(bootstrap, topic, timeout) is None:
        raise BrokersError(f"Topic {topic!r} to replay to does not exist.")
    known.add(topic)


def _produce(
    producer: Producer,
    letter: DeadLetter,
    topic: str,
    report: Callable[[KafkaError | None, Message], None],
) -> None:
    words: dict[str, Any] = {"headers": letter.headers, "on_delivery": report}
    if letter.timestamp is not None:
        words["timestamp"] = letter.timestamp
    while True:
        try:
            producer.produce(topic, letter.message.value(), letter.message.key(), **words)
        except BufferError:
            producer.poll(_FULL_QUEUE_SECONDS)
        else:
            producer.poll(0)
            return


def _is_possible(epochs: EpochProducer) -> bool:
    with brokers_errors():
        return epochs.possible()


def _produce_at_epoch(epochs: EpochProducer, letter: DeadLetter, topic: str, refused: list[KafkaError]) -> None:
    """Write a letter with timestamp 0, and note the error of one that the brokers do not acknowledge."""
    record = {"topic": topic, "value": letter.message.value(), "key": letter.message.key(), "headers": letter.headers}
    with brokers_errors():
        epochs.produce(record)
    if not epochs.flush(_RECEIPT_SECONDS):
        refused.append(KafkaError(KafkaError._MSG_TIMED_OUT))
