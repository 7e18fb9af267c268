"""Kernels for dates and times: microseconds or days since 1970, and ISO text.

MySQL writes values since 5.6.4 as big-endian numbers with a fraction of 0 to 3 bytes (``mysys/my_time.cc``), older
ones as decimal digits. A date with a part that is zero has no place in a calendar: its row loses its validity. One
such as February 30 keeps it with the value 0; the kernel returns the first such row.
"""

from __future__ import annotations

import numpy as np

from connect_dagster.connectors.mysql.decode.kernels import (
    Bytes,
    Flags,
    Longs,
    Offsets,
    big_endian,
    kernel,
    signed,
    unsigned,
)

_MICROS = 1_000_000
_DAY = 86_400
_EPOCH_DAYS = 719_468  # from March 1 of the year 0 to 1970
_ERA_DAYS, _ERA_YEARS = 146_097, 400
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATETIME_SIGN = 1 << 39
_ZERO, _MINUS, _COLON, _POINT, _T, _Z = 48, 45, 58, 46, 84, 90
_SECONDS_TEXT = len("1970-01-01T00:00:00Z")
_NONE = -1


def fraction_size(digits: int) -> int:
    """Return the bytes of a fraction of ``digits`` decimal digits."""
    return (digits + 1) // 2


def zoned_size(digits: int) -> int:
    """Return the length of a timestamp's text."""
    return _SECONDS_TEXT + (digits + 1 if digits else 0)


@kernel
def days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date in the Gregorian calendar, whose years are taken to begin in March."""
    shifted = year - 1 if month <= 2 else year
    era = shifted // _ERA_YEARS
    of_era = shifted - era * _ERA_YEARS
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_DAYS


@kernel
def exists(year: int, month: int, day: int) -> bool:
    """Return whether the calendar has a date whose parts are not zero."""
    if month > 12:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _DAYS_IN_MONTH[month - 1] + (1 if month == 2 and leap else 0)


@kernel
def fraction(buffer: Bytes, at: int, digits: int) -> int:
    """Return microseconds of a fraction, whose bytes hold two digits each."""
    size = (digits + 1) // 2
    value = np.int64(big_endian(buffer, at, size))
    for _ in range(3 - size):
        value *= np.int64(100)
    return value  # type: ignore[return-value]


@kernel
def dates(buffer: Bytes, offsets: Offsets, out: Longs, valid: Flags) -> int:
    """Read DATEs as days."""
    impossible = _NONE
    for row in range(offsets.shape[0]):
        out[row] = 0
        if offsets[row] < 0:
            continue
        value = unsigned(buffer, offsets[row], 3)
        year, month, day = value >> 9, value >> 5 & 15, value & 31
        if year == 0 or month == 0 or day == 0:
            valid[row] = False
        elif exists(year, month, day):
            out[row] = days(year, month, day)
        else:
            valid[row] = False
            if impossible == _NONE:
                impossible = row
    return impossible


@kernel
def datetimes(buffer: Bytes, offsets: Offsets, digits: int, out: Longs, valid: Flags) -> int:
    """Read DATETIMEs as microseconds."""
    impossible = _NONE
    for row in range(offsets.shape[0]):
        out[row] = 0
        at = offsets[row]
        if at < 0:
            continue
        value = big_endian(buffer, at, 5) - _DATETIME_SIGN
        months, day = value >> 22, value >> 17 & 31
        hour, minute, second = value >> 12 & 31, value >> 6 & 63, value & 63
        year, month = months // 13, months % 13
        if year == 0 or month == 0 or day == 0:
            valid[row] = False
        elif exists(year, month, day) and hour < 24 and minute < 60 and second < 60:
            seconds = days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second
            out[row] = seconds * _MICROS + fraction(buffer, at + 5, digits)
        else:
            valid[row] = False
            if impossible == _NONE:
                impossible = row
    return impossible


@kernel
def old_datetimes(buffer: Bytes, offsets: Offsets, out: Longs, valid: Flags) -> int:
    """Read DATETIMEs of before MySQL 5.6.4, whose decimal digits are the date, as microseconds."""
    impossible = _NONE
    for row in range(offsets.shape[0]):
        out[row] = 0
        if offsets[row] < 0:
            continue
        value = unsigned(buffer, offsets[row], 8)
        date, time = value // 1_000_000, value % 1_000_000
        year, month, day = date // 10_000, date // 100 % 100, date % 100
        hour, minute, second = time // 10_000, time // 100 % 100, time % 100
        if year == 0 or month == 0 or day == 0:
            valid[row] = False
        elif exists(year, month, day) and hour < 24 and minute < 60 and second < 60:
            out[row] = (days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second) * _MICROS
        else:
            valid[row] = False
            if impossible == _NONE:
                impossible = row
    return impossible


@kernel
def timestamps(buffer: Bytes, offsets: Offsets, digits: int, out: Longs) -> None:
    """Read TIMESTAMPs as microseconds; the zero timestamp is 0."""
    for row in range(offsets.shape[0]):
        at = offsets[row]
        out[row] = 0 if at < 0 else big_endian(buffer, at, 4) * _MICROS + fraction(buffer, at + 4, digits)


@kernel
def times(buffer: Bytes, offsets: Offsets, digits: int, out: Longs) -> None:
    """Read TIMEs, which go from -838 to 838 hours, as microseconds."""
    size = (digits + 1) // 2
    width = 3 + size
    zero = np.int64(1) << np.int64(8 * width - 1)
    for row in range(offsets.shape[0]):
        out[row] = 0
        if offsets[row] < 0:
            continue
        value = np.int64(big_endian(buffer, offsets[row], width)) - zero
        magnitude = abs(value)
        micros = magnitude & ((np.int64(1) << np.int64(8 * size)) - np.int64(1))
        for _ in range(3 - size):
            micros *= np.int64(100)
        clock = magnitude >> np.int64(8 * size)
        seconds = (clock >> 12 & 1023) * 3600 + (clock >> 6 & 63) * 60 + (clock & 63)
        micros += seconds * _MICROS
        out[row] = -micros if value < 0 else micros


@kernel
def old_times(buffer: Bytes, offsets: Offsets, out: Longs) -> None:
    """Read TIMEs of before MySQL 5.6.4, whose decimal digits are the time, as microseconds."""
    for row in range(offsets.shape[0]):
        out[row] = 0
        if offsets[row] < 0:
            continue
        value = np.int64(signed(buffer, offsets[row], 3))
        digits = abs(value)
        micros = (digits // 10_000 * 3600 + digits // 100 % 100 * 60 + digits % 100) * _MICROS
        out[row] = -micros if value < 0 else micros


@kernel
def write_number(out: Bytes, at: int, value: int, digits: int) -> int:
    """Write a number with leading zeros; return the index after it."""
    rest = value
    for place in range(digits - 1, -1, -1):
        out[at + place] = _ZERO + rest % 10
        rest //= 10
    return at + digits


@kernel
def zoned(micros: Longs, digits: int, out: Bytes) -> None:
    """Write timestamps as ``io.debezium.time.ZonedTimestamp``, with exactly ``digits`` after the point."""
    to = 0
    unit = 1
    for _ in range(6 - digits):
        unit *= 10
    for row in range(micros.shape[0]):
        seconds = micros[row] // _MICROS
        day = seconds // _DAY + _EPOCH_DAYS
        era = day // _ERA_DAYS
        of_era = day - era * _ERA_DAYS
        year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        from_march = (5 * of_year + 2) // 153
        month = from_march + 3 if from_march < 10 else from_march - 9
        year = year_of_era + era * _ERA_YEARS + (1 if month <= 2 else 0)
        second = seconds % _DAY
        to = write_number(out, to, year, 4)
        out[to] = _MINUS
        to = write_number(out, to + 1, month, 2)
        out[to] = _MINUS
        to = write_number(out, to + 1, of_year - (153 * from_march + 2) // 5 + 1, 2)
        out[to] = _T
        to = write_number(out, to + 1, second // 3600, 2)
        out[to] = _COLON
        to = write_number(out, to + 1, second // 60 % 60, 2)
        out[to] = _COLON
        to = write_number(out, to + 1, second % 60, 2)
        if digits > 0:
            out[to] = _POINT
            to = write_number(out, to + 1, micros[row] % _MICROS // unit, digits)
        out[to] = _Z
        to += 1
