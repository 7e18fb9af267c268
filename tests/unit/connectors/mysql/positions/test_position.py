"""Positions and their source offsets, as Debezium writes and compares them."""

import json
from typing import Any

import pytest

from connect_dagster.connectors.mysql.positions.position import Position, SnapshotType, source_partition
from connect_dagster.errors import ConnectError, DataError

SOURCE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
FILE, SECOND = "binlog.000003", 1_700_000_000

OFFSETS = {
    "snapshot running": (
        Position(FILE, 157, f"{SOURCE}:1-77", timestamp=SECOND, snapshot=SnapshotType.INITIAL),
        '{"ts_sec":1700000000,"file":"binlog.000003","pos":157,"gtids":"GTIDS:1-77","snapshot":"INITIAL"}'.replace(
            "GTIDS", SOURCE
        ),
    ),
    "between transactions": (
        Position(FILE, 986, f"{SOURCE}:1-78", server_id=1, timestamp=SECOND),
        '{"ts_sec":1700000000,"file":"binlog.000003","pos":986,"gtids":"GTIDS:1-78","server_id":1}'.replace(
            "GTIDS", SOURCE
        ),
    ),
    "inside a transaction": (
        Position(FILE, 501, f"{SOURCE}:1-77", events=2, rows=5, server_id=1, timestamp=SECOND),
        '{"ts_sec":1700000000,"file":"binlog.000003","pos":501,'
        f'"gtids":"{SOURCE}:1-77",'
        '"server_id":1,"event":2,"row":5}',
    ),
    "mariadb": (
        Position(FILE, 986, "0-1-4711,1-1-12", server_id=1, timestamp=SECOND),
        '{"ts_sec":1700000000,"file":"binlog.000003","pos":986,"gtids":"0-1-4711,1-1-12","server_id":1}',
    ),
    "without gtids": (Position(FILE, 4), '{"file":"binlog.000003","pos":4}'),
    "with transaction metadata": (
        Position(
            FILE,
            986,
            server_id=1,
            others=(
                ("transaction_id", "file=binlog.000003,pos=501"),
                ("transaction_data_collection_order_ops.goods", 3),
            ),
        ),
        '{"file":"binlog.000003","pos":986,"server_id":1,"transaction_id":"file=binlog.000003,pos=501",'
        '"transaction_data_collection_order_ops.goods":3}',
    ),
}


@pytest.mark.parametrize("state", OFFSETS)
def test_offsets(state: str) -> None:
    position, text = OFFSETS[state]
    assert json.dumps(position.offset(), separators=(",", ":")) == text
    assert Position.of(json.loads(text)) == position


@pytest.mark.parametrize(
    ("value", "snapshot"), [(True, SnapshotType.INITIAL), ("true", SnapshotType.INITIAL), (False, None)]
)
def test_offsets_of_1_x(value: Any, snapshot: SnapshotType | None) -> None:
    found = Position.of({"transaction_id": None, "file": FILE, "pos": 157, "snapshot": value})
    assert (found.snapshot, found.others) == (snapshot, (("transaction_id", None),))


@pytest.mark.parametrize(
    "offset",
    [{}, {"file": FILE}, {"file": 3, "pos": 4}, {"file": FILE, "pos": "x"}, {"file": FILE, "pos": 4, "snapshot": "x"}],
)
def test_offsets_of_something_else(offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match=r"Not an offset of a binary log, which has a file and a pos: \{"):
        Position.of(offset)


def test_partition() -> None:
    assert source_partition("shop") == {"server": "shop"}


def gtids(last: int, **others: Any) -> Position:
    return Position(FILE, 4, f"{SOURCE}:1-{last}", **others)


@pytest.mark.parametrize(
    ("recorded", "other", "expected"),
    [
        (gtids(5), gtids(6), True),
        (gtids(6), gtids(5), False),
        (gtids(5, events=1), gtids(5, events=1), True),
        (gtids(5, events=2), gtids(5, events=1), False),
        (gtids(5), gtids(5, snapshot=SnapshotType.INITIAL), False),
        (gtids(5, snapshot=SnapshotType.INITIAL), gtids(5, snapshot=SnapshotType.INITIAL), True),
        (Position(FILE, 99), gtids(5), True),
        (gtids(5), Position(FILE, 99), False),
        (Position("binlog.9", 5), Position("binlog.10", 4), True),
        (Position(FILE, 5), Position(FILE, 4), False),
        (Position(FILE, 5, events=1, rows=3), Position(FILE, 5, events=2), True),
        (Position(FILE, 5, events=1, rows=3), Position(FILE, 5, events=1, rows=2), False),
        (Position(FILE, 5, events=1, rows=3), Position(FILE, 5, events=1, rows=3), True),
        (Position(FILE, 5, server_id=1, timestamp=7), Position(FILE, 4, server_id=2, timestamp=8), True),
        (Position(FILE, 5, server_id=1, timestamp=9), Position(FILE, 6, server_id=2, timestamp=8), False),
    ],
)
def test_what_was_recorded_before(recorded: Position, other: Position, expected: bool) -> None:
    assert recorded.is_at_or_before(other) is expected


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (
            Position("binlog.1", 4),
            Position("mysql-bin.1", 4),
            "different names cannot be compared: binlog and mysql-bin.1",
        ),
        (Position("binlog.x", 4), Position("binlog.1", 4), "ends with a number: binlog.x"),
        (gtids(5), Position(FILE, 4, "0-1-5"), "GTIDs of MySQL and of MariaDB cannot be compared"),
    ],
)
def test_positions_that_cannot_be_compared(one: Position, other: Position, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        one.is_at_or_before(other)
