"""Where to read a partition on when its offset is missing, or is not one of its log. Asks no broker.

Java: ``AutoOffsetResetStrategy``, and ``FetchCollector.handleInitializeErrors`` for an offset out of range. Java
compares offsets alone; here a topic that was created again is recognized by its id (KIP-516), also when it has more
records than the one before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.log_offsets import LogRange
from connect_dagster.kafka.settings.consumer import reset_duration
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

FirstOffset = Callable[[TopicPartition, float], int | None]
"""Looks up the first offset at or after a time in epoch seconds; ``None`` when there is none."""


class ResetCause(Enum):
    """The reason for which a partition cannot be read on at its position."""

    RECREATED = "the topic was deleted and created again"
    TRUNCATED = "the log ends before"
    REMOVED = "the log begins after"


@dataclass(frozen=True, slots=True)
class Reset:
    """A partition that is read on at another offset.

    Attributes:
        offset: the offset to read next.
        cause: why.
    """

    offset: int
    cause: ResetCause


class OffsetReset:
    """The reset policy of one task.

    Args:
        policy: value of ``auto.offset.reset``.
        first_offset: for ``by_duration``.

    Raises:
        ConfigError: it is not a policy.
    """

    def __init__(self, policy: str, first_offset: FirstOffset) -> None:
        self._policy = policy.strip()
        self._seconds = reset_duration(policy)
        self._first_offset = first_offset

    def begin(self, partition: TopicPartition, committed: int | None, range: LogRange) -> int:
        """Return the offset to begin with.

        Args:
            partition: that was assigned.
            committed: its committed offset; ``None`` for none.
            range: of its log.

        Raises:
            ConnectError: an offset is missing or not in the log, and the policy is ``none``.
        """
        if committed is None:
            if self._policy == "none":
                raise ConnectError(f"Undefined offset with no reset policy for partition {partition}")
            return self._offset(partition, range)
        cause = _cause(committed, range)
        return committed if cause is None else self._reset(partition, committed, range, cause).offset

    def resets(
        self, positions: Mapping[TopicPartition, int], ranges: Mapping[TopicPartition, LogRange], recreated: set[str]
    ) -> dict[TopicPartition, Reset]:
        """Return the partitions that cannot be read on at their positions.

        Args:
            positions: next offset to read of each partition.
            ranges: of their logs.
            recreated: topics that were created again since the positions were determined.

        Raises:
            ConnectError: there is such a partition, and the policy is ``none``.
        """
        found: dict[TopicPartition, Reset] = {}
        for partition, position in positions.items():
            is_new = partition.topic in recreated
            cause = ResetCause.RECREATED if is_new else _cause(position, ranges[partition])
            if cause is not None:
                found[partition] = self._reset(partition, position, ranges[partition], cause)
        return found

    def _reset(self, partition: TopicPartition, offset: int, range: LogRange, cause: ResetCause) -> Reset:
        text = f"Cannot read {partition} at offset {offset}, its log is {range.start} to {range.end}: {cause.value}"
        if self._policy == "none":
            raise ConnectError(f"{text}, and auto.offset.reset is none")
        begin = self._offset(partition, range)
        log.warning("%s; reading on at offset %d (auto.offset.reset=%s)", text, begin, self._policy)
        return Reset(begin, cause)

    def _offset(self, partition: TopicPartition, range: LogRange) -> int:
        if self._seconds is None:
            return range.start if self._policy == "earliest" else range.end
        found = self._first_offset(partition, time.time() - self._seconds)
        return range.end if found is None else found


def _cause(offset: int, range: LogRange) -> ResetCause | None:
    """Return why an offset is not in the log; ``None`` when it is."""
    if offset > range.end:
        return ResetCause.TRUNCATED
    return ResetCause.REMOVED if offset < range.start else None
