"""Numbers as Java reads and narrows them. Pure."""

from __future__ import annotations

import re
from decimal import Decimal

# Java takes any Unicode digit; an exponent has at most ten digits there.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_LARGEST_EXPONENT = 5000


def big_decimal(text: str) -> Decimal | None:
    """The number that ``new BigDecimal`` reads; ``None`` where it reads none."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def low_bits(number: Decimal, bits: int) -> int:
    """The integer part's lowest bits as a signed number (``BigDecimal.longValue`` and its like)."""
    if number.adjusted() > _LARGEST_EXPONENT:
        return 0  # such powers of ten end in zero bits, and are too long to write out
    half = 1 << (bits - 1)
    return (int(number) + half) % (1 << bits) - half
