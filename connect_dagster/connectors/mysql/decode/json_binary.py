"""MySQL's binary JSON as text (``sql-common/json_binary.h`` describes the format).

The text is that of mysql-binlog-connector-java, which Debezium sends: no blanks, doubles in full, DECIMALs as
numbers, dates and times as strings. The kernel writes everything except doubles and opaque values: there it leaves
a mark, and notes where the value is: the index of a double, that of an opaque value with a minus. Texts for all marks
of a column are made at once and put in their places.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.decode.kernels import (
    Bytes,
    Flags,
    LongMatrix,
    Longs,
    Offsets,
    kernel,
    signed,
    unsigned,
    writable,
)
from connect_dagster.connectors.mysql.decode.number_kernels import decimal_size, decimal_text

_LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY = 1, 2, 3
_LITERAL, _INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = (
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    15,
)
_DEEPEST = 128  # MySQL's limit is 100
# A container on the stack: where it begins, whether it is an object, whether it is large, the next value, their number.
_START, _IS_OBJECT, _IS_LARGE, _NEXT, _COUNT = range(5)
_MARK = 1  # never in the text, which escapes control characters
_ESCAPES = np.zeros(256, np.uint8)
_ESCAPES[:32] = ord("u")
for _character, _letter in {'"': '"', "\\": "\\", "\b": "b", "\t": "t", "\f": "f", "\n": "n", "\r": "r"}.items():
    _ESCAPES[ord(_character)] = ord(_letter)
_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_WORDS = (
    np.frombuffer(b"null", np.uint8),
    np.frombuffer(b"true", np.uint8),
    np.frombuffer(b"false", np.uint8),
)
_NULL, _TRUE, _FALSE = _WORDS
_QUOTE, _BACKSLASH, _COMMA, _COLON, _MINUS, _ZERO = 34, 92, 44, 58, 45, 48
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 123, 125, 91, 93

# Types of opaque values (enum_field_types).
_NEWDECIMAL, _DATE, _TIME, _DATETIME, _TIMESTAMP = 246, 10, 11, 12, 7


def json_texts(buffer: Bytes, offsets: Offsets, prefix: int, valid: Flags) -> tuple[Offsets, Bytes]:
    """Return where the texts begin, and their bytes. A value without bytes loses its validity.

    Args:
        buffer: the bytes of events.
        offsets: of the length before each document.
        prefix: bytes of such a length.
        valid: which documents are not null.

    Raises:
        IndexError: a document refers to bytes that are not there.
    """
    # An escaped character has 6 bytes, an inlined number 3 bytes for up to 7 characters.
    sizes = _document_bytes(buffer, offsets, prefix)
    starts = np.empty(len(offsets) + 1, np.int32)
    out, marks = np.empty(8 * sizes + 64, np.uint8), np.empty(sizes // 3 + 1, np.int64)
    count = write_documents(buffer, offsets, prefix, valid, starts, out, marks)
    if not count:
        return starts, out[: starts[-1]]
    texts = _mark_texts(buffer, marks[:count])
    inserted = np.frombuffer(texts.buffers()[1], np.int32)[: count + 1]
    values = writable(texts.buffers()[2]) if texts.buffers()[2] is not None else np.empty(0, np.uint8)
    spliced_starts, spliced = np.empty_like(starts), np.empty(int(starts[-1]) + len(values), np.uint8)
    size = splice(out, starts, inserted.copy(), values, spliced_starts, spliced)
    return spliced_starts, spliced[:size]


def _document_bytes(buffer: Bytes, offsets: Offsets, prefix: int) -> int:
    present = offsets[offsets >= 0].astype(np.int64)
    return int(sum((buffer[present + place].astype(np.int64) << (8 * place)).sum() for place in range(prefix)))


def _mark_texts(buffer: Bytes, marks: Longs) -> pa.Array:
    doubles = marks > 0
    texts = np.empty(len(marks), object)
    texts[~doubles] = [_opaque_text(buffer, -at) for at in marks[~doubles].tolist()]
    if doubles.any():
        eight = buffer[marks[doubles][:, None] + np.arange(8)]
        texts[doubles] = double_texts(np.ascontiguousarray(eight).view("<f8")[:, 0]).to_numpy(zero_copy_only=False)
    return pa.array(texts, pa.string())


def double_texts(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pa.Array:
    """Return doubles as Java writes them, but all digits where it would write an exponent."""
    sizes = np.abs(values)
    plain = ((sizes >= 1e-3) & (sizes < 1e7)) | (sizes == 0)
    shortest = pa.array(values).cast(pa.string())
    whole = pa.array(values == np.floor(values))
    texts = pc.if_else(whole, pc.binary_join_element_wise(shortest, ".0", ""), shortest)
    if plain.all():
        return texts
    full = pa.array([format(Decimal(value), "f") for value in values[~plain].tolist()], pa.string())
    return pc.replace_with_mask(texts, pa.array(~plain), full)


def _opaque_text(buffer: Bytes, at: int) -> str:
    kind, size, start = int(buffer[at]), 0, at + 1
    for shift in range(0, 35, 7):
        byte = int(buffer[start])
        start += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    value = buffer[start : start + size].tobytes()
    text = _OPAQUE_TEXTS.get(kind)
    return f'"{base64.b64encode(value).decode()}"' if text is None else text(value)


def _decimal(value: bytes) -> str:
    precision, scale = value[0], value[1]
    digits, starts = np.empty(precision + 4, np.uint8), np.empty(2, np.int32)
    stored = writable(value[2 : 2 + decimal_size(precision, scale)])
    size = decimal_text(stored, np.zeros(1, np.int32), precision, scale, starts, digits)
    return digits[:size].tobytes().decode()


def _packed(value: bytes) -> tuple[int, int]:
    """Return the sign, and the packed time without it."""
    number = int.from_bytes(value, "little", signed=True)
    return (-1 if number < 0 else 1), abs(number)


def _date(value: bytes) -> str:
    _, packed = _packed(value)
    months, day = packed >> 46, packed >> 41 & 31
    return f'"{_date_text(months, day)}"'


def _datetime(value: bytes) -> str:
    _, packed = _packed(value)
    months, day, clock = packed >> 46, packed >> 41 & 31, packed >> 24 & 0x1FFFF
    return f'"{_date_text(months, day)} {_time_text(clock, packed & 0xFFFFFF)}"'


def _time(value: bytes) -> str:
    sign, packed = _packed(value)
    return f'"{"-" if sign < 0 else ""}{_time_text(packed >> 24, packed & 0xFFFFFF)}"'


def _date_text(months: int, day: int) -> str:
    return f"{months // 13:04}-{months % 13:02}-{day:02}"


def _time_text(clock: int, micros: int) -> str:
    text = f"{clock >> 12 & 1023:02}:{clock >> 6 & 63:02}:{clock & 63:02}"
    return f"{text}.{micros:06}".rstrip("0") if micros else text


_OPAQUE_TEXTS: Mapping[int, Callable[[bytes], str]] = {
    _NEWDECIMAL: _decimal,
    _DATE: _date,
    _TIME: _time,
    _DATETIME: _datetime,
    _TIMESTAMP: _datetime,
}


@kernel
def write_documents(
    buffer: Bytes, offsets: Offsets, prefix: int, valid: Flags, starts: Offsets, out: Bytes, marks: Longs
) -> int:
    """Write the documents of a column one after the other; return the number of marks."""
    to = 0
    count = 0
    stack = np.zeros((_DEEPEST, 5), np.int64)
    for row in range(offsets.shape[0]):
        starts[row] = to
        if offsets[row] < 0:
            continue
        if unsigned(buffer, offsets[row], prefix) == 0:
            valid[row] = False
            continue
        to, count = write_document(buffer, offsets[row] + prefix, out, to, marks, count, stack)
    starts[offsets.shape[0]] = to
    return count


@kernel
def write_document(
    buffer: Bytes, start: int, out: Bytes, to: int, marks: Longs, count: int, stack: LongMatrix
) -> tuple[int, int]:
    """Write one document; return the index after it and the number of marks."""
    depth = 0
    kind = unsigned(buffer, start, 1)
    at = start + 1
    while True:
        if kind <= _LARGE_ARRAY:
            is_object = kind <= _LARGE_OBJECT
            width = 4 if kind & 1 else 2
            stack[depth, _START] = at
            stack[depth, _IS_OBJECT] = is_object
            stack[depth, _IS_LARGE] = kind & 1
            stack[depth, _NEXT] = 0
            stack[depth, _COUNT] = unsigned(buffer, at, width)
            depth += 1
            out[to] = _OPEN_OBJECT if is_object else _OPEN_ARRAY
            to += 1
        elif kind in (_DOUBLE, _OPAQUE):
            out[to] = _MARK
            to += 1
            marks[count] = at if kind == _DOUBLE else -at
            count += 1
        else:
            to = write_scalar(buffer, kind, at, out, to)
        # On to the next value: the end of what is complete, the separator, the name.
        while depth > 0 and stack[depth - 1, _NEXT] == stack[depth - 1, _COUNT]:
            depth -= 1
            out[to] = _CLOSE_OBJECT if stack[depth, _IS_OBJECT] else _CLOSE_ARRAY
            to += 1
        if depth == 0:
            return to, count
        top = depth - 1
        index = stack[top, _NEXT]
        stack[top, _NEXT] = index + 1
        if index > 0:
            out[to] = _COMMA
            to += 1
        base = stack[top, _START]
        width = 4 if stack[top, _IS_LARGE] else 2
        entries = base + 2 * width
        if stack[top, _IS_OBJECT]:
            name = entries + index * (width + 2)
            to = write_string(buffer, base + unsigned(buffer, name, width), unsigned(buffer, name + width, 2), out, to)
            out[to] = _COLON
            to += 1
            entries += stack[top, _COUNT] * (width + 2)
        entry = entries + index * (width + 1)
        kind = unsigned(buffer, entry, 1)
        inlined = kind in (_LITERAL, _INT16, _UINT16)
        if width == 4 and kind in (_INT32, _UINT32):
            inlined = True
        at = entry + 1 if inlined else base + unsigned(buffer, entry + 1, width)


@kernel
def write_scalar(buffer: Bytes, kind: int, at: int, out: Bytes, to: int) -> int:
    """Write a literal, an integer or a string; return the index after it."""
    if kind == _LITERAL:
        literal = buffer[at]
        if literal == 1:
            return write_word(_TRUE, out, to)
        return write_word(_FALSE if literal == 2 else _NULL, out, to)
    if kind == _INT16:
        return write_signed(signed(buffer, at, 2), out, to)
    if kind == _UINT16:
        return write_signed(unsigned(buffer, at, 2), out, to)
    if kind == _INT32:
        return write_signed(signed(buffer, at, 4), out, to)
    if kind == _UINT32:
        return write_signed(unsigned(buffer, at, 4), out, to)
    if kind == _INT64:
        return write_signed(signed(buffer, at, 8), out, to)
    if kind == _UINT64:
        return write_unsigned(np.uint64(unsigned(buffer, at, 8)), out, to)
    if kind != _STRING:
        raise IndexError("no JSON value has this type")
    size = 0
    for place in range(5):
        byte = unsigned(buffer, at, 1)
        at += 1
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return write_string(buffer, at, size, out, to)


@kernel
def write_word(word: Bytes, out: Bytes, to: int) -> int:
    """Write a word; return the index after it."""
    for place in range(word.shape[0]):
        out[to + place] = word[place]
    return to + len(word)


@kernel
def write_string(buffer: Bytes, at: int, size: int, out: Bytes, to: int) -> int:
    """Write a text in quotes, with the escapes that Debezium's formatter writes; return the index after it."""
    out[to] = _QUOTE
    to += 1
    for place in range(size):
        byte = buffer[at + place]
        escape = _ESCAPES[byte]
        if escape == 0:
            out[to] = byte
            to += 1
            continue
        out[to] = _BACKSLASH
        out[to + 1] = escape
        to += 2
        if escape == 117:
            out[to] = _ZERO
            out[to + 1] = _ZERO
            out[to + 2] = _HEX[byte >> 4]
            out[to + 3] = _HEX[byte & 15]
            to += 4
    out[to] = _QUOTE
    return to + 1


@kernel
def write_signed(value: int, out: Bytes, to: int) -> int:
    """Write a number of 64 bits with its sign; return the index after it."""
    if value >= 0:
        return write_unsigned(np.uint64(value), out, to)
    out[to] = _MINUS
    return write_unsigned(np.uint64(-(value + 1)) + np.uint64(1), out, to + 1)


@kernel
def write_unsigned(value: np.uint64, out: Bytes, to: int) -> int:
    """Write a number of 64 bits; return the index after it."""
    ten = np.uint64(10)
    digits = 1
    rest = value // ten
    while rest > np.uint64(0):
        digits += 1
        rest //= ten
    rest = value
    for place in range(digits - 1, -1, -1):
        out[to + place] = np.uint8(rest % ten) + np.uint8(_ZERO)
        rest //= ten
    return to + digits


@kernel
def splice(source: Bytes, starts: Offsets, inserted: Offsets, values: Bytes, out_starts: Offsets, out: Bytes) -> int:
    """Copy texts with a value in place of each mark; return the number of bytes."""
    to = 0
    mark = 0
    for row in range(starts.shape[0] - 1):
        out_starts[row] = to
        for at in range(starts[row], starts[row + 1]):
            byte = source[at]
            if byte == _MARK:
                for place in range(inserted[mark], inserted[mark + 1]):
                    out[to] = values[place]
                    to += 1
                mark += 1
            else:
                out[to] = byte
                to += 1
    out_starts[starts.shape[0] - 1] = to
    return to
