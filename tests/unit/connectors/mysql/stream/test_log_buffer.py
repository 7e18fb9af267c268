"""Packets as they arrive, however they are cut, and the events in them."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.stream.log_buffer import LogBuffer, LogChunk, LogEnd
from connect_dagster.errors import RetriableError
from connect_dagster.protocol.wire import MalformedBytes
from tests.binlog import event, packet


def arriving(*parts: bytes) -> Callable[[memoryview, float], int]:
    """Return a receiver to which each part comes after a wait."""
    waiting = [bytearray(part) for part in parts]

    def receive(room: memoryview, wait: float) -> int:
        while waiting and not waiting[0] and wait:
            waiting.pop(0)
        if not waiting:
            return 0
        taken = waiting[0][: len(room)]
        room[: len(taken)] = taken
        del waiting[0][: len(taken)]
        return len(taken)

    return receive


def read_all(buffer: LogBuffer, receive: Callable[[memoryview, float], int], looks: int) -> list[bytes | LogEnd]:
    found: list[bytes | LogEnd] = []
    for _ in range(looks):
        one = buffer.next(receive, 1)
        if isinstance(one, LogChunk):
            found += [one.events.body_bytes(one.buffer, at) for at in range(len(one.events))]
        elif one is not None:
            return [*found, one]
    return found


BODIES = [b"a" * size for size in (8, 9, 100, 3, 0, 40)]
LOG = b"".join(packet(event(EventType.XID, body, checksum=True), at) for at, body in enumerate(BODIES))


@given(st.lists(st.integers(1, len(LOG) - 1)), st.integers(24, 400))
def test_a_log_that_comes_in_parts(cuts: list[int], size: int) -> None:
    edges = [0, *sorted(cuts), len(LOG)]
    parts = [LOG[start:end] for start, end in itertools.pairwise(edges)]
    assert read_all(LogBuffer(size, checksums=True), arriving(*parts), 300) == BODIES


def test_nothing_that_comes() -> None:
    assert LogBuffer(100, checksums=False).next(arriving(), 1) is None


@settings(max_examples=5)
@given(st.sampled_from([0xFFFFFF - 1, 2 * 0xFFFFFF - 1, 0xFFFFFF + 1000]), st.integers(1, 5_000_000))
def test_an_event_of_several_packets(size: int, cut: int) -> None:
    content = event(EventType.WRITE_ROWS, bytes(8) + b"x" * (size - 19 - 8))
    marked = b"\0" + content
    pieces = [marked[at : at + 0xFFFFFF] for at in range(0, len(marked) + 1, 0xFFFFFF)]
    log = b"".join(len(one).to_bytes(3, "little") + b"\0" + one for one in pieces)
    after = packet(event(EventType.XID, b"after"))
    receive = arriving(log[:cut], log[cut:] + after)
    found = read_all(LogBuffer(1 << 20, checksums=False), receive, 100)
    assert [len(one) if isinstance(one, bytes) else one for one in found] == [size - 19, 5]
    assert found[1] == b"after"


def test_an_end() -> None:
    error = b"\xff\xd4\x04#HY000purged"
    log = LOG + len(error).to_bytes(3, "little") + b"\1" + error
    assert read_all(LogBuffer(500, checksums=True), arriving(log), 5) == [*BODIES, LogEnd(error)]


def test_an_end_that_comes_with_the_end_of_the_connection() -> None:
    error = b"\xff\xd4\x04#HY000another replica"
    arrived = arriving(len(error).to_bytes(3, "little") + b"\1" + error)

    def receive(room: memoryview, wait: float) -> int:
        count = arrived(room, wait)
        if not count:
            raise RetriableError("closed")
        return count

    buffer = LogBuffer(500, checksums=True)
    assert buffer.next(receive, 1) == LogEnd(error)
    with pytest.raises(RetriableError, match="closed"):
        LogBuffer(500, checksums=True).next(receive, 1)


def test_an_event_that_is_shorter_than_its_header() -> None:
    buffer = LogBuffer(500, checksums=False)
    with pytest.raises(MalformedBytes, match="an event that is not whole"):
        read_all(buffer, arriving(packet(b"abc")), 2)


def test_a_format_ends_a_chunk() -> None:
    log = packet(event(EventType.FORMAT_DESCRIPTION, b"f" * 30)) + packet(event(EventType.XID, b"x"))
    buffer = LogBuffer(500, checksums=False)
    receive = arriving(log)
    first, second = buffer.next(receive, 1), buffer.next(receive, 1)
    assert isinstance(first, LogChunk)
    assert isinstance(second, LogChunk)
    assert [one.events.type.tolist() for one in (first, second)] == [[EventType.FORMAT_DESCRIPTION], [EventType.XID]]
