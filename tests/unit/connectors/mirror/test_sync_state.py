"""Which delivered records make an offset sync, beside a model that takes one record after the other."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mirror.records import OffsetSync
from connect_dagster.connectors.mirror.sync_state import (
    MOST_PENDING,
    OffsetSyncQueue,
    PartitionState,
    consecutive,
)
from connect_dagster.connectors.mirror.translation import OffsetSyncStore
from connect_dagster.plugin.records import TopicPartition
from tests.unit.connectors.mirror.deliveries import Pairs, batches, columns, deliveries

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 1)
ALL = 1 << 30


@dataclass
class OneByOne:
    """The rules of a partition, for one record at a time."""

    lag_max: int
    upstream: int = -1
    downstream: int = -1
    last_sync: int = -1
    due: Pairs = field(default_factory=list)
    delayed: tuple[int, int] | None = None

    def deliver(self, upstream: int, downstream: int) -> None:
        if (
            self.last_sync == -1
            or downstream - (self.last_sync + 1) >= self.lag_max
            or upstream != self.upstream + 1
            or downstream < self.downstream
        ):
            self.last_sync = downstream
            self.due.append((upstream, downstream))
            self.delayed = None
        else:
            self.delayed = (upstream, downstream)
        self.upstream, self.downstream = upstream, downstream


@given(deliveries(), st.lists(st.integers(0, 300), max_size=5), st.sampled_from([-5, 0, 1, 2, 10, 100, (1 << 63) - 1]))
def test_vectors_decide_as_record_by_record(pairs: Pairs, cuts: list[int], lag_max: int) -> None:
    state, model = PartitionState(lag_max), OneByOne(lag_max)
    for batch in batches(pairs, cuts):
        before = len(model.due)
        for pair in batch:
            model.deliver(*pair)
        due = state.update(*columns(batch))
        assert [batch[place] for place in due] == model.due[before:]
        assert (state.upstream, state.downstream, state.last_sync) == (
            model.upstream,
            model.downstream,
            model.last_sync,
        )


@given(deliveries(), st.lists(st.integers(0, 300), max_size=5), st.sampled_from([0, 10, 100]))
def test_what_is_pending_and_delayed(pairs: Pairs, cuts: list[int], lag_max: int) -> None:
    queue, model = OffsetSyncQueue(lag_max), OneByOne(lag_max)
    for batch in batches(pairs, cuts):
        model.due.clear()
        for pair in batch:
            model.deliver(*pair)
        queue.delivered(ORDERS, *columns(batch))
        sent = [(one.upstream_offset, one.downstream_offset) for one in queue.take(ALL)]
        assert set(sent) <= set(model.due)
        assert len(sent) == min(len(model.due), MOST_PENDING)
        assert sent[-1:] == model.due[-1:]
    queue.commit()
    assert queue.take(ALL) == ([] if model.delayed is None else [OffsetSync(ORDERS, *model.delayed)])


@pytest.mark.parametrize(
    ("firsts", "counts", "offsets"),
    [([5], [3], [5, 6, 7]), ([5, 100, 2], [1, 0, 2], [5, 2, 3]), ([], [], []), ([9, 10], [1, 1], [9, 10])],
)
def test_offsets_of_runs(firsts: list[int], counts: list[int], offsets: list[int]) -> None:
    assert consecutive(firsts, counts).tolist() == offsets


def test_a_full_run_makes_ten_syncs_from_the_first_to_the_last_due_record() -> None:
    queue = OffsetSyncQueue(100)
    deliver(queue, ORDERS, 1000, 990, 100_000)
    syncs = queue.take(ALL)
    places = [sync.upstream_offset - 1000 for sync in syncs]
    assert (places[0], places[-1], len(places)) == (0, 990 * 101, MOST_PENDING)
    assert {place % 101 for place in places} == {0}
    steps = np.diff(places) // 101
    assert (steps[-1], sorted(steps, reverse=True)) == (1, list(steps))
    assert {sync.upstream_offset - sync.downstream_offset for sync in syncs} == {10}
    queue.commit()
    assert queue.take(ALL) == [OffsetSync(ORDERS, 100_999, 100_989)]
    queue.commit()
    assert queue.take(ALL) == []


@pytest.mark.parametrize("records", [12, 150, 1000, 100_000])
def test_ten_syncs_translate_nearly_as_well_as_all(records: int) -> None:
    queue = OffsetSyncQueue(0)
    chosen, every = (OffsetSyncStore(must_read_to_end=False) for _ in range(2))
    deliver(queue, ORDERS, 0, 0, records)
    for sync in queue.take(ALL):
        chosen.apply(sync)
    for offset in range(records):
        every.apply(OffsetSync(ORDERS, offset, offset))
    for store in (chosen, every):
        store.finish_first_read()
    for lag in (1, 10, records // 2):
        group = records - lag
        assert group - (chosen.translate(ORDERS, group) or 0) <= 3 * lag
        assert group - (every.translate(ORDERS, group) or 0) <= 2 * lag


def test_a_step_back_is_among_the_ten() -> None:
    queue = OffsetSyncQueue(0)
    upstream, downstream = consecutive([500, 0], [500, 500]), consecutive([0, 600], [500, 500])
    queue.delivered(ORDERS, upstream, downstream)
    syncs = queue.take(ALL)
    assert OffsetSync(ORDERS, 0, 600) in syncs
    assert (len(syncs), syncs[-1]) == (10, OffsetSync(ORDERS, 499, 1099))
    # More steps back than places: the last ones count.
    upstream = np.tile(np.array([1, 0]), 50)
    queue.delivered(ORDERS, upstream, consecutive([1100], [100]))
    syncs = queue.take(ALL)
    assert len(syncs) == MOST_PENDING
    assert {sync.downstream_offset for sync in syncs} >= set(range(1183, 1200, 2))


def test_those_that_wait_are_at_most_ten() -> None:
    queue = OffsetSyncQueue(0)
    for batch in range(50):
        deliver(queue, ORDERS, batch * 20, batch * 20, 20)
    waiting = queue.take(ALL)
    assert len(waiting) == MOST_PENDING
    assert (waiting[0], waiting[-1]) == (OffsetSync(ORDERS, 0, 0), OffsetSync(ORDERS, 999, 999))
    assert waiting == sorted(waiting, key=lambda sync: sync.upstream_offset)


def test_no_more_is_taken_than_may_be_in_flight() -> None:
    queue = OffsetSyncQueue(0)
    deliver(queue, ORDERS, 0, 0, 3)
    deliver(queue, PAYMENTS, 0, 10, 2)
    assert queue.take(0) == []
    assert queue.take(2) == [OffsetSync(ORDERS, 0, 0), OffsetSync(ORDERS, 1, 1)]
    assert queue.take(2) == [OffsetSync(ORDERS, 2, 2), OffsetSync(PAYMENTS, 0, 10)]
    assert queue.take(2) == [OffsetSync(PAYMENTS, 1, 11)]
    assert queue.take(2) == []


def test_a_due_record_replaces_a_delayed_one_and_a_commit_sends_the_rest() -> None:
    queue = OffsetSyncQueue(100)
    deliver(queue, ORDERS, 0, 0, 5)
    deliver(queue, PAYMENTS, 7, 7, 2)
    assert queue.take(ALL) == [OffsetSync(ORDERS, 0, 0), OffsetSync(PAYMENTS, 7, 7)]
    deliver(queue, ORDERS, 6, 5, 1)  # a transform dropped the record between
    queue.commit()
    assert queue.take(ALL) == [OffsetSync(ORDERS, 6, 5), OffsetSync(PAYMENTS, 8, 8)]
    queue.delivered(ORDERS, consecutive([], []), consecutive([], []))
    queue.commit()
    assert queue.take(ALL) == []


def deliver(queue: OffsetSyncQueue, partition: TopicPartition, upstream: int, downstream: int, count: int) -> None:
    queue.delivered(partition, consecutive([upstream], [count]), consecutive([downstream], [count]))
