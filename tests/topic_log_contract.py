"""The contract of a topic's log, which both the real one and the one of the unit tests keep.

A module of tests imports these functions, and has a fixture `open_log` that opens a started log of one topic.
"""

from collections.abc import Callable

import pytest

from connect_dagster.storage.topic_log import Headers, NotPermittedError, OnRecord, SharedLog, always

SECONDS = 20.0
OpenTestLog = Callable[[OnRecord, Callable[[], bool]], SharedLog]
Pair = tuple[bytes | None, bytes | None]


def heard_of(pairs: list[Pair]) -> OnRecord:
    """Collect keys and values."""

    def take(
        key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        assert timestamp > 0
        assert offset == len(pairs)
        pairs.append((key, value))

    return take


def test_what_is_written_has_been_read(open_log: OpenTestLog) -> None:
    pairs: list[Pair] = []
    log = open_log(heard_of(pairs), always)
    assert log.partitions == [0]
    log.write([(b"a", b"1"), (b"a", None)], SECONDS)
    assert pairs == [(b"a", b"1"), (b"a", None)]


def test_a_log_begins_at_the_beginning_and_reads_what_others_write(open_log: OpenTestLog) -> None:
    first: list[Pair] = []
    second: list[Pair] = []
    writer = open_log(heard_of(first), always)
    writer.append([(b"a", b"1")], SECONDS)
    reader = open_log(heard_of(second), always)
    assert second == [(b"a", b"1")]
    writer.append([(b"b", b"2")], SECONDS)
    reader.read_to_end(SECONDS)
    assert second == [(b"a", b"1"), (b"b", b"2")]


def test_each_record_that_is_sent_is_acknowledged_once(open_log: OpenTestLog) -> None:
    log, errors = open_log(heard_of([]), always), []
    for number in range(3):
        log.send(b"key", str(number).encode(), lambda error, message: errors.append(error))
    assert log.flush(SECONDS)
    assert errors == [None, None, None]


def test_headers_are_read_as_they_were_sent(open_log: OpenTestLog) -> None:
    read: list[list[tuple[str, bytes]]] = []
    log = open_log(lambda *record: read.append(list(record[5])), always)
    log.send(b"a", b"1", headers=[("name", b"17")])
    log.write([(b"a", b"2")], SECONDS)
    assert read == [[("name", b"17")], []]


def test_who_may_not_write_writes_nothing(open_log: OpenTestLog) -> None:
    pairs: list[Pair] = []
    log = open_log(heard_of(pairs), lambda: False)
    writes: tuple[Callable[[], None], ...] = (
        lambda: log.send(b"a", b"1"),
        lambda: log.append([(b"a", b"1")], SECONDS),
        lambda: log.write([(b"a", b"1")], SECONDS),
    )
    for write in writes:
        with pytest.raises(NotPermittedError):
            write()
    log.read_to_end(SECONDS)
    assert pairs == []
