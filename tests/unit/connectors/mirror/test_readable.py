"""Partitions that are read by ranges, and those that are not."""

from connect_dagster.connectors.mirror.source.readable import AGAIN_SECONDS, ReadablePartitions
from connect_dagster.plugin.records import TopicPartition

T, U = TopicPartition("t", 0), TopicPartition("u", 0)
LATER = AGAIN_SECONDS + 1


def placed() -> ReadablePartitions:
    made = ReadablePartitions()
    made.placed([T, U])
    return made


def test_each_partition_is_tried_once() -> None:
    partitions = placed()
    assert partitions.to_try([T], 0.0) == {T}
    partitions.fetched(T)
    assert not partitions.are_untried([T])
    partitions.tried([T], 0.5)
    assert partitions.to_try([T, U], 0.5) == {U}
    assert partitions.excluded == set()


def test_one_that_is_refused_is_excluded_until_a_record_comes() -> None:
    partitions = placed()
    partitions.failed(T, refused=True)
    for now in (0.0, LATER, 2 * LATER):
        assert T in partitions.to_try([T, U], now)
        partitions.tried([T, U], now)
        assert T in partitions.excluded
        assert T in partitions.at_rest(now + LATER), "the consumer goes on to fetch it"
    partitions.fetched(T)
    assert T not in partitions.excluded


def test_one_of_which_nothing_comes_is_tried_twice() -> None:
    partitions = placed()
    partitions.fetched(T)
    assert partitions.to_try([T, U], 0.0) == {U}
    partitions.tried([U], 1.0)
    assert partitions.excluded == partitions.at_rest(2.0) == {U}
    assert partitions.to_try([T, U], 2.0) == set()
    assert partitions.at_rest(1.0 + AGAIN_SECONDS) == set(), "it is to be tried"
    assert partitions.to_try([T, U], LATER) == {U}
    partitions.tried([U], LATER)
    assert partitions.excluded == set()


def test_another_error_does_not_exclude() -> None:
    partitions = placed()
    partitions.failed(T, refused=False)
    assert partitions.to_try([T], 0.0) == set()
    assert partitions.excluded == set()
