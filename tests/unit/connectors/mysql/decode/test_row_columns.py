"""Row events through the kernels, against rows that are read value by value."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.columns import Reading, decode
from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import Bytes, writable
from connect_dagster.connectors.mysql.decode.row_events import (
    DELETE,
    INSERT,
    UPDATE,
    RowChanges,
    TableMaps,
    row_images,
)
from connect_dagster.connectors.mysql.decode.scan import Events, scan_events
from connect_dagster.connectors.mysql.decode.table_map import ColumnType, StoredColumn
from connect_dagster.errors import DataError
from connect_dagster.protocol.wire import MalformedBytes
from tests import binlog
from tests.binlog import ABSENT, event, rows_event, table_map

LABELS = ("red", "별", "blue")
PLAIN = Reading()


def unscaled(scale: int) -> Callable[[Decimal], bytes]:
    def expected(value: Decimal) -> bytes:
        number = int(value.scaleb(scale, binlog._WIDE))
        bits = (number if number >= 0 else ~number).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return expected


def micros(value: tuple[int, ...]) -> int | None:
    if 0 in value[:3]:
        return None
    year, month, day, hour, minute, second, micro = value
    moment = datetime.datetime(year, month, day, hour, minute, second, micro)
    return (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def zoned(digits: int) -> Callable[[int], str | None]:
    def expected(value: int) -> str | None:
        if not value:
            return None
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)
        point = f".{moment.microsecond:06}"[: digits + 1] if digits else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}{point}Z"

    return expected


def days(value: tuple[int, int, int]) -> int | None:
    return None if 0 in value else (datetime.date(*value) - datetime.date(1970, 1, 1)).days


def unit(digits: int) -> int:
    return int(10 ** (6 - digits))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda number: Decimal(number).scaleb(-scale, binlog._WIDE))


def datetimes(digits: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.datetimes().map(lambda value: (*value.timetuple()[:6], value.microsecond // unit(digits) * unit(digits)))


def rounded(low: int, high: int, digits: int) -> st.SearchStrategy[int]:
    return st.integers(low, high).map(lambda value: value * unit(digits))


@dataclass(frozen=True)
class Kind:
    column: binlog.Column
    values: st.SearchStrategy[Any]
    reading: Reading = PLAIN
    expected: Callable[[Any], Any] = lambda value: value


def ranged(width: int, *, signed: bool) -> st.SearchStrategy[int]:
    return (
        st.integers(-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1) if signed else st.integers(0, (1 << 8 * width) - 1)
    )


INTEGERS = {"tiny": (1, 1), "short": (2, 2), "int24": (9, 3), "long": (3, 4), "longlong": (8, 8)}
PARTS = st.tuples(st.integers(1, 9999), st.integers(0, 12), st.integers(0, 28))
KINDS = {
    **{
        name: Kind(binlog.integer(code, width, signed=True), ranged(width, signed=True))
        for name, (code, width) in INTEGERS.items()
    },
    **{
        f"{name} unsigned": Kind(
            binlog.integer(code, width, signed=False),
            ranged(width, signed=False),
            Reading(unsigned=True),
            lambda value: value if value < 1 << 63 else value - (1 << 64),
        )
        for name, (code, width) in INTEGERS.items()
    },
    "year": Kind(binlog.integer(13, 1, signed=False), ranged(1, signed=False), expected=lambda v: v and v + 1900),
    "float": Kind(binlog.floating(4, "<f"), st.floats(width=32, allow_nan=False)),
    "double": Kind(binlog.floating(5, "<d"), st.floats(allow_nan=False)),
    "boolean": Kind(binlog.bit(1), st.integers(0, 1), expected=bool),
    "bits": Kind(binlog.bit(12), st.integers(0, 4095), expected=lambda value: value.to_bytes(2, "little")),
    **{
        f"decimal({precision},{scale})": Kind(
            binlog.decimal(precision, scale), decimals(precision, scale), expected=unscaled(scale)
        )
        for precision, scale in [(1, 0), (9, 9), (10, 2), (18, 9), (19, 0), (30, 30), (38, 10), (65, 30)]
    },
    **{
        f"decimal({precision},{scale}) as text": Kind(
            binlog.decimal(precision, scale),
            decimals(precision, scale),
            Reading(decimals_as_text=True),
            lambda value: f"{value:f}",
        )
        for precision, scale in [(1, 0), (5, 5), (10, 2), (65, 30)]
    },
    "date": Kind(binlog.date(), PARTS, expected=days),
    **{
        f"datetime({digits})": Kind(
            binlog.datetime2(digits),
            datetimes(digits) | PARTS.map(lambda value: (*value, 0, 0, 0, 0)),
            expected=micros,
        )
        for digits in (0, 1, 3, 6)
    },
    **{
        f"timestamp({digits})": Kind(
            binlog.timestamp2(digits),
            rounded(0, (1 << 32) * 10**digits - 1, digits),
            expected=zoned(digits),
        )
        for digits in (0, 1, 3, 6)
    },
    **{
        f"time({digits})": Kind(
            binlog.time2(digits),
            rounded(-838 * 3600 * 10**digits, 838 * 3600 * 10**digits, digits),
        )
        for digits in (0, 1, 3, 6)
    },
    "varchar": Kind(
        binlog.varchar(80),
        st.text(max_size=9).map(str.encode),
        Reading(charset="utf8mb4"),
        lambda value: value.decode(),
    ),
    "long varchar": Kind(
        binlog.varchar(300),
        st.binary(max_size=9),
        Reading(charset="latin1"),
        lambda value: value.decode("cp1252", "replace"),
    ),
    "broken utf-8": Kind(
        binlog.varchar(300),
        st.binary(max_size=9),
        Reading(charset="utf8mb3"),
        lambda value: value.decode(errors="replace"),
    ),
    "char": Kind(binlog.char(400), st.text(max_size=9).map(str.encode), Reading(charset="utf8mb4"), bytes.decode),
    "binary": Kind(binlog.char(12), st.binary(max_size=12), expected=lambda value: value.ljust(12, b"\0")),
    "varbinary": Kind(binlog.varchar(12), st.binary(max_size=12)),
    "blob": Kind(binlog.prefixed(252, b"\4", 4), st.binary(max_size=300)),
    "text": Kind(binlog.prefixed(252, b"\2", 2), st.just("별".encode()), Reading(charset="utf8mb4"), bytes.decode),
    "geometry": Kind(binlog.prefixed(255, b"\4", 4), st.binary(max_size=30)),
    "enum": Kind(
        binlog.enum(1),
        st.integers(0, 4),
        Reading(charset="utf8mb4", labels=LABELS),
        lambda value: ["", *LABELS, None][value],
    ),
    "set": Kind(
        binlog.set_(1),
        st.integers(0, 7),
        Reading(charset="utf8mb4", labels=LABELS),
        lambda value: ",".join(label for bit, label in enumerate(LABELS) if value >> bit & 1),
    ),
}
"""Every type that the kernels decode, but JSON, which has tests of its own."""


def scanned(*events: tuple[EventType, bytes]) -> tuple[Bytes, Events]:
    buffer = writable(b"".join(event(kind, body) for kind, body in events))
    return buffer, scan_events(buffer)


def decoded(buffer: Bytes, events: Events, kinds: list[Kind]) -> list[list[Any]]:
    """Return the images of all events of the one table, as rows."""
    (group,) = TableMaps().groups(buffer, events)
    images = row_images(buffer, events, group)
    arrays = []
    for place, kind in enumerate(kinds):
        values = decode(buffer, images.cells[place], group.table.columns[place], kind.reading).values
        values.validate(full=True)
        arrays.append(values.to_pylist())
    return [list(row) for row in zip(*arrays, strict=True)]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_column_of_each_type(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    values = data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=9))
    body = rows_event(EventType.WRITE_ROWS, 1, [kind.column], [[value] for value in values])
    assert binlog.read_rows(EventType.WRITE_ROWS, body, [kind.column]) == [[value] for value in values]
    buffer, events = scanned((EventType.TABLE_MAP, table_map(1, [kind.column])), (EventType.WRITE_ROWS, body))
    expected = [[None if value is None else kind.expected(value)] for value in values]
    assert decoded(buffer, events, [kind]) == expected


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_tables_and_rows_by_chance(data: st.DataObject) -> None:
    """Tables of any types, rows of all operations in both versions, with absent cells."""
    kinds = [KINDS[name] for name in data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=20))]
    types = [kind.column for kind in kinds]
    written = [(EventType.TABLE_MAP, table_map(1, types))]
    expected = []
    for _ in range(data.draw(st.integers(1, 4))):
        operation = data.draw(st.sampled_from([EventType.WRITE_ROWS, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS]))
        halves = 2 if operation is EventType.UPDATE_ROWS_V1 else 1
        absent = [data.draw(st.sets(st.integers(0, len(kinds) - 1), max_size=len(kinds) - 1)) for _ in range(halves)]
        images = [
            [ABSENT if at in absent[half] else data.draw(st.none() | kind.values) for at, kind in enumerate(kinds)]
            for _ in range(data.draw(st.integers(1, 3)))
            for half in range(halves)
        ]
        body = rows_event(operation, 1, types, images)
        written.append((operation, body))
        expected += binlog.read_rows(operation, body, types)
    plain = [
        [
            None if cell is None or cell is ABSENT else kind.expected(cell)
            for cell, kind in zip(image, kinds, strict=True)
        ]
        for image in expected
    ]
    buffer, events = scanned(*written)
    assert decoded(buffer, events, kinds) == plain


def test_images_of_all_operations() -> None:
    column = KINDS["tiny"].column
    rows = [
        (EventType.WRITE_ROWS, [[1], [2]]),
        (EventType.UPDATE_ROWS, [[1], [11], [2], [12]]),
        (EventType.DELETE_ROWS_V1, [[11]]),
        (EventType.UPDATE_ROWS_V1, [[12], [13]]),
    ]
    buffer, events = scanned(
        (EventType.TABLE_MAP, table_map(1, [column])),
        *((kind, rows_event(kind, 1, [column], images)) for kind, images in rows),
    )
    (group,) = TableMaps().groups(buffer, events)
    images = row_images(buffer, events, group)
    assert images.event.tolist() == [1, 1, 2, 2, 2, 2, 3, 4, 4]
    assert images.row.tolist() == [0, 1, 0, 0, 1, 1, 0, 0, 0]
    changes = RowChanges.of(images)
    assert changes.operation.tolist() == [INSERT, INSERT, UPDATE, UPDATE, DELETE, UPDATE]
    assert changes.before.tolist() == [-1, -1, 2, 4, 6, 7]
    assert changes.after.tolist() == [0, 1, 3, 5, -1, 8]


def test_absent_is_not_null() -> None:
    tiny = KINDS["tiny"].column
    images = [[1, ABSENT], [ABSENT, None]]
    buffer, events = scanned(
        (EventType.TABLE_MAP, table_map(1, [tiny, tiny])),
        (EventType.UPDATE_ROWS, rows_event(EventType.UPDATE_ROWS, 1, [tiny, tiny], images, extra=b"abc")),
    )
    (group,) = TableMaps().groups(buffer, events)
    found = row_images(buffer, events, group)
    assert (found.absent(0).tolist(), found.absent(1).tolist()) == ([False, True], [True, False])


def test_more_rows_than_expected_of_their_size() -> None:
    kinds = [KINDS["decimal(65,30)"]] * 3
    body = rows_event(EventType.WRITE_ROWS, 1, [kind.column for kind in kinds], [[None] * 3] * 500)
    buffer, events = scanned(
        (EventType.TABLE_MAP, table_map(1, [kind.column for kind in kinds])), (EventType.WRITE_ROWS, body)
    )
    assert decoded(buffer, events, kinds) == [[None] * 3] * 500


@pytest.mark.parametrize("count", [8, 9, 251, 300])
def test_tables_with_many_columns(count: int) -> None:
    kinds = [KINDS["tiny"]] * count
    types = [kind.column for kind in kinds]
    image = [place % 100 for place in range(count)]
    body = rows_event(EventType.WRITE_ROWS_V1, 1, types, [image, [None] * count])
    buffer, events = scanned((EventType.TABLE_MAP, table_map(1, types)), (EventType.WRITE_ROWS_V1, body))
    assert decoded(buffer, events, kinds) == [image, [None] * count]


def test_tables_change_between_their_events() -> None:
    tiny, short = KINDS["tiny"].column, KINDS["short"].column
    one, two = (rows_event(EventType.WRITE_ROWS, 1, [column], [[5]]) for column in (tiny, short))
    other = rows_event(EventType.WRITE_ROWS, 2, [short], [[7]])
    buffer, events = scanned(
        (EventType.TABLE_MAP, table_map(1, [tiny])),
        (EventType.TABLE_MAP, table_map(2, [short], name="other")),
        (EventType.WRITE_ROWS, one),
        (EventType.WRITE_ROWS, other),
        (EventType.TABLE_MAP, table_map(1, [tiny])),
        (EventType.WRITE_ROWS, one),
        (EventType.TABLE_MAP, table_map(1, [short])),
        (EventType.WRITE_ROWS, two),
    )
    tables = TableMaps()
    groups = tables.groups(buffer, events)
    assert [(group.table.name, group.events.tolist()) for group in groups] == [
        ("goods", [2, 5]),
        ("other", [3]),
        ("goods", [7]),
    ]
    later, events = scanned((EventType.WRITE_ROWS, two))
    (group,) = tables.groups(later, events)
    assert group.table.columns == groups[2].table.columns
    tables.clear()
    with pytest.raises(MalformedBytes, match="rows of table 1, which no TABLE_MAP announced"):
        tables.groups(later, events)


def test_an_event_that_only_ends_a_statement() -> None:
    buffer, events = scanned((EventType.WRITE_ROWS, (0xFFFFFF).to_bytes(6, "little") + b"\1\0\2\0\0"))
    assert TableMaps().groups(buffer, events) == []


def test_updates_of_parts_of_json_are_not_left_out() -> None:
    buffer, events = scanned((EventType.PARTIAL_UPDATE_ROWS, bytes(20)))
    with pytest.raises(DataError, match="binlog_row_value_options must be empty"):
        TableMaps().groups(buffer, events)


@pytest.mark.parametrize(
    ("kind", "name", "images", "cut", "reason"),
    [
        (EventType.WRITE_ROWS, "short", [[1, 2]], 0, "more or fewer columns"),
        (EventType.WRITE_ROWS, "short", [[1]], 1, "beyond its event"),
        (EventType.UPDATE_ROWS, "short", [[1]], 0, "beyond its event"),  # without the row after the change
        (EventType.WRITE_ROWS, "blob", [[b"abc"]], 1, "beyond its event"),
    ],
)
def test_events_that_are_not_what_their_table_says(
    kind: EventType, name: str, images: list[list[Any]], cut: int, reason: str
) -> None:
    column = KINDS[name].column
    body = rows_event(kind, 1, [column] * len(images[0]), images)
    announced = (EventType.TABLE_MAP, table_map(1, [column]))
    buffer, events = scanned(announced, (kind, body[: len(body) - cut]), (EventType.XID, bytes(8)))
    (group,) = TableMaps().groups(buffer, events)
    with pytest.raises(MalformedBytes, match=reason):
        row_images(buffer, events, group)


@pytest.mark.parametrize("name", ["decimal(10,2)", "blob", "varchar", "timestamp(6)", "longlong"])
def test_bytes_that_end_are_never_read_beyond(name: str) -> None:
    kind = KINDS[name]
    stored = kind.column
    buffer, events = scanned((EventType.TABLE_MAP, table_map(1, [stored])), (EventType.WRITE_ROWS, bytes(13)))
    column = TableMaps()._table(events.body_bytes(buffer, 0)).columns[0]
    cut = np.full(2, 255, np.uint8)
    with pytest.raises(IndexError):
        decode(cut, np.array([1], np.int32), column, kind.reading)


def test_dates_that_no_calendar_has() -> None:
    kinds = [KINDS["date"], KINDS["datetime(3)"]]
    types = [kind.column for kind in kinds]
    images = [[(2020, 2, 29), (2020, 2, 29, 0, 0, 0, 0)], [(2021, 2, 29), (2021, 4, 31, 0, 0, 0, 0)]]
    body = rows_event(EventType.WRITE_ROWS, 1, types, images)
    buffer, events = scanned((EventType.TABLE_MAP, table_map(1, types)), (EventType.WRITE_ROWS, body))
    (group,) = TableMaps().groups(buffer, events)
    cells = row_images(buffer, events, group).cells
    found = [decode(buffer, cells[at], group.table.columns[at], Reading()) for at in range(2)]
    assert [column.impossible for column in found] == [1, 1]
    assert [column.values[1].as_py() for column in found] == [None, None]


def test_values_of_before_mysql_5_6() -> None:
    """Recorded forms: 2013-11-04 10:20:30 as digits, and -01:02:03 as a negative number."""
    types = [binlog.integer(code, width, signed=True) for code, width in ((12, 8), (11, 3), (7, 4))]
    body = rows_event(EventType.WRITE_ROWS_V1, 1, types, [[20131104102030, -10203, 1383560430], [0, 0, 0]])
    buffer, events = scanned((EventType.TABLE_MAP, table_map(1, types)), (EventType.WRITE_ROWS_V1, body))
    assert decoded(buffer, events, [Kind(column, st.none()) for column in types]) == [
        [1383560430_000000, -3723_000000, "2013-11-04T10:20:30Z"],
        [None, 0, None],
    ]


def test_bytes_in_mysqls_comments() -> None:
    """The examples of ``decimal2bin`` and ``my_time_packed_to_binary`` in MySQL's sources."""
    buffer = writable(bytes.fromhex("810DFB38D204D2 7EF204C72DFB2D 7FFFFFFF 7FFFFFF6"))
    decimal = TableMaps()._table(table_map(1, [binlog.decimal(14, 4), binlog.time2(2)])).columns
    texts = decode(buffer, np.array([0, 7], np.int32), decimal[0], Reading(decimals_as_text=True)).values
    assert texts.to_pylist() == ["1234567890.1234", "-1234567890.1234"]
    times = decode(buffer, np.array([14, 18], np.int32), decimal[1], Reading()).values
    assert times.to_pylist() == [-10_000, -100_000]


def test_types_without_a_decoder() -> None:
    column = StoredColumn(ColumnType.NULL)
    with pytest.raises(DataError, match="Columns of type NULL are not supported"):
        decode(np.zeros(1, np.uint8), np.array([0], np.int32), column, Reading())
    text = TableMaps()._table(table_map(1, [binlog.varchar(9)])).columns[0]
    with pytest.raises(DataError, match="No codec is known for MySQL's character set swe7; known are big5"):
        decode(writable(b"\1a"), np.array([0], np.int32), text, Reading(charset="swe7"))


def test_an_array_without_nulls_has_no_bitmap() -> None:
    column = TableMaps()._table(table_map(1, [KINDS["tiny"].column])).columns[0]
    values = decode(writable(b"\7"), np.array([0], np.int32), column, Reading()).values
    assert values.equals(pa.array([7], pa.int64()))
    assert values.buffers()[0] is None
