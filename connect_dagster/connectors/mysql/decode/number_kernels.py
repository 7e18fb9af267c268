"""Kernels for integers, floats, bits and decimals.

An offset below 0 is a null; what is written in its place has no meaning.
"""

from __future__ import annotations

import numpy as np

from connect_dagster.connectors.mysql.decode.kernels import Bytes, Longs, Offsets, kernel, signed, unsigned

DIGITS_IN_GROUP = 9
# Bytes that a number of 0 to 9 decimal digits takes (MySQL: dig2bytes of strings/decimal.cc).
DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_POWERS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
_LIMBS = 8  # of 32 bits: 65 digits, which are MySQL's most, need 216 bits
_ZERO, _POINT, _MINUS = 48, 46, 45


def decimal_size(precision: int, scale: int) -> int:
    """Return the bytes of a DECIMAL: groups of nine digits in four bytes, before and after the point."""
    whole, part = divmod(precision - scale, DIGITS_IN_GROUP), divmod(scale, DIGITS_IN_GROUP)
    return 4 * (whole[0] + part[0]) + DIGIT_BYTES[whole[1]] + DIGIT_BYTES[part[1]]


def unscaled_size(precision: int) -> int:
    """Return the most bytes of an unscaled number of that many digits in two's complement."""
    return precision * 54 // 128 + 2  # a digit has 0.4153 bytes


@kernel
def integers(buffer: Bytes, offsets: Offsets, width: int, is_signed: bool, out: Longs) -> None:
    """Read numbers of 1 to 8 bytes; unsigned ones above 2^63-1 wrap."""
    for row in range(offsets.shape[0]):
        at = offsets[row]
        if at < 0:
            out[row] = 0
        elif is_signed:
            out[row] = signed(buffer, at, width)
        else:
            out[row] = unsigned(buffer, at, width)


@kernel
def copies(buffer: Bytes, offsets: Offsets, width: int, is_reversed: bool, out: Bytes) -> None:
    """Copy values of one width, or their bytes in reverse order."""
    for row in range(offsets.shape[0]):
        at = offsets[row]
        for place in range(width):
            if at < 0:
                out[row * width + place] = 0
            elif is_reversed:
                out[row * width + place] = buffer[at + width - 1 - place]
            else:
                out[row * width + place] = buffer[at + place]


@kernel
def decimal_group(buffer: Bytes, start: int, at: int, size: int, negative: bool) -> int:
    """Return the value of one group of digits. The sign is the first bit of all, and inverts all bits where it is 0."""
    value = np.int64(0)
    for place in range(size):
        byte = np.int64(buffer[at + place])
        if at + place == start:
            byte ^= np.int64(0x80)
        if negative:
            byte ^= np.int64(0xFF)
        value = value << np.int64(8) | byte
    return value  # type: ignore[return-value]


@kernel
def unscaled(buffer: Bytes, offsets: Offsets, precision: int, scale: int, starts: Offsets, out: Bytes) -> int:
    """Write DECIMALs as ``BigDecimal.unscaledValue().toByteArray()``; return the number of bytes."""
    whole, lead = (precision - scale) // DIGITS_IN_GROUP, (precision - scale) % DIGITS_IN_GROUP
    part, tail = scale // DIGITS_IN_GROUP, scale % DIGITS_IN_GROUP
    limbs = np.zeros(_LIMBS, np.int64)
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        start = offsets[row]
        if start < 0:
            continue
        negative = buffer[start] < 128
        limbs[:] = 0
        used = 1
        at = start
        for group in range(whole + part + 2):
            digits = lead if group == 0 else tail if group == whole + part + 1 else DIGITS_IN_GROUP
            size = DIGIT_BYTES[digits]
            if size == 0:
                continue
            carry = np.int64(decimal_group(buffer, start, at, size, negative))
            at += size
            for limb in range(used):
                carry += limbs[limb] * np.int64(_POWERS[digits])
                limbs[limb] = carry & np.int64(0xFFFFFFFF)
                carry >>= np.int64(32)
            if carry != 0:
                limbs[used] = carry
                used += 1
        to = write_twos_complement(limbs, used, negative, out, to)
    starts[offsets.shape[0]] = to
    return to


@kernel
def write_twos_complement(limbs: Longs, used: int, negative: bool, out: Bytes, to: int) -> int:
    """Write a magnitude with its sign in as few bytes as hold it, the highest first; return the index after them."""
    flip = np.int64(0)
    if negative:  # -n = ~(n - 1)
        flip = np.int64(0xFF)
        for limb in range(used):
            if limbs[limb] != 0:
                limbs[limb] -= 1
                break
            limbs[limb] = np.int64(0xFFFFFFFF)
    top = 4 * used - 1
    while top > 0 and (limbs[top >> 2] >> np.int64(8 * (top & 3))) & np.int64(0xFF) == 0:
        top -= 1
    if (limbs[top >> 2] >> np.int64(8 * (top & 3))) & np.int64(0x80) != 0:
        out[to] = flip
        to += 1
    for byte in range(top, -1, -1):
        out[to] = (limbs[byte >> 2] >> np.int64(8 * (byte & 3))) & np.int64(0xFF) ^ flip
        to += 1
    return to


@kernel
def decimal_text(buffer: Bytes, offsets: Offsets, precision: int, scale: int, starts: Offsets, out: Bytes) -> int:
    """Write DECIMALs as ``BigDecimal.toPlainString``; return the number of bytes."""
    whole, lead = (precision - scale) // DIGITS_IN_GROUP, (precision - scale) % DIGITS_IN_GROUP
    part, tail = scale // DIGITS_IN_GROUP, scale % DIGITS_IN_GROUP
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        start = offsets[row]
        if start < 0:
            continue
        negative = buffer[start] < 128
        if negative:
            out[to] = _MINUS
            to += 1
        at = start
        begin = to
        for group in range(whole + part + 2):
            digits = lead if group == 0 else tail if group == whole + part + 1 else DIGITS_IN_GROUP
            if group == whole + 1:
                if to == begin:
                    out[to] = _ZERO
                    to += 1
                if scale > 0:
                    out[to] = _POINT
                    to += 1
            size = DIGIT_BYTES[digits]
            if size == 0:
                continue
            value = np.int64(decimal_group(buffer, start, at, size, negative))
            at += size
            for place in range(digits - 1, -1, -1):
                digit = value // np.int64(_POWERS[place]) % np.int64(10)
                if digit != 0 or to > begin:
                    out[to] = _ZERO + digit
                    to += 1
    starts[offsets.shape[0]] = to
    return to
