"""Compressed transactions of MySQL, and compressed events of MariaDB."""

import zlib

import pyarrow as pa
import pytest

from connect_dagster.connectors.mysql.decode.events import EventType, Query
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.payloads import (
    expanded,
    transaction_content,
    uncompressed,
)
from connect_dagster.connectors.mysql.decode.row_events import TableMaps, row_images
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.protocol.wire import MalformedBytes
from tests import binlog
from tests.binlog import event, field, rows_event, table_map

SHORT = binlog.integer(2, 2, signed=True)
CONTENT = event(EventType.TABLE_MAP, table_map(1, [SHORT])) + event(EventType.XID, bytes(8))
COMPRESSED_KINDS = {
    EventType.WRITE_ROWS_V1: EventType.WRITE_ROWS_COMPRESSED_V1,
    EventType.UPDATE_ROWS_V1: EventType.UPDATE_ROWS_COMPRESSED_V1,
    EventType.DELETE_ROWS: EventType.DELETE_ROWS_COMPRESSED,
}


def payload(content: bytes, compression: int, size: int) -> bytes:
    numbers = {2: compression, 3: size, 1: len(content)}
    return b"".join(field(kind, binlog.length(number)) for kind, number in numbers.items()) + b"\0" + content


def mariadb_record(content: bytes, size: int = 2) -> bytes:
    return bytes([0x80 | size]) + len(content).to_bytes(size, "big") + zlib.compress(content)


@pytest.mark.parametrize("compression", [0, 255])
def test_a_transaction(compression: int) -> None:
    content = CONTENT if compression else pa.compress(CONTENT, codec="zstd", asbytes=True)
    body = payload(content, compression, len(CONTENT))
    packed = event(EventType.TRANSACTION_PAYLOAD, body, end=986)
    written = writable(event(EventType.GTID, b"g") + packed + packed + event(EventType.QUERY, b"q"))
    buffer, events = expanded(written, scan_events(written))
    inner = [EventType.TABLE_MAP, EventType.XID]
    assert events.type.tolist() == [EventType.GTID, *inner, *inner, EventType.QUERY]
    assert events.end_position.tolist()[1:5] == [986] * 4
    assert events.position.tolist()[1:5] == [986 - len(packed)] * 4
    assert [events.body_bytes(buffer, at) for at in (0, 1, 3, 5)] == [b"g", *2 * [table_map(1, [SHORT])], b"q"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (payload(CONTENT, 1, 10), r"compressed by algorithm 1, known is 0 \(zstd\)"),
        (payload(b"abc", 0, 10), "that zstd does not decompress"),
        (payload(CONTENT[:-1], 255, 10), "an event that is not whole"),
        (payload(CONTENT, 255, 10)[:5], "bytes were expected"),
    ],
)
def test_transactions_that_are_broken(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytes, match=reason):
        scan_events(writable(transaction_content(body)))


@pytest.mark.parametrize("kind", COMPRESSED_KINDS)
def test_row_events_of_mariadb(kind: EventType) -> None:
    body = rows_event(kind, 1, [SHORT], [[1], [2]])
    rows = 6  # two images of a byte of nulls and a number
    written = body[:-rows] + mariadb_record(body[-rows:])
    buffer = writable(CONTENT + event(COMPRESSED_KINDS[kind], written) + CONTENT)
    events = scan_events(buffer)
    assert not events.rows.any()
    plain, events = expanded(buffer, events)
    assert events.body_bytes(plain, 2) == body
    (group,) = TableMaps().groups(plain, events)
    assert len(row_images(plain, events, group)) == 2


def test_events_without_compression_stay_where_they_are() -> None:
    buffer = writable(CONTENT)
    events = scan_events(buffer)
    assert expanded(buffer, events) == (buffer, events)


def test_a_query_of_mariadb() -> None:
    start = bytes.fromhex("0c000000 00000000 03 0000 0300") + b"\0\1\2" + b"ops\0"
    written = writable(event(EventType.QUERY_COMPRESSED, start + mariadb_record(b"DROP TABLE t", 1)))
    plain, events = expanded(written, scan_events(written))
    assert events.type.tolist() == [EventType.QUERY]
    assert Query.parse(events.body_bytes(plain, 0)) == Query(12, "ops", "DROP TABLE t")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x01\x05", "begins with 0x1"),
        (b"\x91\x05", "begins with 0x91"),
        (b"\x81\x05abc", "zlib does not decompress"),
        (b"\x81\x05" + zlib.compress(b"abc"), "3 bytes where the event says 5"),
    ],
)
def test_records_of_mariadb_that_are_broken(record: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytes, match=reason):
        uncompressed(record)
