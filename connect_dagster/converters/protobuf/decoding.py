"""Protobuf messages as Arrow columns: all messages of a column in step, one field of each at a time.

A message that is cut off or broken is marked, and so is everything around it; nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.converters.protobuf import ragged
from connect_dagster.converters.protobuf.messages import UNNAMED_SYMBOL, WIRE_TYPES, Field, Kind, Meaning, Message
from connect_dagster.converters.protobuf.ragged import Bytes, Longs, Unsigned

Flags = npt.NDArray[np.bool_]

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_SIZES = {_EIGHT: 8, _FOUR: 4}
_DECIMAL_BYTES, _MOST_DIGITS = 16, 38
_LAST_SECOND, _FIRST_SECOND = 253402300799, -62135596800
_NANOS = 1_000_000_000


def decoded(message: Message, column: pa.BinaryArray) -> pa.Array:
    """Return the values in a column of messages; null where there is none or it cannot be read."""
    data, starts, lengths = ragged.parts(column)
    values, wrong = _Reader(data).read(message, starts, starts + lengths)
    there = column.is_valid().to_numpy(zero_copy_only=False) & ~wrong
    return values if there.all() else pc.if_else(pa.array(there), values, pa.scalar(None, values.type))


@dataclass(frozen=True, slots=True)
class _Found:
    """Fields found in messages, in the order of each message: whose, their number and type, value or place."""

    row: Longs
    number: Longs
    wire: Longs
    value: Unsigned
    start: Longs
    length: Longs

    def where(self, chosen: npt.NDArray[Any]) -> _Found:
        """Return the selected ones."""
        parts = (self.row, self.number, self.wire, self.value, self.start, self.length)
        return _Found(*(part[chosen] for part in parts))


class _Reader:
    """Reads messages that lie in one array of bytes."""

    def __init__(self, data: Bytes) -> None:
        self._data = data

    def read(self, message: Message, starts: Longs, ends: Longs) -> tuple[pa.Array, Flags]:
        """Return the values of messages, and which of them are broken."""
        found, wrong = self._scan(starts, ends)
        columns: dict[str, pa.Array] = {}
        members: dict[str, list[tuple[Field, pa.Array, Longs]]] = {}
        for field in message.fields:
            mine = found.where(self._belongs(field, found))
            column = self._repeated(field, mine, wrong) if field.repeated else self._single(field, mine, wrong)
            if field.union is None:
                columns[field.name] = column
            else:
                members.setdefault(field.union, []).append((field, column, self._last_place(mine, len(wrong))))
        for name, parts in members.items():
            columns[name] = _union(dict(message.columns)[name], parts)
        return _MEANINGS[message.meaning](message, columns, wrong), wrong

    def _scan(self, starts: Longs, ends: Longs) -> tuple[_Found, Flags]:
        """Return all fields of all messages."""
        places, wrong = starts.copy(), np.zeros(len(starts), np.bool_)
        active = np.flatnonzero(places < ends)
        steps: list[_Found] = []
        while len(active):
            step, after, good = self._step(active, places[active], ends[active])
            steps.append(step)
            wrong[active[~good]] = True
            places[active] = after
            active = active[good & (after < ends[active])]
        if not steps:
            nothing = np.zeros(0, np.int64)
            return _Found(nothing, nothing, nothing, nothing.astype(np.uint64), nothing, nothing), wrong
        names = ("row", "number", "wire", "value", "start", "length")
        return _Found(*(np.concatenate([getattr(step, name) for step in steps]) for name in names)), wrong

    def _step(self, rows: Longs, places: Longs, ends: Longs) -> tuple[_Found, Longs, Flags]:
        tags, after, good = ragged.read_varints(self._data, places, ends)
        wire, number = (tags & np.uint64(7)).astype(np.int64), (tags >> np.uint64(3)).astype(np.int64)
        good &= np.isin(wire, (_VARINT, _EIGHT, _LENGTH, _FOUR)) & (number > 0) & (number < 1 << 29)
        value, start = np.zeros(len(rows), np.uint64), after.copy()
        with_number = np.flatnonzero(good & ((wire == _VARINT) | (wire == _LENGTH)))
        value[with_number], start[with_number], complete = ragged.read_varints(
            self._data, after[with_number], ends[with_number]
        )
        good[with_number] &= complete
        end = start.copy()
        for kind, size in _SIZES.items():
            fixed = np.flatnonzero(good & (wire == kind))
            value[fixed] = self._fixed(start[fixed], size)
            end[fixed] += size
        lengthy = good & (wire == _LENGTH)
        good &= ~lengthy | (value <= np.uint64(2**31 - 1))
        end = np.where(good & lengthy, start + value.astype(np.int64), end)
        good &= end <= ends
        length = np.where(good, end - start, 0)
        return _Found(rows, np.where(good, number, 0), wire, value, start, length), end, good

    def _fixed(self, places: Longs, size: int) -> Unsigned:
        around = np.minimum(places[:, None] + np.arange(size), len(self._data) - 1)
        return np.ascontiguousarray(self._data[around]).view(f"<u{size}").reshape(-1).astype(np.uint64)

    def _belongs(self, field: Field, found: _Found) -> Flags:
        expected = WIRE_TYPES.get(field.kind, _VARINT)
        right_type = found.wire == expected
        if field.repeated and expected != _LENGTH:
            right_type |= found.wire == _LENGTH
        chosen: Flags = right_type & (found.number == field.number)
        return chosen

    def _last_place(self, found: _Found, count: int) -> Longs:
        """Return the position of the last of these fields in each message; -1 for a message without one."""
        last = np.full(count, -1, np.int64)
        last[found.row] = found.start
        return last

    def _single(self, field: Field, found: _Found, wrong: Flags) -> pa.Array:
        """Return the field's last value in each message."""
        count = len(wrong)
        last = np.full(count, -1, np.int64)
        last[found.row] = np.arange(len(found.row))
        there = last >= 0
        if field.kind is Kind.MESSAGE:
            values = self._merged(field, found, count, wrong)
        else:
            values = self._values(field, found.where(last[there]), wrong)
        places = pa.array(np.cumsum(there) - 1, mask=~there)
        column = values.take(places)
        if field.kind is Kind.MESSAGE or field.presence or field.union is not None:
            return column
        return pc.fill_null(column, pa.scalar(field.default, field.arrow))

    def _merged(self, field: Field, found: _Found, count: int, wrong: Flags) -> pa.Array:
        """Decode messages; the pieces of one that is written in several are joined."""
        order = np.argsort(found.row, kind="stable")
        found = found.where(order)
        rows, counts = np.unique(found.row, return_counts=True)
        if len(rows) == len(found.row):
            return self._messages(field, found, wrong)
        data = np.append(ragged.gathered(self._data, found.start, found.length), np.uint8(0))
        lengths = np.add.reduceat(found.length, np.cumsum(counts) - counts)
        starts = np.cumsum(lengths) - lengths
        values, broken = _Reader(data).read(field.inner, starts, starts + lengths)
        wrong[rows[broken]] = True
        return values

    def _messages(self, field: Field, found: _Found, wrong: Flags) -> pa.Array:
        values, broken = self.read(field.inner, found.start, found.start + found.length)
        wrong[found.row[broken]] = True
        return values

    def _repeated(self, field: Field, found: _Found, wrong: Flags) -> pa.Array:
        found = found.where(np.argsort(found.row, kind="stable"))
        if field.kind not in (Kind.MESSAGE, Kind.STRING, Kind.BYTES):
            found = self._unpacked(field, found, wrong)
        values = (
            self._messages(field, found, wrong) if field.kind is Kind.MESSAGE else self._values(field, found, wrong)
        )
        if field.is_map:
            return _map(field, values, found.row, len(wrong))
        return ragged.lists(values, np.bincount(found.row, minlength=len(wrong)), field.arrow)

    def _unpacked(self, field: Field, found: _Found, wrong: Flags) -> _Found:
        """Split lists of numbers in one field into one field for each number."""
        packed = found.wire == _LENGTH
        if WIRE_TYPES.get(field.kind, _VARINT) == _LENGTH or not packed.any():
            return found
        lists = found.where(packed)
        which, values, broken = self._packed(field, lists)
        wrong[lists.row[broken]] = True
        positions = np.concatenate([np.flatnonzero(packed)[which], np.flatnonzero(~packed)])
        order = np.argsort(positions, kind="stable")
        all_values = np.concatenate([values, found.value[~packed]])[order]
        again = found.where(positions[order])
        return _Found(again.row, again.number, np.zeros(len(order), np.int64), all_values, again.start, again.length)

    def _packed(self, field: Field, lists: _Found) -> tuple[Longs, Unsigned, Flags]:
        """Return the numbers of lists, the list of each, and which lists are broken."""
        size = _SIZES.get(WIRE_TYPES.get(field.kind, _VARINT))
        if size is not None:
            broken = lists.length % size != 0
            counts = np.where(broken, 0, lists.length // size)
            which = np.repeat(np.arange(len(counts)), counts)
            within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
            return which, self._fixed(lists.start[which] + size * within, size), broken
        broken = (lists.length > 0) & (self._data[np.maximum(lists.start + lists.length - 1, 0)] >= 0x80)
        lengths = np.where(broken, 0, lists.length)
        data = ragged.gathered(self._data, lists.start, lengths)
        ends = np.flatnonzero(data < 0x80) + 1
        starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
        which = np.searchsorted(np.cumsum(lengths), starts, side="right")
        values, _, complete = ragged.read_varints(np.append(data, np.uint8(0)), starts, ends)
        broken[which[~complete]] = True
        return which, values, broken

    def _values(self, field: Field, found: _Found, wrong: Flags) -> pa.Array:
        """Return a column of single values that are not messages."""
        if field.kind in (Kind.STRING, Kind.BYTES):
            column = ragged.binary(ragged.gathered(self._data, found.start, found.length), found.length)
            if field.kind is Kind.BYTES:
                return column
            invalid = np.array(_invalid(column, 0), np.int64)
            wrong[found.row[invalid]] = True
            return _text(column, invalid)
        if field.kind is Kind.ENUM:
            return _symbols(field, found.value.astype(np.int32))
        return pa.array(_NUMBERS[field.kind](found.value)).cast(field_type(field), safe=False)


def field_type(field: Field) -> pa.DataType:
    """Return the Arrow type of one value of a field."""
    return field.arrow.value_type if field.repeated and not field.is_map else field.arrow


def _zigzag(values: Unsigned) -> npt.NDArray[Any]:
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)


_NUMBERS: dict[Kind, Callable[[Unsigned], npt.NDArray[Any]]] = {
    Kind.INT32: lambda values: values.astype(np.uint32).view(np.int32),
    Kind.SFIXED32: lambda values: values.astype(np.uint32).view(np.int32),
    Kind.SINT32: lambda values: _zigzag(values).astype(np.int32),
    Kind.UINT32: lambda values: values.astype(np.uint32).astype(np.int64),
    Kind.FIXED32: lambda values: values.astype(np.int64),
    Kind.INT64: lambda values: values.view(np.int64),
    Kind.UINT64: lambda values: values.view(np.int64),
    Kind.SINT64: _zigzag,
    Kind.FIXED64: lambda values: values.view(np.int64),
    Kind.SFIXED64: lambda values: values.view(np.int64),
    Kind.FLOAT: lambda values: values.astype(np.uint32).view(np.float32),
    Kind.DOUBLE: lambda values: values.view(np.float64),
    Kind.BOOL: lambda values: values != 0,
}


def _symbols(field: Field, numbers: npt.NDArray[np.int32]) -> pa.Array:
    """Return the names of an enum's numbers; a number without a name has the one that Java gives it."""
    known = {number: name for name, number in reversed(field.symbols)}
    unique, which = np.unique(numbers, return_inverse=True)
    unknown = f"{UNNAMED_SYMBOL}{field.enum}_"
    names = pa.array([known.get(int(one), f"{unknown}{one}") for one in unique], pa.string())
    return names.take(pa.array(which))


def _invalid(column: pa.BinaryArray, offset: int) -> list[int]:
    """Return the positions of values that are not UTF-8, found by bisection."""
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        if len(column) == 1:
            return [offset]
        half = len(column) // 2
        return _invalid(column[:half], offset) + _invalid(column[half:], offset + half)
    return []


def _text(column: pa.BinaryArray, invalid: Longs) -> pa.Array:
    if len(invalid):
        good = np.ones(len(column), np.bool_)
        good[invalid] = False
        column = pc.if_else(pa.array(good), column, pa.scalar(b"", pa.binary()))
    return column.cast(pa.string())


def _union(type_: pa.StructType, parts: list[tuple[Field, pa.Array, Longs]]) -> pa.Array:
    """Return the struct of a oneof: of several members that were written the last one stays."""
    last = np.stack([places for _, _, places in parts]).max(axis=0)
    columns = {
        field.name: pc.if_else(pa.array((places == last) & (last >= 0)), column, pa.scalar(None, column.type))
        for field, column, places in parts
    }
    return _struct_of([(one.name, one.type) for one in type_], columns, last < 0)


def _struct_of(columns: Any, values: dict[str, pa.Array], null: Flags) -> pa.StructArray:
    arrays = [values[name].cast(type_) for name, type_ in columns]
    fields = [pa.field(name, type_) for name, type_ in columns]
    if not fields:
        return pa.array([{}] * len(null), pa.struct([]))
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=pa.array(null))


def _map(field: Field, entries: pa.StructArray, rows: Longs, count: int) -> pa.Array:
    """Make maps of their entries; of several entries with one key the last one stays."""
    keys, items = entries.flatten()
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pairs = rows * (len(codes) + 1) + codes
    _, backwards = np.unique(pairs[::-1], return_index=True)
    kept = np.sort(len(pairs) - 1 - backwards)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(rows[kept], minlength=count), out=offsets[1:])
    chosen = pa.array(kept)
    return pa.MapArray.from_arrays(pa.array(offsets), keys.take(chosen), items.take(chosen), type=field.arrow)


def _as_struct(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    return _struct_of(message.columns, columns, np.zeros(len(wrong), np.bool_))


def _as_wrapped(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    return columns[message.fields[0].name]


def _as_decimal(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    data, starts, lengths = ragged.parts(columns["value"])
    scales = columns["scale"].to_numpy(zero_copy_only=False)
    places = starts[:, None] + lengths[:, None] - _DECIMAL_BYTES + np.arange(_DECIMAL_BYTES)
    sign = np.where((lengths > 0) & (data[np.minimum(starts, len(data) - 1)] >= 0x80), 0xFF, 0).astype(np.uint8)
    big = np.where(places >= starts[:, None], data[np.maximum(places, 0)], sign[:, None])
    wrong |= (lengths == 0) | (lengths > _DECIMAL_BYTES)
    little = np.ascontiguousarray(big[:, ::-1]).astype(np.uint8)
    unscaled = pa.Array.from_buffers(pa.decimal128(38, 0), len(wrong), [None, pa.py_buffer(little)])
    digits = pc.utf8_length(pc.utf8_ltrim(unscaled.cast(pa.string()), "-")).to_numpy(zero_copy_only=False)
    wrong |= digits > _MOST_DIGITS
    target = pa.decimal128(38, message.scale)
    column = pa.nulls(len(wrong), target)
    for scale in np.unique(scales[~wrong]):
        chosen = ~wrong & (scales == scale)
        column = pc.if_else(pa.array(chosen), _scaled(unscaled, int(scale), target, chosen, wrong), column)
    return column


def _scaled(unscaled: pa.Array, scale: int, target: pa.DataType, chosen: Flags, wrong: Flags) -> pa.Array:
    """Return decimals of one scale in the column's; wrong where one of them would lose digits."""
    kept = pc.if_else(pa.array(chosen), unscaled, pa.scalar(0, unscaled.type))
    try:
        as_is = pa.Array.from_buffers(pa.decimal128(38, scale), len(kept), kept.buffers(), offset=kept.offset)
        return as_is.cast(target)
    except (pa.ArrowInvalid, ValueError):
        wrong |= chosen
        return pa.nulls(len(kept), target)


def _as_date(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    year, month, day = (_longs(columns[name]) for name in ("year", "month", "day"))
    good = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + np.where(good, day - 1, 0)
    wrong |= ~good | (days.astype("datetime64[M]") != months)
    return pa.array(days.astype(np.int64).astype(np.int32)).cast(pa.date32())


def _as_time(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    names = {"hours": 24, "minutes": 60, "seconds": 60, "nanos": _NANOS}
    parts = {name: _longs(columns[name]) for name in names}
    for name, limit in names.items():
        wrong |= (parts[name] < 0) | (parts[name] >= limit)
    seconds = (parts["hours"] * 60 + parts["minutes"]) * 60 + parts["seconds"]
    return pa.array((seconds * 1000 + parts["nanos"] // 1_000_000).astype(np.int32))


def _as_timestamp(message: Message, columns: dict[str, pa.Array], wrong: Flags) -> pa.Array:
    seconds, nanos = _longs(columns["seconds"]), _longs(columns["nanos"])
    good = (seconds >= _FIRST_SECOND) & (seconds <= _LAST_SECOND) & (nanos >= 0) & (nanos < _NANOS)
    wrong |= ~good
    milliseconds = np.where(good, seconds, 0) * 1000 + np.where(good, nanos, 0) // 1_000_000
    return pa.array(milliseconds * 1000).cast(pa.timestamp("us", "UTC"))


def _longs(column: pa.Array) -> Longs:
    numbers: Longs = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


_MEANINGS: dict[Meaning, Callable[[Message, dict[str, pa.Array], Flags], pa.Array]] = {
    Meaning.STRUCT: _as_struct,
    Meaning.WRAPPER: _as_wrapped,
    Meaning.DECIMAL: _as_decimal,
    Meaning.DATE: _as_date,
    Meaning.TIME: _as_time,
    Meaning.TIMESTAMP: _as_timestamp,
}
