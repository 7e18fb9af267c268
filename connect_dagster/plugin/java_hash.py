"""The order in which Java's hash maps and sets iterate over strings, where bytes or texts of Java depend on it."""

from __future__ import annotations

from collections.abc import Iterable


def hash_map_order(strings: Iterable[str]) -> list[str]:
    """The order in which a ``java.util.HashMap`` iterates over strings that were put into it in the order given."""
    keys, capacity = list(strings), 16
    while len(keys) > capacity * 0.75:
        capacity *= 2
    return sorted(keys, key=lambda key: _spread(_hash(key)) & (capacity - 1))


def _hash(text: str) -> int:
    """``String.hashCode``, over UTF-16 units."""
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    """``HashMap.hash``: the upper half takes part in the choice of the bucket."""
    return value ^ (value >> 16)
