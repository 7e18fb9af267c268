"""Kernels for rows of a result set in the binary protocol (MySQL: ``Protocol_binary`` of sql/protocol_classic.cc).

A value is of a fixed width, or has a length before it: one byte for dates and times, a length-encoded integer for all
else. Kernels that find a value which its type cannot have return its row; -1 is none.
"""

from __future__ import annotations

import numpy as np

from connect_dagster.connectors.mysql.decode.kernels import (
    Bytes,
    Flags,
    Longs,
    OffsetMatrix,
    Offsets,
    kernel,
    unsigned,
)
from connect_dagster.connectors.mysql.decode.number_kernels import write_twos_complement
from connect_dagster.connectors.mysql.decode.time_kernels import days, exists

ENCODED, TEMPORAL = 0, -1
"""Widths of values with a length before them."""

INCOMPLETE, FULL, ENDED, FAILED, BEYOND_PACKET, REST_IN_PACKET, OUT_OF_ORDER, NOT_A_ROW = range(8)
"""Reasons for which a walk ends: a packet that is not complete yet, no room for more rows, a packet after the last row,
one with an error, and four kinds of packets that no server sends.
"""

MOST_DIGITS = 76
"""Digits of a DECIMAL that the kernels hold; MySQL has 65."""

_NULL = -1
_NONE = -1
_HEADER = 4
_LARGEST_PACKET = 0xFFFFFF  # a packet of this size goes on in the next one
_EOF, _ERROR = 0xFE, 0xFF
_MICROS = 1_000_000
_DAY = 86_400
_MOST_HOURS = 838
_LIMBS = 8
_GROUP = 9
_POWERS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
_ZERO, _NINE, _POINT, _MINUS = 48, 57, 46, 45


@kernel
def prefix_size(first: int) -> int:
    """Return the bytes of a length-encoded integer by its first one; 0 for a byte that none begins with."""
    if first < 251:
        return 1
    if first == 252:
        return 3
    if first == 253:
        return 4
    return 9 if first == 254 else 0


@kernel
def encoded_length(buffer: Bytes, at: int) -> int:
    """Return the value of a length-encoded integer."""
    first = unsigned(buffer, at, 1)
    return first if first < 251 else unsigned(buffer, at + 1, prefix_size(first) - 1)


@kernel
def logical_end(buffer: Bytes, at: int, end: int, sequence: int) -> tuple[int, int]:
    """Return where a packet with its continuations ends, and how many there are.

    The end is -1 where it is not in the buffer yet, the number 0 where the packets have not followed each other.
    """
    count = 0
    size = _LARGEST_PACKET
    while size == _LARGEST_PACKET:
        if at + _HEADER > end:
            return -1, count
        size = unsigned(buffer, at, 3)
        if unsigned(buffer, at + 3, 1) != (sequence + count) & 255:
            return -1, 0
        at += _HEADER + size
        count += 1
    return (at if at <= end else -1), count


@kernel
def join(buffer: Bytes, at: int, count: int) -> int:
    """Move the continuations of a packet to its end, over their headers; return the new end."""
    to = at + _HEADER + _LARGEST_PACKET
    source = to
    for _ in range(count - 1):
        size = unsigned(buffer, source, 3)
        source += _HEADER
        buffer[to : to + size] = buffer[source : source + size]
        source += size
        to += size
    return to


@kernel
def out_of_order(buffer: Bytes, at: int, end: int) -> int:
    """Return the reason to end at a packet with another number; MariaDB gives 0 to the error of its shutdown."""
    if unsigned(buffer, at + 3, 1) != 0:
        return OUT_OF_ORDER
    if at + _HEADER == end:
        return INCOMPLETE
    if unsigned(buffer, at + _HEADER, 1) != _ERROR:
        return OUT_OF_ORDER
    return FAILED if at + _HEADER + unsigned(buffer, at, 3) <= end else INCOMPLETE


@kernel
def walk(
    buffer: Bytes, start: int, end: int, sequence: int, widths: Offsets, cells: OffsetMatrix, rows: int
) -> tuple[int, int, int, int]:
    """Fill in the offset of each cell of rows that follow; return number of rows, next packet, its sequence, reason."""
    columns = widths.shape[0]
    bitmap = (columns + 9) >> 3
    at = start
    while True:
        after, count = logical_end(buffer, at, end, sequence)
        if count == 0 and at + _HEADER <= end:
            return rows, at, sequence, out_of_order(buffer, at, end)
        if after < 0:
            return rows, at, sequence, INCOMPLETE
        row = at + _HEADER
        if row == after:
            return rows, at, sequence, NOT_A_ROW
        mark = unsigned(buffer, row, 1)
        if mark == _ERROR:
            return rows, at, sequence, FAILED
        if mark == _EOF:
            return rows, at, sequence, ENDED
        if mark != 0:
            return rows, at, sequence, NOT_A_ROW
        if rows == cells.shape[1]:
            return rows, at, sequence, FULL
        stop = join(buffer, at, count) if count > 1 else after
        cell = row + 1 + bitmap
        if cell > stop:
            return rows, at, sequence, BEYOND_PACKET
        for column in range(columns):
            bit = column + 2
            if unsigned(buffer, row + 1 + (bit >> 3), 1) >> (bit & 7) & 1 == 1:
                cells[column, rows] = _NULL
                continue
            cells[column, rows] = cell
            if widths[column] > 0:
                cell += widths[column]
            elif cell >= stop:
                return rows, at, sequence, BEYOND_PACKET
            elif widths[column] == TEMPORAL:
                cell += 1 + unsigned(buffer, cell, 1)
            else:
                prefix = prefix_size(unsigned(buffer, cell, 1))
                if prefix == 0 or cell + prefix > stop:
                    return rows, at, sequence, BEYOND_PACKET
                size = encoded_length(buffer, cell)
                if size < 0 or size > stop - cell - prefix:
                    return rows, at, sequence, BEYOND_PACKET
                cell += prefix + size
            if cell > stop:
                return rows, at, sequence, BEYOND_PACKET
        if cell < stop:
            return rows, at, sequence, REST_IN_PACKET
        rows += 1
        at = after
        sequence = (sequence + count) & 255


@kernel
def measure(buffer: Bytes, offsets: Offsets, contents: Offsets, starts: Offsets) -> int:
    """Fill in where each value is, and where it begins when the values follow each other; return their total size."""
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        at = offsets[row]
        contents[row] = at
        if at >= 0:
            contents[row] = at + prefix_size(unsigned(buffer, at, 1))
            to += encoded_length(buffer, at)
    starts[offsets.shape[0]] = to
    return to


@kernel
def of_other_size(buffer: Bytes, offsets: Offsets, width: int) -> int:
    """Return the first row whose value has another size."""
    for row in range(offsets.shape[0]):
        if offsets[row] >= 0 and encoded_length(buffer, offsets[row]) != width:
            return row
    return _NONE


@kernel
def dates(buffer: Bytes, offsets: Offsets, out: Longs, valid: Flags) -> tuple[int, int]:
    """Read DATEs as days; return the first row with a date that no calendar has, and the first that is not a date."""
    impossible = _NONE
    for row in range(offsets.shape[0]):
        out[row] = 0
        at = offsets[row]
        if at < 0:
            continue
        size = unsigned(buffer, at, 1)
        if size == 0:
            valid[row] = False
            continue
        if size != 4 and size != 7 and size != 11:
            return impossible, row
        year, month, day = unsigned(buffer, at + 1, 2), unsigned(buffer, at + 3, 1), unsigned(buffer, at + 4, 1)
        if year == 0 or month == 0 or day == 0:
            valid[row] = False
        elif exists(year, month, day):
            out[row] = days(year, month, day)
        else:
            valid[row] = False
            if impossible == _NONE:
                impossible = row
    return impossible, _NONE


@kernel
def datetimes(buffer: Bytes, offsets: Offsets, zero_is_null: bool, out: Longs, valid: Flags) -> tuple[int, int]:
    """Read DATETIMEs and TIMESTAMPs as microseconds; return rows as ``dates``."""
    impossible = _NONE
    for row in range(offsets.shape[0]):
        out[row] = 0
        at = offsets[row]
        if at < 0:
            continue
        size = unsigned(buffer, at, 1)
        if size == 0:
            if zero_is_null:
                valid[row] = False
            continue
        if size != 4 and size != 7 and size != 11:
            return impossible, row
        year, month, day = unsigned(buffer, at + 1, 2), unsigned(buffer, at + 3, 1), unsigned(buffer, at + 4, 1)
        hour, minute, second, micros = 0, 0, 0, 0
        if size > 4:
            hour, minute, second = unsigned(buffer, at + 5, 1), unsigned(buffer, at + 6, 1), unsigned(buffer, at + 7, 1)
        if size > 7:
            micros = unsigned(buffer, at + 8, 4)
        if year == 0 or month == 0 or day == 0:
            valid[row] = False
        elif exists(year, month, day) and hour < 24 and minute < 60 and second < 60 and micros < _MICROS:
            out[row] = (days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second) * _MICROS + micros
        else:
            valid[row] = False
            if impossible == _NONE:
                impossible = row
    return impossible, _NONE


@kernel
def times(buffer: Bytes, offsets: Offsets, out: Longs) -> int:
    """Read TIMEs as microseconds; return the first row that is not a time."""
    for row in range(offsets.shape[0]):
        out[row] = 0
        at = offsets[row]
        if at < 0:
            continue
        size = unsigned(buffer, at, 1)
        if size == 0:
            continue
        if size != 8 and size != 12:
            return row
        hours = unsigned(buffer, at + 2, 4) * 24 + unsigned(buffer, at + 6, 1)
        minutes, seconds = unsigned(buffer, at + 7, 1), unsigned(buffer, at + 8, 1)
        micros = unsigned(buffer, at + 9, 4) if size == 12 else 0
        if hours > _MOST_HOURS or minutes > 59 or seconds > 59 or micros >= _MICROS:
            return row
        micros += (hours * 3600 + minutes * 60 + seconds) * _MICROS
        out[row] = -micros if unsigned(buffer, at + 1, 1) != 0 else micros
    return _NONE


@kernel
def unscaled(buffer: Bytes, offsets: Offsets, scale: int, starts: Offsets, out: Bytes) -> tuple[int, int]:
    """Write DECIMALs as ``BigDecimal.unscaledValue().toByteArray()``.

    Returns:
        The number of bytes, and the first row that is not a number of at most ``scale`` digits after the point.
    """
    limbs = np.zeros(_LIMBS, np.int64)
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        at = offsets[row]
        if at < 0:
            continue
        size = encoded_length(buffer, at)
        at += prefix_size(unsigned(buffer, at, 1))
        end = at + size
        negative = size > 0 and unsigned(buffer, at, 1) == _MINUS
        if negative:
            at += 1
        limbs[:] = 0
        used = 1
        digits, after_point = 0, _NONE
        group, group_digits = 0, 0
        while at < end or after_point < scale:
            if at < end:
                byte = unsigned(buffer, at, 1)
                at += 1
                if byte == _POINT and after_point == _NONE:
                    after_point = 0
                    continue
                if byte < _ZERO or byte > _NINE:
                    return to, row
            elif digits == 0:
                return to, row
            else:  # fewer digits than the scale
                byte = _ZERO
                if after_point == _NONE:
                    after_point = 0
                    continue
            if after_point != _NONE:
                after_point += 1
            digits += 1
            if digits > MOST_DIGITS or after_point > scale:
                return to, row
            group = group * 10 + byte - _ZERO
            group_digits += 1
            if group_digits == _GROUP:
                used = append_digits(limbs, used, group, _GROUP)
                group, group_digits = 0, 0
        if digits == 0:
            return to, row
        if group_digits > 0:
            used = append_digits(limbs, used, group, group_digits)
        to = write_twos_complement(limbs, used, negative and (used > 1 or limbs[0] != 0), out, to)
    starts[offsets.shape[0]] = to
    return to, _NONE


@kernel
def append_digits(limbs: Longs, used: int, group: int, digits: int) -> int:
    """Add digits at the end of a number of limbs; return how many limbs it has."""
    carry = np.int64(group)
    for limb in range(used):
        carry += limbs[limb] * np.int64(_POWERS[digits])
        limbs[limb] = carry & np.int64(0xFFFFFFFF)
        carry >>= np.int64(32)
    if carry != 0:
        limbs[used] = carry
        used += 1
    return used


@kernel
def plain(buffer: Bytes, offsets: Offsets, starts: Offsets, out: Bytes) -> tuple[int, int]:
    """Write DECIMALs as ``BigDecimal.toPlainString``, without the zeros of ZEROFILL; return as ``unscaled``."""
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        at = offsets[row]
        if at < 0:
            continue
        size = encoded_length(buffer, at)
        at += prefix_size(unsigned(buffer, at, 1))
        end = at + size
        if size > 0 and unsigned(buffer, at, 1) == _MINUS:
            out[to] = _MINUS
            to += 1
            at += 1
        while at + 1 < end and unsigned(buffer, at, 1) == _ZERO and unsigned(buffer, at + 1, 1) != _POINT:
            at += 1
        digits = 0
        has_point = False
        while at < end:
            byte = unsigned(buffer, at, 1)
            at += 1
            if byte == _POINT and digits > 0 and not has_point:
                has_point = True
            elif byte < _ZERO or byte > _NINE:
                return to, row
            else:
                digits += 1
            out[to] = byte
            to += 1
        if digits == 0:
            return to, row
    starts[offsets.shape[0]] = to
    return to, _NONE
