"""Records of a consumer in the columns of Spark's Kafka source."""

from dataclasses import dataclass

import pytest

from connect_dagster.kafka.fetched_records import FetchedRecords

LAST = 9_223_372_036_854_775


@dataclass(frozen=True)
class Message:
    """A message with a timestamp, as the client gives it: its type, and milliseconds."""

    stamp: tuple[int, int]

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return self.stamp


@pytest.mark.parametrize(
    ("stamp", "micros"),
    [((1, 1_500), 1_500_000), ((1, 0), 0), ((0, -1), -1_000), ((1, LAST), LAST * 1000), ((1, LAST + 1), LAST * 1000)],
)
def test_timestamps(stamp: tuple[int, int], micros: int) -> None:
    """Failed: a record of a client that counts nanoseconds ended the task, whenever it was read."""
    rows = FetchedRecords.of([Message(stamp)], headers=False).rows
    assert rows.column("timestamp").cast("int64").to_pylist() == [micros]
