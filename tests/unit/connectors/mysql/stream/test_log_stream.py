"""Events whose checksums are wrong."""

import logging
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureMode
from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.stream.log_buffer import LogBuffer
from connect_dagster.connectors.mysql.stream.log_stream import LogStream
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import LogReading
from connect_dagster.errors import ConnectError
from connect_dagster.protocol.wire import MalformedBytes
from tests.binlog import event, packet
from tests.unit.connectors.mysql.stream.test_change_tables import INSERT, MAP
from tests.unit.connectors.mysql.stream.test_log_buffer import arriving


def stream(mode: FailureMode, *, damaged: int) -> LogStream:
    """Return a log of three events, of which one was damaged."""
    data, end = [], 4
    for number, (kind, body) in enumerate([MAP, INSERT, (EventType.XID, bytes(8))]):
        end += 19 + len(body) + 4
        content = bytearray(event(kind, body, end=end, checksum=True))
        if number == damaged:
            content[-6] ^= 1
        data.append(packet(bytes(content)))
    buffer = LogBuffer(1000, checksums=True)
    place = Place("log.000001", 4, completed=MySqlGtidSet())
    rule = replace(DEFAULT_RULES.events, mode=mode)
    return LogStream(arriving(b"".join(data)), buffer, place, LogReading(), rule)


def test_a_row_event_that_is_damaged_ends_the_log() -> None:
    with pytest.raises(ConnectError, match=r"CRC32 of the event before log.000001:\d+ is wrong.*failure.handling.mode"):
        stream(FailureMode.FAIL, damaged=1).next(1)


def test_a_row_event_that_is_damaged_may_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    piece = stream(FailureMode.WARN, damaged=1).next(1)
    assert piece is not None
    assert piece.events.type.tolist() == [EventType.TABLE_MAP, EventType.XID]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("damaged", [0, 2])
def test_other_events_may_not(damaged: int) -> None:
    with pytest.raises(ConnectError, match="the binary log is damaged, on the server or on its way"):
        stream(FailureMode.SKIP, damaged=damaged).next(1)


EVENTS = [MAP, INSERT, (EventType.XID, bytes(8))]
SIZES = [19 + len(body) + 4 for _, body in EVENTS]


@given(st.integers(0, 8 * sum(SIZES) - 1))
def test_each_bit_that_is_flipped_is_noticed(bit: int) -> None:
    data, end, at = b"", 4, 0
    for number, (kind, body) in enumerate(EVENTS):
        end += SIZES[number]
        content = bytearray(event(kind, body, end=end, checksum=True))
        if at <= bit // 8 < at + len(content):
            content[bit // 8 - at] ^= 1 << bit % 8
        at += len(content)
        data += packet(bytes(content))
    place = Place("log.000001", 4, completed=MySqlGtidSet())
    log = LogStream(arriving(data), LogBuffer(1000, checksums=True), place, LogReading())
    with pytest.raises((ConnectError, MalformedBytes)):
        read_to_the_end(log)


def read_to_the_end(log: LogStream) -> None:
    for _ in range(3):
        log.next(1)
