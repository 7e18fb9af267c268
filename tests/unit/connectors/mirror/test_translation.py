"""Offsets of groups in the target cluster: never beyond the truth, and close to it near the end of a topic."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mirror.records import Checkpoint, OffsetSync
from connect_dagster.connectors.mirror.sync_state import OffsetSyncQueue
from connect_dagster.connectors.mirror.translation import (
    SYNCS_PER_PARTITION,
    TOO_OLD,
    CommittedOffset,
    OffsetSyncStore,
    checkpoints_to_emit,
)
from connect_dagster.plugin.records import TopicPartition
from tests.unit.connectors.mirror.deliveries import Pairs, batches, columns, deliveries

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
REMOTE, REMOTE_OTHER = TopicPartition("eu.orders", 0), TopicPartition("eu.orders", 1)


def store_of(*pairs: tuple[int, int], must_read_to_end: bool = False) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=must_read_to_end)
    for pair in pairs:
        store.apply(OffsetSync(ORDERS, *pair))
    store.finish_first_read()
    return store


def kept(store: OffsetSyncStore) -> Pairs:
    """Return each sync of the store once, the newest first."""
    return list(dict.fromkeys((sync.upstream_offset, sync.downstream_offset) for sync in store.syncs(ORDERS)))


@pytest.mark.parametrize(
    ("upstream", "downstream"),
    [(99, TOO_OLD), (100, 200), (101, 201), (149, 201), (150, 240), (151, 241), (10_000, 241)],
)
def test_at_most_one_record_after_the_sync_before(upstream: int, downstream: int) -> None:
    assert store_of((100, 200), (150, 240)).translate(ORDERS, upstream) == downstream


def test_nothing_is_translated_before_the_end_was_read() -> None:
    store = OffsetSyncStore(must_read_to_end=False)
    store.apply(OffsetSync(ORDERS, 100, 200))
    assert store.translate(ORDERS, 100) is None
    store.finish_first_read()
    assert store.translate(ORDERS, 100) == 200
    assert store.translate(OTHER, 100) is None
    assert store.syncs(OTHER) == ()


def test_only_the_last_sync_of_the_first_read_counts_without_checkpoints() -> None:
    store = store_of((100, 200), (150, 240), must_read_to_end=True)
    assert kept(store) == [(150, 240)]
    assert store.translate(ORDERS, 149) == TOO_OLD
    store.apply(OffsetSync(ORDERS, 400, 500))
    assert kept(store) == [(400, 500), (150, 240)]


def test_a_step_back_in_the_source_forgets_all() -> None:
    store = store_of((100, 200), (150, 240), (149, 300))
    assert kept(store) == [(149, 300)]
    assert len(store.syncs(ORDERS)) == SYNCS_PER_PARTITION
    assert store.translate(ORDERS, 148) == TOO_OLD


def test_syncs_are_dense_near_the_end_and_sparse_far_behind_it() -> None:
    store = store_of(*((offset, offset) for offset in range(0, 1_000_001, 100)))
    gaps = [newer - older for (newer, _), (older, _) in pairwise(kept(store))]
    assert gaps[0] == 100
    assert store.translate(ORDERS, 1_000_000 - 1) == 999_901
    assert store.translate(ORDERS, 0) == 0
    assert 10 < len(kept(store)) < SYNCS_PER_PARTITION
    for behind in (1_000, 10_000, 100_000):
        translated = store.translate(ORDERS, 1_000_000 - behind)
        assert translated is not None
        assert 0 <= 1_000_000 - behind - translated <= 2 * behind


_syncs = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 1 << 20)), max_size=60)
_growing = st.lists(st.sampled_from([0, 1, 1, 2, 3, 10, 100, 5000, 1 << 40]), max_size=150)


@given(_growing.map(lambda steps: [(sum(steps[: place + 1]),) * 2 for place in range(len(steps))]) | _syncs)
def test_the_rules_hold_for_each_two_places(pairs: Pairs) -> None:
    store = store_of(*pairs)
    places = store.syncs(ORDERS)
    for newer_place, newer in enumerate(places):
        for older_place, older in enumerate(places[newer_place + 1 :], start=newer_place + 1):
            distance = newer.upstream_offset - older.upstream_offset
            assert newer is older or distance <= (1 << older_place) - (1 << newer_place)
            # A record delivered twice in a row is at once in the first place, as in Java.
            twice = newer_place == 0 and distance == 0
            assert newer is older or twice or distance >= 1 << max(newer_place - 2, 0)
    if pairs:
        assert kept(store)[0] == pairs[-1]
        assert set(kept(store)) <= set(pairs)


@given(
    deliveries(),
    st.lists(st.integers(0, 300), max_size=5),
    st.sampled_from([0, 3, 100]),
    st.integers(0, 12),
    st.booleans(),
)
def test_no_record_is_skipped(pairs: Pairs, cuts: list[int], lag_max: int, in_flight: int, commits: bool) -> None:
    # The target topic is never made again here: offsets of the one before would be beyond the new one's, as in Java.
    pairs = [(upstream, place * 2) for place, (upstream, _) in enumerate(pairs)]
    queue, store = OffsetSyncQueue(lag_max), store_of()
    for batch in batches(pairs, cuts):
        queue.delivered(ORDERS, *columns(batch))
        if commits:
            queue.commit()
        for sync in queue.take(in_flight):
            assert (sync.upstream_offset, sync.downstream_offset) in pairs
            store.apply(sync)
    # What a task has not copied again since it went back comes later.
    back = [place for place, ((before, _), (after, _)) in enumerate(pairwise(pairs), start=1) if after <= before]
    copies = pairs[max(back, default=0) :]
    for position in {upstream + step for upstream, _ in pairs for step in (0, 1)}:
        translated = store.translate(ORDERS, position)
        if translated is not None and translated != TOO_OLD:
            first = min((place for upstream, place in copies if upstream >= position), default=None)
            assert first is None or translated <= first


@given(_syncs, st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_translation_is_monotonic_where_syncs_are(pairs: Pairs, one: int, other: int) -> None:
    store = store_of(*sorted((upstream, upstream // 3) for upstream, _ in pairs))
    first, second = (store.translate(ORDERS, offset) for offset in sorted((one, other)))
    assert first is None or second is None or first <= second


def test_the_checkpoints_of_a_group() -> None:
    store = store_of((100, 200), (150, 240))
    committed = {
        ORDERS: CommittedOffset(150, "by hand"),
        OTHER: CommittedOffset(7),  # without syncs
        TopicPartition("orders", 2): None,
    }
    found = checkpoints_to_emit("billing", committed, store=store, rename="eu.{}".format, emitted={})
    assert found == [Checkpoint("billing", REMOTE, 150, 240, "by hand")]
    too_old = {ORDERS: CommittedOffset(99)}
    assert checkpoints_to_emit("billing", too_old, store=store, rename="eu.{}".format, emitted={}) == []


@pytest.mark.parametrize(
    ("upstream", "last", "emitted"),
    [
        (150, None, True),
        (150, (150, 240), False),
        (160, (150, 240), True),  # on in the target
        (160, (155, 241), False),  # the same in the target
        (150, (155, 241), True),  # back in the source
        (160, (155, 300), False),  # would go back in the target only
    ],
)
def test_a_checkpoint_is_emitted_when_it_is_news(upstream: int, last: tuple[int, int] | None, emitted: bool) -> None:
    known = {} if last is None else {REMOTE: Checkpoint("billing", REMOTE, *last)}
    known[REMOTE_OTHER] = Checkpoint("billing", REMOTE_OTHER, 1, 1 << 40)
    found = checkpoints_to_emit(
        "billing",
        {ORDERS: CommittedOffset(upstream)},
        store=store_of((100, 200), (150, 240)),
        rename="eu.{}".format,
        emitted=known,
    )
    assert bool(found) is emitted
