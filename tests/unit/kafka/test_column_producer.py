"""Deliveries that a producer of columns reports, from the brokers that librdkafka has for tests."""

import time
from collections.abc import Iterator, Mapping
from typing import Protocol

import pyarrow as pa
import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import epoch_timestamps
from connect_dagster.kafka.column_producer import ColumnProducer, Delivered

NO_SETTINGS: Mapping[str, object] = {}
ROWS = 1000
TABLE = pa.table({"value": pa.array([b"v"] * ROWS, pa.binary()), "partition": pa.array([0] * ROWS, pa.int32())})

INTERLEAVED = pa.table({"value": [b"v"] * 2 * ROWS * 2, "partition": pa.array([0, 1] * ROWS * 2, pa.int32())})


class Open(Protocol):
    """Opens a producer, with further settings."""

    def __call__(
        self, on_delivered: Delivered | None, settings: Mapping[str, object] = ..., *, keeps_epoch: bool = ...
    ) -> ColumnProducer: ...


@pytest.fixture
def opened() -> Iterator[Open]:
    made: list[ColumnProducer] = []

    def make(
        on_delivered: Delivered | None, settings: Mapping[str, object] = NO_SETTINGS, *, keeps_epoch: bool = False
    ) -> ColumnProducer:
        failed: list[object] = []
        settings = {"test.mock.num.brokers": 1, "bootstrap.servers": "", **settings}
        made.append(
            ColumnProducer(
                settings, lambda *one: failed.append(one), failed.append, on_delivered, keeps_epoch=keeps_epoch
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_flush_ends_with_the_last_delivery(opened: Open) -> None:
    """Failed: librdkafka counts deliveries until they are reported, and waited for all of the time."""
    delivered: list[int] = []
    producer = opened(lambda number, count, partition, offset: delivered.append(count))
    assert list(producer.produce(TABLE, "t", lambda: False)) == []
    began = time.monotonic()
    assert producer.flush(60)
    assert time.monotonic() - began < 30
    assert sum(delivered) == ROWS


def test_a_flush_without_reports(opened: Open) -> None:
    producer = opened(None)
    assert list(producer.produce(TABLE, "t", lambda: False)) == []
    assert producer.flush(60)
    assert producer.flush(0), "nothing is left"


def test_offsets_that_no_broker_has_named_are_not_reported(opened: Open) -> None:
    """Failed: librdkafka counts up from -1001, so that the thousandth record and those after it seemed to have some."""
    delivered: list[int] = []
    producer = opened(lambda number, count, partition, offset: delivered.append(offset), {"acks": 0})
    assert list(producer.produce(INTERLEAVED, "t", lambda: False)) == []
    assert producer.flush(60)
    assert delivered == []


@pytest.mark.parametrize("column", ["timestamp", "headers"])
def test_records_wait_for_room_in_the_queue(opened: Open, column: str) -> None:
    """The loop over records with timestamps or headers goes on where it found the queue full."""
    made = {"timestamp": pa.array([1_700_000_000_000] * ROWS), "headers": [[[{"key": "h", "value": b"v"}]] * ROWS]}
    numbers: list[int] = []
    producer = opened(
        lambda number, count, partition, offset: numbers.extend(range(number, number + count)),
        {"queue.buffering.max.messages": 10, "linger.ms": 0},
    )
    assert list(producer.produce(TABLE.append_column(column, made[column]), "t", lambda: False)) == []
    assert producer.flush(60)
    assert numbers == list(range(ROWS))


def test_records_that_are_too_large_are_named_and_the_others_delivered(opened: Open) -> None:
    sizes = [2000 if row in (0, 7, ROWS - 1) else 1 for row in range(ROWS)]
    stamps = pa.array([1_700_000_000_000] * ROWS)
    table = pa.table({"value": pa.array([b"v" * size for size in sizes], pa.binary()), "timestamp": stamps})
    delivered: list[int] = []
    producer = opened(lambda number, count, partition, offset: delivered.append(count), {"message.max.bytes": 1000})
    refused = list(producer.produce(table, "t", lambda: False))
    assert [(number, error.name()) for number, _, error in refused] == [
        (number, "MSG_SIZE_TOO_LARGE") for number in (0, 7, ROWS - 1)
    ]
    assert producer.flush(60)
    assert sum(delivered) == ROWS - 3


def test_a_full_queue_is_given_up(opened: Open) -> None:
    settings = {"queue.buffering.max.messages": 10, "test.mock.num.brokers": 0, "bootstrap.servers": "127.0.0.1:1"}
    producer = opened(None, settings)
    table = TABLE.append_column("timestamp", pa.array([1_700_000_000_000] * ROWS))
    assert list(producer.produce(table, "t", lambda: True)) == []


AT_EPOCH = TABLE.append_column("timestamp", pa.array([5, 0] * (ROWS // 2), pa.int64()))


def test_timestamp_0_needs_a_producer_for_it(opened: Open) -> None:
    with pytest.raises(ValueError, match="not opened for timestamp 0"):
        list(opened(None).produce(AT_EPOCH, "t", lambda: False))


@pytest.mark.parametrize("is_known", [False, True], ids=["new topic", "known topic"])
def test_a_timestamp_that_is_kept_elsewhere_is_not_written(
    opened: Open, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """The interceptor looks in no field at all: the records must not get another timestamp."""
    monkeypatch.setattr(epoch_timestamps, "_LAST", 0)
    delivered: list[int] = []
    producer = opened(lambda number, count, partition, offset: delivered.append(count), keeps_epoch=True)
    if is_known:
        assert list(producer.produce(TABLE, "t", lambda: False)) == []
        assert producer.flush(60)
        delivered.clear()
    with pytest.raises(ConnectError, match="timestamp 0 cannot be written"):
        list(producer.produce(AT_EPOCH, "t", lambda: False))
    assert producer.flush(60)
    assert sum(delivered) <= ROWS // 2
