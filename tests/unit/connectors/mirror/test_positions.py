"""Positions of a source task: what is read next, and where it goes back to."""

from connect_dagster.connectors.mirror.source.positions import Positions
from connect_dagster.plugin.records import TopicPartition

T, U = TopicPartition("t", 0), TopicPartition("u", 0)


def placed() -> Positions:
    positions = Positions({T: 5, U: None})
    assert positions.known() == {}
    positions.place(T, 5)
    positions.place(U, 0)
    return positions


def test_the_partition_that_was_read_last_is_the_last_one() -> None:
    positions = placed()
    assert positions.move({T: 9}) == 0
    assert (positions.partitions, positions.known()) == ([U, T], {U: 0, T: 9})
    assert positions.move({U: 3}) == 1
    assert positions.partitions == [T, U]


def test_a_task_goes_back_to_what_is_delivered() -> None:
    positions = placed()
    first, second = (positions.move(ends) for ends in ({T: 9, U: 4}, {T: 12}))
    positions.deliver(first, {T: 9, U: 4})
    assert second == 1
    positions.rewind()
    assert (positions[T], positions[U]) == (9, 4)
    assert positions.unplaced == {T, U}, "their logs are looked at again"


def test_what_was_never_delivered_is_read_from_where_it_was_placed() -> None:
    positions = placed()
    positions.move({T: 9, U: 4})
    positions.rewind()
    assert (positions[T], positions[U]) == (5, 0)


def test_what_is_delivered_of_a_log_that_is_gone_is_no_position() -> None:
    """Records of the new one would be left out, where it is longer by then."""
    positions = placed()
    old = positions.move({T: 2_000})
    positions.displace([T])
    assert positions.known() == {U: 0}
    positions.place(T, 0)
    new = positions.move({T: 700})
    positions.deliver(old, {T: 2_000})
    positions.rewind()
    assert positions[T] == 0
    positions.deliver(new, {T: 700})
    positions.rewind()
    assert positions[T] == 700
