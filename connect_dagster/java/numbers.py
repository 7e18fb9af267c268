"""Numbers of 32 bits, rounded as Java rounds them (Java: ``BigDecimal.floatValue``, casts)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal


def to_float32(number: Decimal) -> float:
    """The nearest number of 32 bits; infinite where it is too large."""
    nearest = float(number)
    if math.isfinite(nearest) and Decimal(nearest) != number:
        # Rounding twice may end on the wrong side of a tie: step off it first.
        towards = math.inf if number > Decimal(nearest) else -math.inf
        if _is_tie(nearest):
            nearest = math.nextafter(nearest, towards)
    return float32(nearest)


def float32(number: float) -> float:
    """A number cut to 32 bits (Java: a cast)."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _is_tie(number: float) -> bool:
    """Whether it lies exactly between two numbers of 32 bits."""
    near = float32(number)
    if math.isinf(near):
        return False
    return 2 * number - near != near and float32(2 * number - near) == 2 * number - near
