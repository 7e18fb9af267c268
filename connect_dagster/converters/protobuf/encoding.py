"""Arrow columns as Protobuf messages: a whole column for each step, no Python for a record.

Each field becomes a column of bytes, empty where it is not written; a message is these columns joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.converters.protobuf import ragged
from connect_dagster.converters.protobuf.messages import UNNAMED, WIRE_TYPES, Field, Kind, Meaning, Message

_DECIMAL_BYTES = 16
_LAYOUTS: dict[Kind, str] = {
    Kind.FIXED32: "<u4",
    Kind.SFIXED32: "<i4",
    Kind.FLOAT: "<f4",
    Kind.FIXED64: "<u8",
    Kind.SFIXED64: "<i8",
    Kind.DOUBLE: "<f8",
}


def encoded(message: Message, column: pa.Array) -> pa.BinaryArray:
    """Return the messages of a column; null stays null."""
    if message.meaning is Meaning.STRUCT:
        return _struct(message, column)
    if message.meaning is Meaning.WRAPPER:
        return _there(column, _joined([_fragment(message.fields[0], column)], len(column)))
    numbers = _PARTS[message.meaning](column)
    parts = [_fragment(field, numbers[field.name]) for field in message.fields if field.name in numbers]
    return _there(column, _joined(parts, len(column)))


def _struct(message: Message, column: pa.StructArray) -> pa.BinaryArray:
    children = _children(column)
    unions = {name: _children(children[name]) for name in {field.union for field in message.fields if field.union}}
    parts = []
    for field in message.fields:
        found = unions[field.union] if field.union else children
        if field.name in found:
            parts.append(_fragment(field, found[field.name]))
    return _there(column, _joined(parts, len(column)))


def _children(column: pa.StructArray) -> dict[str, pa.Array]:
    names = [field.name for field in column.type]
    return dict(zip(names, column.flatten(), strict=True))


def _joined(parts: list[pa.BinaryArray], count: int) -> pa.BinaryArray:
    return ragged.joined_there(*parts) if parts else pa.array([b""] * count, pa.binary())


def _there(column: pa.Array, messages: pa.BinaryArray) -> pa.BinaryArray:
    return pc.if_else(column.is_valid(), messages, pa.scalar(None, pa.binary())) if column.null_count else messages


def _fragment(field: Field, column: pa.Array) -> pa.BinaryArray:
    """Return the field with its tag, null where it is not written."""
    if field.repeated:
        return _repeated(field, column)
    payload = ragged.joined(_tag(field), _payload(field, column))
    if field.presence or field.kind is Kind.MESSAGE:
        return payload
    return pc.if_else(_is_default(field, column), pa.scalar(None, pa.binary()), payload)


def _repeated(field: Field, column: pa.Array) -> pa.BinaryArray:
    counts, items = _items(column)
    payloads = _entries(field, items) if field.is_map else _payload(field, items)
    if not field.packed:
        return ragged.joined_lists(ragged.joined(_tag(field), payloads), counts)
    whole = ragged.joined(_tag(field, 2), ragged.with_length(ragged.joined_lists(payloads, counts)))
    return pc.if_else(pa.array(counts > 0), whole, pa.scalar(None, pa.binary()))


def _items(column: Any) -> tuple[ragged.Longs, pa.Array]:
    """Return the item count of each list or map, 0 for null, and all items."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    is_map = pa.types.is_map(column.type)
    values = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"]) if is_map else column.values
    if counts.sum() == offsets[-1] - offsets[0]:
        return counts, values.slice(offsets[0], offsets[-1] - offsets[0])
    places = np.repeat(offsets[:-1] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    return counts, values.take(pa.array(places))


def _entries(field: Field, items: pa.StructArray) -> pa.BinaryArray:
    """Return the entries of a map, whose two fields are always written."""
    parts = [
        ragged.joined(_tag(part), _payload(part, one))
        for part, one in zip(field.inner.fields, items.flatten(), strict=True)
    ]
    return ragged.with_length(ragged.joined_there(*parts))


def _tag(field: Field, wire_type: int | None = None) -> pa.Scalar:
    number = field.number << 3 | (WIRE_TYPES.get(field.kind, 0) if wire_type is None else wire_type)
    (tag,) = ragged.varints(np.array([number], np.uint64))
    return tag


def _payload(field: Field, column: pa.Array) -> pa.BinaryArray:
    """Encode the values that follow the tags; null stays null."""
    if field.kind is Kind.MESSAGE:
        return ragged.with_length(encoded(field.inner, column))
    if field.kind in (Kind.STRING, Kind.BYTES):
        return ragged.with_length(column.cast(pa.binary()))
    if field.kind is Kind.ENUM:
        column = _numbers(field, column)
    values = _filled(column)
    if field.kind in _LAYOUTS:
        layout = np.dtype(_LAYOUTS[field.kind])
        data = values.astype(layout).view(np.uint8)
        return _there(column, ragged.binary(data, np.full(len(values), layout.itemsize, np.int64)))
    numbers = values.astype(np.int64)
    if field.kind in (Kind.SINT32, Kind.SINT64):
        numbers = (numbers << 1) ^ (numbers >> 63)
    if field.kind is Kind.UINT32:
        numbers &= 0xFFFFFFFF
    return _there(column, ragged.varints(numbers.view(np.uint64)))


def _filled(column: pa.Array) -> Any:
    zero = pa.scalar(False if pa.types.is_boolean(column.type) else 0, column.type)
    return pc.fill_null(column, zero).to_numpy(zero_copy_only=False)


def _numbers(field: Field, column: pa.Array) -> pa.Array:
    """Return the numbers of an enum's symbols; a name is looked up once."""
    known = column.dictionary_encode()
    symbols = dict(field.symbols)
    numbers = [symbols.get(name, _unnamed(name)) for name in known.dictionary.to_pylist()]
    return pa.array(numbers, pa.int32()).take(known.indices)


def _unnamed(name: str) -> int | None:
    """Return the number that was read without a symbol, which is written as it was."""
    found = re.search(UNNAMED, name)
    return int(found[1]) if found else None


def _is_default(field: Field, column: pa.Array) -> pa.Array:
    """Return whether a value is the one that is read where there is none; a negative zero is not."""
    if field.kind in (Kind.STRING, Kind.BYTES):
        return pc.equal(pc.binary_length(column), 0)
    if field.kind is Kind.ENUM:
        column = _numbers(field, column)
    values = _filled(column)
    if field.kind in (Kind.FLOAT, Kind.DOUBLE):
        values = values.astype(_LAYOUTS[field.kind]).view(_LAYOUTS[field.kind].replace("f", "u"))
    return pa.array(values == 0)


def _decimal_parts(column: pa.Decimal128Array) -> dict[str, pa.Array]:
    scale = column.type.scale
    filled = pc.fill_null(column, pa.scalar(0, column.type))
    big = np.frombuffer(filled.buffers()[1], np.uint8, _DECIMAL_BYTES * len(filled), _DECIMAL_BYTES * filled.offset)
    big = big.reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    sign = np.where(big[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    # A leading byte is needed where a byte up to it is not the sign's, or the next one has another highest bit.
    needed = big != sign
    needed[:, :-1] |= (big[:, 1:] >= 0x80) != (sign >= 0x80)
    first = np.where(needed.any(axis=1), needed.argmax(axis=1), _DECIMAL_BYTES - 1)
    lengths = _DECIMAL_BYTES - first
    data = big[np.arange(_DECIMAL_BYTES) >= first[:, None]]
    unscaled = pa.Array.from_buffers(
        pa.decimal128(38, 0), len(filled), [None, filled.buffers()[1]], offset=filled.offset
    )
    digits = pc.utf8_length(pc.utf8_ltrim(unscaled.cast(pa.string()), "-"))
    return {
        "value": ragged.binary(data, lengths),
        "precision": digits.cast(pa.int64()),
        "scale": pa.array(np.full(len(column), scale, np.int64)),
    }


def _date_parts(column: pa.Date32Array) -> dict[str, pa.Array]:
    return {"year": pc.year(column), "month": pc.month(column), "day": pc.day(column)}


def _time_parts(column: pa.Int32Array) -> dict[str, pa.Array]:
    milliseconds = _filled(column).astype(np.int64)
    seconds, rest = np.divmod(milliseconds, 1000)
    return {
        "hours": pa.array(seconds // 3600),
        "minutes": pa.array(seconds // 60 % 60),
        "seconds": pa.array(seconds % 60),
        "nanos": pa.array(rest * 1_000_000),
    }


def _timestamp_parts(column: pa.TimestampArray) -> dict[str, pa.Array]:
    milliseconds = np.floor_divide(_filled(column.cast(pa.int64())), 1000)
    seconds, rest = np.divmod(milliseconds, 1000)
    return {"seconds": pa.array(seconds), "nanos": pa.array(rest * 1_000_000)}


_PARTS: dict[Meaning, Callable[[Any], dict[str, pa.Array]]] = {
    Meaning.DECIMAL: _decimal_parts,
    Meaning.DATE: _date_parts,
    Meaning.TIME: _time_parts,
    Meaning.TIMESTAMP: _timestamp_parts,
}
