"""Read the records that ``connect-dagster topic read`` prints, from a start to an end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from connect_dagster.kafka.groups import ANSWER_SECONDS

_POLL_SECONDS = 0.2
_BATCH = 500


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Range of records to read.

    Attributes:
        partition: the only one to read; all of them when ``None``.
        start: an offset, ``OFFSET_BEGINNING`` or ``OFFSET_END``.
        most: records to read at most; no limit when ``None``.
        quiet_seconds: end when no record came for so long; wait forever when ``None``.
    """

    partition: int | None
    start: int
    most: int | None
    quiet_seconds: float | None


def places(consumer: Consumer, topics: Mapping[str, Sequence[int]], topic: str, plan: ReadPlan) -> list[TopicPartition]:
    """Return the partitions to read, each with its first offset.

    Args:
        consumer: asked for the range of offsets.
        topics: those there are, with their partitions in order.
        topic: the one to read.
        plan: what to read of it.

    Raises:
        click.ClickException: the topic, partition or offset does not exist; names those that do.
    """
    if topic not in topics:
        raise click.ClickException(f"Topic {topic!r} does not exist; `topic list` shows those that do.")
    partitions = topics[topic]
    if plan.partition is None:
        return [TopicPartition(topic, partition, plan.start) for partition in partitions]
    if plan.partition not in partitions:
        raise click.ClickException(f"Topic {topic!r} has no partition {plan.partition}; it has {_range(partitions)}.")
    place = TopicPartition(topic, plan.partition, plan.start)
    if plan.start >= 0:
        _check_offset(consumer, place)
    return [place]


def batches(consumer: Consumer, plan: ReadPlan) -> Iterator[list[Message]]:
    """Records of the assigned partitions as they come, in batches that are not empty.

    Raises:
        KafkaException: the brokers refuse to be read from; a broker that is away is waited for.
    """
    left, heard = plan.most, time.monotonic()
    wait = _POLL_SECONDS if plan.quiet_seconds is None else min(_POLL_SECONDS, plan.quiet_seconds)
    while left is None or left > 0:
        found = consumer.consume(_BATCH if left is None else min(_BATCH, left), timeout=wait)
        if found:
            left, heard = None if left is None else left - len(found), time.monotonic()
            yield [_checked(message) for message in found]
        elif plan.quiet_seconds is not None and time.monotonic() - heard >= plan.quiet_seconds:
            return


def _checked(message: Message) -> Message:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    return message


def _check_offset(consumer: Consumer, place: TopicPartition) -> None:
    low, high = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
    if not low <= place.offset <= high:
        raise click.ClickException(
            f"Offset {place.offset} is out of range: partition {place.partition} of topic {place.topic!r} "
            f"begins at {low}, and its next record will be {high}."
        )


def _range(partitions: Sequence[int]) -> str:
    return f"only {partitions[0]}" if len(partitions) == 1 else f"{partitions[0]} to {partitions[-1]}"
