"""Rows of result sets through the kernels, against rows that are read value by value."""

import datetime
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode import result_kernels
from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.decode.kernels import Bytes, writable
from connect_dagster.connectors.mysql.decode.result_rows import ResultColumn, ResultWalk, decode
from connect_dagster.connectors.mysql.decode.table_map import ColumnType, StoredColumn
from connect_dagster.errors import DataError
from connect_dagster.protocol.wire import MalformedBytes
from tests import result_rows
from tests.result_rows import definition, row, rows

PLAIN = Reading()
TEXT = Reading(charset="latin1")  # whatever a column has: the server sends UTF-8
WIDE = Context(prec=100)
EPOCH = datetime.datetime(1970, 1, 1)


def unscaled(scale: int) -> Callable[[Decimal], bytes]:
    def expected(value: Decimal) -> bytes:
        number = int(value.scaleb(scale, WIDE))
        bits = (number if number >= 0 else ~number).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return expected


def days(value: tuple[int, int, int]) -> int | None:
    return None if 0 in value else (datetime.date(*value) - datetime.date(1970, 1, 1)).days


def micros(value: tuple[int, ...]) -> int | None:
    return None if 0 in value[:3] else (datetime.datetime(*value) - EPOCH) // datetime.timedelta(microseconds=1)  # type: ignore[arg-type]


def zoned(digits: int) -> Callable[[tuple[int, ...]], str | None]:
    def expected(value: tuple[int, ...]) -> str | None:
        moment = datetime.datetime(*value) if any(value) else EPOCH  # type: ignore[arg-type]
        if moment == EPOCH:
            return None
        point = f".{moment.microsecond:06}"[: digits + 1] if digits else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}{point}Z"

    return expected


def unit(digits: int) -> int:
    return int(10 ** (6 - digits))


def moments(digits: int, **bounds: Any) -> st.SearchStrategy[tuple[int, ...]]:
    every = st.datetimes(**bounds)
    whole = every.map(lambda value: value.replace(microsecond=0)) | every
    midnight = every.map(lambda value: value.replace(hour=0, minute=0, second=0, microsecond=0))
    return (whole | midnight).map(
        lambda value: (*value.timetuple()[:6], value.microsecond // unit(digits) * unit(digits))
    )


def rounded(most: int, digits: int) -> st.SearchStrategy[int]:
    return st.integers(-most, most).map(lambda value: value * unit(digits))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda number: Decimal(number).scaleb(-scale, WIDE))


@dataclass(frozen=True)
class Kind:
    column: result_rows.Column
    values: st.SearchStrategy[Any]
    reading: Reading = PLAIN
    expected: Callable[[Any], Any] = lambda value: value


def ranged(width: int, *, signed: bool) -> st.SearchStrategy[int]:
    most = 1 << 8 * width
    return st.integers(-most // 2, most // 2 - 1) if signed else st.integers(0, most - 1)


def wrapped(value: int) -> int:
    return value if value < 1 << 63 else value - (1 << 64)


def little_endian(count: int) -> Callable[[int], bytes]:
    return lambda value: value.to_bytes((count + 7) // 8, "little")


INTEGERS = {"tiny": (1, 1), "short": (2, 2), "int24": (9, 4), "long": (3, 4), "longlong": (8, 8)}
PARTS = st.tuples(st.integers(0, 9999), st.integers(0, 12), st.integers(0, 28))
ANY_TEXT = st.text(max_size=9).map(str.encode)
KINDS = {
    **{
        name: Kind(result_rows.integer(code, width, signed=True), ranged(width, signed=True))
        for name, (code, width) in INTEGERS.items()
    },
    **{
        f"{name} unsigned": Kind(
            result_rows.integer(code, width, signed=False), ranged(width, signed=False), expected=wrapped
        )
        for name, (code, width) in INTEGERS.items()
    },
    "year": Kind(result_rows.integer(13, 2, signed=True), st.just(0) | st.integers(1901, 2155)),
    "float": Kind(result_rows.floating(4, "<f"), st.floats(width=32, allow_nan=False)),
    "double": Kind(result_rows.floating(5, "<d"), st.floats(allow_nan=False)),
    "boolean": Kind(result_rows.bit(1), st.integers(0, 1), expected=bool),
    **{
        f"bit({count})": Kind(result_rows.bit(count), st.integers(0, (1 << count) - 1), expected=little_endian(count))
        for count in (2, 12, 64)
    },
    **{
        f"decimal({precision},{scale})": Kind(
            result_rows.decimal(precision, scale), decimals(precision, scale), Reading(scale=scale), unscaled(scale)
        )
        for precision, scale in [(1, 0), (9, 9), (10, 2), (18, 9), (19, 0), (30, 30), (38, 10), (65, 30)]
    },
    "decimal of fewer digits after the point": Kind(
        result_rows.decimal(20, 3), decimals(20, 3), Reading(scale=30), unscaled(30)
    ),
    "decimal without a point": Kind(result_rows.decimal(20, 0), decimals(20, 0), Reading(scale=2), unscaled(2)),
    **{
        f"decimal({precision},{scale}) as text": Kind(
            result_rows.decimal(precision, scale),
            decimals(precision, scale),
            Reading(decimals_as_text=True),
            lambda value: f"{value:f}",
        )
        for precision, scale in [(1, 0), (5, 5), (10, 2), (65, 30)]
    },
    "date": Kind(result_rows.date(), PARTS, expected=days),
    **{
        f"datetime({digits})": Kind(
            result_rows.datetime(12, digits),
            moments(digits) | PARTS.map(lambda value: (*value, 0, 0, 0, 0)),
            expected=micros,
        )
        for digits in (0, 1, 3, 6)
    },
    **{
        f"timestamp({digits})": Kind(
            result_rows.datetime(7, digits),
            moments(digits, min_value=EPOCH, max_value=datetime.datetime(2106, 2, 7)) | st.just((0,) * 7),
            expected=zoned(digits),
        )
        for digits in (0, 1, 3, 6)
    },
    **{
        f"time({digits})": Kind(
            result_rows.time(digits),
            rounded(839 * 3600 * 10**digits - 1, digits),
        )
        for digits in (0, 1, 3, 6)
    },
    "varchar": Kind(result_rows.encoded(253), ANY_TEXT, TEXT, bytes.decode),
    "broken utf-8": Kind(
        result_rows.encoded(253), st.binary(max_size=9), TEXT, lambda value: value.decode(errors="replace")
    ),
    "char": Kind(result_rows.encoded(254), ANY_TEXT, TEXT, bytes.decode),
    "text": Kind(result_rows.encoded(252), st.integers(0, 70_000).map(lambda size: b"x" * size), TEXT, bytes.decode),
    "enum": Kind(result_rows.encoded(254, flags=0x100), st.sampled_from([b"", "별".encode()]), TEXT, bytes.decode),
    "json": Kind(result_rows.encoded(245), st.sampled_from([b'{"a": [1, 2]}', b"null"]), PLAIN, bytes.decode),
    "binary": Kind(result_rows.encoded(254), st.binary(min_size=12, max_size=12)),
    "blob": Kind(result_rows.encoded(252), st.binary(max_size=300)),
    "geometry": Kind(result_rows.encoded(255), st.binary(max_size=30)),
    "nothing": Kind(result_rows.encoded(6), st.none()),
}
"""Every type of a result set."""


def columns_of(kinds: list[Kind]) -> list[ResultColumn]:
    return [ResultColumn.parse(definition(kind.column)) for kind in kinds]


def decoded(buffer: Bytes, walk: ResultWalk, kinds: list[Kind]) -> list[list[Any]]:
    """Return the rows that a walk has found."""
    cells = walk.take()
    arrays = []
    for place, (column, kind) in enumerate(zip(columns_of(kinds), kinds, strict=True)):
        values = decode(buffer, cells[place], column, kind.reading).values
        values.validate(full=True)
        arrays.append(values.to_pylist())
    return [list(values) for values in zip(*arrays, strict=True)]


def expected(kinds: list[Kind], values: list[list[Any]]) -> list[list[Any]]:
    return [
        [None if cell is None else kind.expected(cell) for cell, kind in zip(each, kinds, strict=True)]
        for each in values
    ]


def walked(kinds: list[Kind], data: bytes, most_rows: int = 1000) -> list[list[Any]]:
    walk, buffer = ResultWalk(columns_of(kinds), most_rows, 0), writable(data)
    walk.advance(buffer, 0, len(buffer))
    return decoded(buffer, walk, kinds)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_column_of_each_type(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    values = [[value] for value in data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=9))]
    for each in values:
        assert result_rows.read_row(row([kind.column], each), [kind.column]) == each
    assert walked([kind], rows([kind.column], values)) == expected([kind], values)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_result_sets_by_chance(data: st.DataObject) -> None:
    kinds = [KINDS[name] for name in data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=20))]
    types = [kind.column for kind in kinds]
    values = [[data.draw(st.none() | kind.values) for kind in kinds] for _ in range(data.draw(st.integers(1, 5)))]
    contents = [row(types, each) for each in values]
    plain = [result_rows.read_row(content, types) for content in contents]
    assert walked(kinds, rows(types, values)) == expected(kinds, plain)


SMALL = [KINDS[name] for name in ("tiny", "varchar", "datetime(6)", "decimal(10,2)", "time(3)", "bit(12)")]
SMALL_ROWS: list[list[Any]] = [
    [-7, "별".encode(), (2024, 2, 29, 1, 2, 3, 4), Decimal("-12.34"), -1_500_000, 0xABC],
    [None, b"", None, None, 0, None],
    [5, b"x" * 300, (0, 0, 0, 0, 0, 0, 0), Decimal("0.00"), None, 1],
]


def test_rows_that_arrive_in_two_parts() -> None:
    """However a buffer is cut, its first part gives the rows that are complete, and waits for the rest."""
    types = [kind.column for kind in SMALL]
    data = writable(rows(types, SMALL_ROWS) + result_rows.end(3))
    ends = [len(rows(types, SMALL_ROWS[:count])) for count in range(4)]
    for cut in range(len(data)):
        walk = ResultWalk(columns_of(SMALL), 10, 0)
        at = walk.advance(data, 0, cut)
        complete = sum(end <= cut for end in ends) - 1
        assert (at, walk.rows, walk.state) == (ends[complete], complete, result_kernels.INCOMPLETE)
        at = walk.advance(data, at, len(data))
        assert (at, walk.rows, walk.state) == (ends[3], 3, result_kernels.ENDED)
        assert decoded(data, walk, SMALL) == expected(SMALL, SMALL_ROWS)


def test_a_buffer_that_ends_is_never_read_beyond() -> None:
    types = [kind.column for kind in SMALL]
    data = rows(types, SMALL_ROWS)
    for cut in range(len(data)):
        buffer = writable(data[:cut])
        walk = ResultWalk(columns_of(SMALL), 10, 0)
        walk.advance(buffer, 0, cut)
        count = walk.rows
        assert decoded(buffer, walk, SMALL) == expected(SMALL, SMALL_ROWS)[:count]


def test_packets_that_are_too_short_or_too_long() -> None:
    """A packet whose size does not fit its row is an error, whatever its size is."""
    types = [kind.column for kind in SMALL]
    content = row(types, SMALL_ROWS[0])
    for size in range(len(content)):
        data = writable(result_rows.packets(content[:size], 0) + bytes(20))
        with pytest.raises(MalformedBytes, match=r"a row beyond its packet|not a row of the binary protocol"):
            ResultWalk(columns_of(SMALL), 10, 0).advance(data, 0, len(data))
    data = writable(result_rows.packets(content + b"\0", 0))
    with pytest.raises(MalformedBytes, match="more bytes than its columns have"):
        ResultWalk(columns_of(SMALL), 10, 0).advance(data, 0, len(data))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_an_error_or_other_values(data: st.DataObject) -> None:
    """Whatever a byte is changed to: no read beyond the buffer, no exception of another kind."""
    types = [kind.column for kind in SMALL]
    buffer = writable(rows(types, SMALL_ROWS))
    buffer[data.draw(st.integers(0, len(buffer) - 1))] = data.draw(st.integers(0, 255))
    walk = ResultWalk(columns_of(SMALL), 10, 0)
    try:
        walk.advance(buffer, 0, len(buffer))
        assert len(decoded(buffer, walk, SMALL)) <= len(SMALL_ROWS)
    except MalformedBytes:
        pass


@settings(max_examples=100, deadline=None)
@given(noise=st.binary(max_size=60))
def test_noise_is_an_error_or_waits(noise: bytes) -> None:
    buffer = writable(noise)
    walk = ResultWalk(columns_of(SMALL), 10, 0)
    try:
        at = walk.advance(buffer, 0, len(buffer))
        decoded(buffer, walk, SMALL)
        assert at <= len(buffer)
    except MalformedBytes:
        pass


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (result_rows.packets(b"\0\0\7", 1), "a packet out of order"),
        (result_rows.packets(b"\0\0\7", 0) + result_rows.packets(b"\0\0\7", 0), "a packet out of order"),
        (result_rows.packets(b"\1\0\7", 0), "not a row of the binary protocol"),
        (result_rows.packets(b"", 0), "not a row of the binary protocol"),
    ],
)
def test_packets_that_no_server_sends(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytes, match=reason):
        ResultWalk(columns_of([KINDS["tiny"]]), 10, 0).advance(writable(data), 0, len(data))


@pytest.mark.parametrize("number", [2, 0])  # the number of the row after, and that of a server that shuts down
def test_an_error_after_rows(number: int) -> None:
    kind = KINDS["tiny"]
    before = rows([kind.column], [[1], [2]])
    data = writable(before + result_rows.error(1317, "Query execution was interrupted", number))
    for cut in range(len(before) + 5, len(data)):
        walk = ResultWalk(columns_of([kind]), 10, 0)
        assert walk.advance(data, 0, cut) == len(before)
        assert walk.state == result_kernels.INCOMPLETE
    walk = ResultWalk(columns_of([kind]), 10, 0)
    assert walk.advance(data, 0, len(data)) == len(before)
    assert (walk.rows, walk.state) == (2, result_kernels.FAILED)


def test_more_rows_than_a_batch_has() -> None:
    kind = KINDS["short"]
    values = [[number] for number in range(700)]  # more than a packet's number counts to
    data = writable(rows([kind.column], values))
    walk, at, found = ResultWalk(columns_of([kind]), 300, 0), 0, []
    while at < len(data):
        at = walk.advance(data, at, len(data))
        found.append(decoded(data, walk, [kind]))
    assert [len(batch) for batch in found] == [300, 300, 100]
    assert [each for batch in found for each in batch] == values


@pytest.mark.parametrize("extra", [-1, 0, 1, 0xFFFFFF])
def test_rows_of_more_than_one_packet(extra: int) -> None:
    """A row whose packet is exactly full is followed by an empty one."""
    kinds = [KINDS["blob"], KINDS["long"]]
    types = [kind.column for kind in kinds]
    overhead = len(row(types, [bytes(0xFFFF), 7])) - 0xFFFF + 1  # a length of three bytes more
    large = bytes(range(256)) * 65536
    size = 0xFFFFFF - overhead + extra
    values: list[list[Any]] = [[b"a", 1], [(large * 2)[:size], 7], [None, 2]]
    contents = [row(types, each) for each in values]
    assert len(contents[1]) == 0xFFFFFF + extra + (5 if size > 0xFFFFFF else 0)
    first = result_rows.packets(contents[0], 254)
    middle = result_rows.packets(contents[1], 255)
    after = 255 + len(contents[1]) // 0xFFFFFF + 1
    data = writable(first + middle + result_rows.packets(contents[2], after & 255))
    walk = ResultWalk(columns_of(kinds), 10, 254)
    assert walk.advance(data, 0, len(first) + len(middle) - 1) == len(first)
    assert walk.advance(data, len(first), len(data)) == len(data)
    blobs, numbers = walk.take()
    assert decode(data, numbers, columns_of(kinds)[1], PLAIN).values.to_pylist() == [1, 7, 2]
    prefix = len(types[0].write(values[1][0])) - size
    assert data[blobs[1] + prefix : blobs[1] + prefix + size].tobytes() == values[1][0]


@pytest.mark.parametrize("count", [5, 6, 7, 8, 251, 300])
def test_result_sets_with_many_columns(count: int) -> None:
    kinds = [KINDS["tiny"]] * count
    values: list[list[Any]] = [[place % 100 if place % 3 else None for place in range(count)], [None] * count]
    assert walked(kinds, rows([kind.column for kind in kinds], values)) == values


def test_dates_that_no_calendar_has() -> None:
    kinds = [KINDS["date"], KINDS["datetime(3)"]]
    values = [[(2020, 2, 29), (2020, 2, 29, 0, 0, 0, 0)], [(2021, 2, 29), (2021, 4, 31, 0, 0, 0, 0)]]
    data = writable(rows([kind.column for kind in kinds], values))
    walk = ResultWalk(columns_of(kinds), 10, 0)
    walk.advance(data, 0, len(data))
    found = [decode(data, *pair, PLAIN) for pair in zip(walk.take(), columns_of(kinds), strict=True)]
    assert [column.impossible for column in found] == [1, 1]
    assert [column.values[1].as_py() for column in found] == [None, None]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("date", b"\5" + bytes(5)),
        ("datetime(6)", b"\1\0"),
        ("timestamp(6)", b"\14" + bytes(12)),
        ("time(6)", b"\7" + bytes(7)),
        ("time(6)", b"\10\0\377" + bytes(6)),
        ("time(6)", b"\10" + bytes(7) + b"\74"),
        ("bit(12)", b"\1\0"),
        *(
            (f"decimal(10,2){form}", bytes([len(text)]) + text)
            for form in ("", " as text")
            for text in (b"", b"-", b"1.2.3", b"1e3", b".", b"--1")
        ),
        ("decimal(10,2)", b"\0051.234"),
        ("decimal(10,2)", b"\120" + b"1" * 80),
    ],
)
def test_values_that_their_type_cannot_have(name: str, content: bytes) -> None:
    with pytest.raises(MalformedBytes, match=r"a value that a column of type .* cannot have"):
        walked([KINDS[name]], result_rows.packets(b"\0\0" + content, 0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0000012.30", "12.30"), ("000.50", "0.50"), ("0", "0"), ("-0012", "-12"), ("0.00", "0.00")],
)
def test_plain_texts_of_decimals(text: str, expected: str) -> None:
    kind = KINDS["decimal(10,2) as text"]
    data = result_rows.packets(b"\0\0" + bytes([len(text)]) + text.encode(), 0)
    assert walked([kind], data) == [[expected]]


def test_definitions() -> None:
    column = ResultColumn.parse(definition(result_rows.decimal(10, 2), name="price", original=""))
    assert column == ResultColumn("price", StoredColumn(ColumnType.NEWDECIMAL, length=12, scale=2))
    column = ResultColumn.parse(definition(result_rows.bit(12), name="flags", original="bits"))
    assert column == ResultColumn("bits", StoredColumn(ColumnType.BIT, width=2, length=12), unsigned=True)
    column = ResultColumn.parse(definition(result_rows.floating(4, "<f")))
    assert column.stored.digits == 6


def test_definitions_that_end_too_early() -> None:
    whole = definition(KINDS["tiny"].column)
    for cut in range(len(whole) - 2):  # the last two bytes have no meaning
        with pytest.raises(MalformedBytes):
            ResultColumn.parse(whole[:cut])


def test_types_that_are_not_known() -> None:
    with pytest.raises(MalformedBytes, match="a column a of type 99, which is not known"):
        ResultColumn.parse(definition(result_rows.integer(99, 1, signed=True)))
    column = ResultColumn.parse(definition(result_rows.integer(17, 4, signed=True)))
    with pytest.raises(DataError, match="Column a of a result set has the type TIMESTAMP2, which is not supported"):
        decode(np.zeros(1, np.uint8), np.array([0], np.int32), column, PLAIN)


def test_a_cell_beyond_the_buffer() -> None:
    with pytest.raises(MalformedBytes, match="column a has a value beyond its type"):
        decode(np.zeros(2, np.uint8), np.array([1], np.int32), columns_of([KINDS["longlong"]])[0], PLAIN)


def test_an_array_without_nulls_has_no_bitmap() -> None:
    kind = KINDS["double"]
    data = writable(struct.pack("<d", 1.5))
    values = decode(data, np.array([0], np.int32), columns_of([kind])[0], PLAIN).values
    assert values.equals(pa.array([1.5], pa.float64()))
    assert values.buffers()[0] is None
