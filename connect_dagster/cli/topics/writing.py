"""Lines on their way into a topic, for ``connect-dagster topic write``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import click
from confluent_kafka import KafkaError, KafkaException, Message, Producer

PRODUCER_SETTINGS: Mapping[str, str | int | float | bool] = {
    # Java's: keys stay on their partitions.
    "partitioner": "murmur2_random",
    # A user waits at the terminal; the defaults are minutes.
    "message.timeout.ms": "8000",
    "topic.metadata.propagation.max.ms": "5000",
}
_FULL_QUEUE_SECONDS = 0.1

Reported = Callable[[KafkaError | None, Message], None]


@dataclass(frozen=True, slots=True)
class Record:
    """One record to write."""

    key: bytes | None
    value: bytes | None


def records(
    lines: BinaryIO, key: str | None, separator: str | None, *, empty_is_null: bool = False
) -> Iterator[Record]:
    """Return a record for each line, all with the same key, if any.

    Args:
        lines: standard input.
        key: that of all records.
        separator: what stands before its first occurrence on a line is the record's key.
        empty_is_null: whether an empty value becomes a tombstone.

    Raises:
        click.ClickException: a line has no separator; names the line.
    """
    same = key.encode() if key is not None else None
    cut = separator.encode() if separator is not None else None
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        own, value = (same, text) if cut is None else _split(text, cut, number)
        yield Record(own, None if empty_is_null and not value else value)


def _split(text: bytes, separator: bytes, number: int) -> tuple[bytes, bytes]:
    key, found, value = text.partition(separator)
    if not found:
        raise click.ClickException(
            f"Line {number} has no key separator {separator.decode()!r}: it and the lines after it are not written."
        )
    return key, value


def send(producer: Producer, topic: str, given: Iterable[Record]) -> None:
    """Write records and wait until the brokers have them; what was taken before an error is written.

    Raises:
        KafkaException: the first record that the brokers refused or did not take in time.
    """
    refused: list[KafkaError] = []

    def reported(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    try:
        for record in given:
            _produce(producer, topic, record, reported)
            if refused:
                break
    finally:
        producer.flush()
    if refused:
        raise KafkaException(refused[0])


def _produce(producer: Producer, topic: str, record: Record, reported: Reported) -> None:
    while True:
        try:
            producer.produce(topic, record.value, record.key, on_delivery=reported)
        except BufferError:
            producer.poll(_FULL_QUEUE_SECONDS)
        else:
            producer.poll(0)
            return
