"""Events that are read one by one, from bytes that servers wrote and that the manuals print."""

from uuid import UUID

import pytest

from connect_dagster.connectors.mysql.decode import events, scan
from connect_dagster.connectors.mysql.decode.events import (
    EventHeader,
    EventType,
    FormatDescription,
    Gtid,
    MariaDbGtid,
    Query,
    Rotate,
)
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.scan import Stop
from connect_dagster.protocol.wire import MalformedBytes
from tests.binlog import event, packet

SOURCE = "24bc7850-2c16-11e6-a073-0242ac110002"
GTID_START = bytes([1]) + UUID(SOURCE).bytes + (77).to_bytes(8, "little")
LOGICAL = b"\2" + bytes(16)


def format_description(server: str, algorithm: int) -> bytes:
    return b"\4\0" + server.encode().ljust(50, b"\0") + bytes(4) + b"\x13" + bytes(40) + bytes([algorithm])


def test_header() -> None:
    written = event(EventType.XID, b"\1\0\0\0\0\0\0\0", timestamp=1_700_000_000, server_id=7, end=986)
    assert EventHeader.parse(written) == EventHeader(1_700_000_000, EventType.XID, 7, 27, 986, 0)


def test_a_header_that_claims_more_than_there_is() -> None:
    with pytest.raises(MalformedBytes, match="an event of 27 bytes, 26 are there"):
        EventHeader.parse(event(EventType.XID, bytes(8))[:-1])


def test_checksum() -> None:
    written = event(EventType.XID, bytes(8), checksum=True)
    events.verify_checksum(written)
    with pytest.raises(MalformedBytes, match=r"the CRC32 is 0x\w+, the event says 0x\w+"):
        events.verify_checksum(written[:20] + b"\xff" + written[21:])


@pytest.mark.parametrize(
    ("server", "algorithm", "checksums"),
    [
        ("8.0.31", 1, True),
        ("8.0.31", 0, False),
        ("5.6.24-log", 1, True),
        ("5.5.62", 1, False),  # the last byte is a length there
        ("11.4.5-MariaDB-log", 1, True),
    ],
)
def test_format_description(server: str, algorithm: int, checksums: bool) -> None:
    parsed = FormatDescription.parse(format_description(server, algorithm))
    assert parsed == FormatDescription(4, server, checksums)


def test_an_older_format_is_refused() -> None:
    with pytest.raises(MalformedBytes, match="version 3 where 4 is known"):
        FormatDescription.parse(b"\3" + format_description("4.0.1", 0)[1:])


def test_rotate() -> None:
    assert Rotate.parse((157).to_bytes(8, "little") + b"binlog.000003") == Rotate("binlog.000003", 157)


@pytest.mark.parametrize(
    ("rest", "micros"),
    [
        (b"", None),  # MySQL 5.6
        (LOGICAL, None),  # 5.7
        (LOGICAL + bytes.fromhex("97ef0c253f0b06"), 1_701_215_692_713_879),  # 8.0
        (LOGICAL + bytes.fromhex("97ef0c253f0b86") + (123).to_bytes(7, "little"), 123),  # of a replica
    ],
)
def test_gtid(rest: bytes, micros: int | None) -> None:
    parsed = Gtid.parse(GTID_START + rest)
    assert (str(parsed), parsed.commit_micros) == (f"{SOURCE}:77", micros)


def test_gtid_of_mariadb() -> None:
    parsed = MariaDbGtid.parse(bytes.fromhex("ec1c000000000000 01000000 01") + bytes(6), 3)
    assert (str(parsed), parsed.standalone) == ("1-3-7404", True)


def test_query() -> None:
    body = bytes.fromhex("0c000000 00000000 03 0000 0300") + b"\0\1\2" + b"ops\0" + "DROP TABLE `별`".encode()
    assert Query.parse(body) == Query(12, "ops", "DROP TABLE `별`")


def test_statements_of_row_events() -> None:
    assert events.parse_rows_query(b"\x03INSERT INTO t VALUES (1)") == "INSERT INTO t VALUES (1)"
    assert events.parse_annotate_rows(b"DELETE FROM t") == "DELETE FROM t"


@pytest.mark.parametrize("checksum", [False, True])
def test_scan_of_packets(checksum: bool) -> None:
    table = (258).to_bytes(6, "little") + bytes(4)
    written = [
        event(EventType.QUERY, b"BEGIN", timestamp=5, server_id=9, end=100, checksum=checksum),
        event(EventType.TABLE_MAP, table, end=200, checksum=checksum),
        event(EventType.WRITE_ROWS, table, end=300, checksum=checksum),
        event(EventType.ROWS_QUERY, bytes(20), end=400, checksum=checksum),
    ]
    buffer = writable(b"".join(map(packet, written)))
    found = scan.scan_packets(buffer, 0, len(buffer), checksums=checksum)
    assert (found.end, found.stop) == (len(buffer), Stop.INCOMPLETE)
    assert found.events.type.tolist() == [2, 19, 30, 29]
    assert found.events.table_id.tolist() == [-1, 258, 258, -1]
    assert found.events.rows.tolist() == [False, False, True, False]
    assert found.events.end_position.tolist() == [100, 200, 300, 400]
    assert (found.events.timestamp[0], found.events.server_id[0]) == (5, 9)
    assert found.events.body_bytes(buffer, 0) == b"BEGIN"
    if checksum:
        assert scan.wrong_checksums(buffer, found.events) == []


def test_scan_of_packets_cut_at_every_byte() -> None:
    parts = [packet(event(EventType.XID, bytes(8))), packet(event(EventType.QUERY, b"BEGIN"))]
    buffer = writable(b"".join(parts))
    for end in range(len(buffer) + 1):
        whole = 0 if end < len(parts[0]) else 1 if end < len(buffer) else 2
        found = scan.scan_packets(buffer, 0, end, checksums=False)
        assert (len(found.events), found.end) == (whole, sum(map(len, parts[:whole])))


def test_why_a_scan_of_packets_ends() -> None:
    xid = packet(event(EventType.XID, bytes(8)))
    for last, stop in {
        b"\xff\xff\xff\0\0": Stop.SPLIT,
        b"\5\0\0\7\xfe\0\0\2\0": Stop.ENDED,
        b"\5\0\0\7\0\0\0\2\0": Stop.MALFORMED,
    }.items():
        buffer = writable(xid + last)
        found = scan.scan_packets(buffer, 0, len(buffer), checksums=False)
        assert (len(found.events), found.end, found.stop) == (1, len(xid), stop)


def test_scanned_events_with_another_checksum() -> None:
    sound = packet(event(EventType.FORMAT_DESCRIPTION, bytes(30), checksum=True))
    written = bytearray(packet(event(EventType.XID, bytes(8), checksum=True)))
    written[26] ^= 1
    for part, wrong in ((sound, []), (written, [0])):
        buffer = writable(part)
        found = scan.scan_packets(buffer, 0, len(buffer), checksums=True).events
        assert scan.wrong_checksums(buffer, found) == wrong
