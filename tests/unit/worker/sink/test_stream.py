"""The ranges of a sink task's batches: shares of partitions, order, positions."""

import itertools
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.expressions.offset_ranges import OffsetRange, of_tasks, shared_out
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.bytes_bound import Measured
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.stream import OffsetOutOfRangeError, SinkStream

A, B, C = (TopicPartition("t", number) for number in range(3))


class Ranges:
    """A reader whose frames are the ranges themselves."""

    counted = Measured(0, 0)

    def read_counted(self, ranges: list[OffsetRange]) -> Any:
        return ranges

    read = read_counted


def stream(start: dict[TopicPartition, int], most: int) -> SinkStream:
    return SinkStream(cast("CountingReader", Ranges()), start, most, new_consumers=False)


def test_a_batch_goes_from_the_position_to_the_ends() -> None:
    batches = stream({A: 5, B: 0}, 100)
    batch = batches.next({A: 7, B: 0})
    assert batch is not None
    assert (batch.start, batch.end, batch.size, batch.topics) == ({A: 5}, {A: 7}, 2, {"t"})
    assert batches.next({A: 7, B: 0}) is None
    assert cast("Any", batches.next({A: 7, B: 1})).end == {B: 1}


def test_a_partition_whose_end_is_not_known_waits() -> None:
    batches = stream({A: 5, B: 0}, 100)
    assert cast("Any", batches.next({A: 6})).end == {A: 6}
    assert batches.next({}) is None


def test_a_log_that_ends_before_the_position_is_an_error() -> None:
    with pytest.raises(OffsetOutOfRangeError):
        stream({A: 5, B: 0}, 100).next({A: 4, B: 9})


def test_partitions_take_turns_where_a_batch_has_fewer_records_than_there_are_partitions() -> None:
    batches = stream({A: 0, B: 0, C: 0}, 1)
    ends = {A: 2, B: 2, C: 2}
    ranges = [cast("Any", batch).df for batch in iter(lambda: batches.next(ends), None)]
    assert [one.partition for (one,) in ranges] == [A, B, C, A, B, C]


@given(
    st.integers(1, 1000),
    st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 10**12), min_size=1),
)
def test_shares_fill_the_batch_and_exceed_no_backlog(most: int, backlogs: dict[TopicPartition, int]) -> None:
    shares = shared_out(most, backlogs)
    assert all(0 <= shares[one] <= backlog for one, backlog in backlogs.items())
    assert sum(shares.values()) == min(most, sum(backlogs.values()))


@given(st.dictionaries(st.sampled_from([A, B, C]), st.tuples(st.integers(0, 10**6), st.integers(1, 10**5)), min_size=1))
def test_spark_tasks_have_each_offset_once_and_in_order(sizes: dict[TopicPartition, tuple[int, int]]) -> None:
    ranges = [OffsetRange(one, start, start + size) for one, (start, size) in sizes.items()]
    tasks = list(of_tasks(ranges))
    for whole in ranges:
        parts = [one for task in tasks for one in task if one.partition == whole.partition]
        assert parts[0].start == whole.start
        assert parts[-1].end == whole.end
        assert all(before.end == after.start for before, after in itertools.pairwise(parts))
    assert len(tasks) == 1 or sum(one.size for one in ranges) >= 10_000

    assert len(tasks) == 1 or max(one.size for task in tasks for one in task) <= sum(one.size for one in ranges) / 2 + 1


def test_a_large_range_is_shared_by_two_spark_tasks_and_a_small_batch_by_none() -> None:
    assert [len(task) for task in of_tasks([OffsetRange(A, 0, 100_000)])] == [1, 1]
    assert [len(task) for task in of_tasks([OffsetRange(A, 0, 10), OffsetRange(B, 0, 10)])] == [2]
