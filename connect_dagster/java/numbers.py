"""Numbers as Java parses, narrows and rounds them. Pure."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

# Java takes any Unicode digit; an exponent has at most ten digits there.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_LARGEST_EXPONENT = 5000


def big_decimal(text: str) -> Decimal | None:
    """Return the number that ``new BigDecimal`` parses; ``None`` where it fails."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def low_bits(number: Decimal, bits: int) -> int:
    """Return the integer part's lowest bits as a signed number (``BigDecimal.longValue`` and its like)."""
    if number.adjusted() > _LARGEST_EXPONENT:
        return 0  # such powers of ten end in zero bits, and are too long to write out
    half = 1 << (bits - 1)
    return (int(number) + half) % (1 << bits) - half


def to_float32(number: Decimal) -> float:
    """Return the nearest number of 32 bits; infinite where it is too large."""
    nearest = float(number)
    if math.isfinite(nearest) and Decimal(nearest) != number:
        # Rounding twice may end on the wrong side of a tie: step off it first.
        towards = math.inf if number > Decimal(nearest) else -math.inf
        if _is_tie(nearest):
            nearest = math.nextafter(nearest, towards)
    return float32(nearest)


def float32(number: float) -> float:
    """Return a number cut to 32 bits (Java: a cast)."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _is_tie(number: float) -> bool:
    """Return whether a number lies exactly between two numbers of 32 bits."""
    near = float32(number)
    if math.isinf(near):
        return False
    return 2 * number - near != near and float32(2 * number - near) == 2 * number - near
