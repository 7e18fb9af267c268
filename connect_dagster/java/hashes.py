"""Java's ``String.hashCode``, and the orders that follow from it where bytes, texts or decisions depend on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_SMALLEST_TABLE = 16


def string_hash(text: str) -> int:
    """Return ``String.hashCode``: over UTF-16 units, as a signed number of 32 bits."""
    units = string_order(text)
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def string_order(text: str) -> bytes:
    """Return a sort key that orders as ``String.compareTo``: by UTF-16 units."""
    return text.encode("utf-16-be", errors="surrogatepass")


def hash_map_order(strings: Iterable[str], initial_capacity: int = _SMALLEST_TABLE) -> list[str]:
    """Return distinct texts in the order of a ``HashMap`` or ``HashSet`` that was filled one by one in the given order.

    Filled so, the table doubles whenever it is three quarters full. Ties within a bucket keep the order of filling.

    Args:
        strings: the keys.
        initial_capacity: of ``new HashMap<>(initialCapacity)``, from which the next power of two is made.
    """
    keys, capacity = dict.fromkeys(strings), 1
    while capacity < initial_capacity:
        capacity *= 2
    while len(keys) > capacity * 3 // 4:
        capacity *= 2
    return _in_table(keys, capacity)


def hash_set_order(strings: Collection[str]) -> list[str]:
    """Return distinct texts in the order of ``new HashSet<>(strings)``.

    That constructor makes the table large enough at once, and a little larger than as many additions would.
    """
    capacity = _SMALLEST_TABLE
    while capacity < int(len(strings) / 0.75) + 1:
        capacity *= 2
    return _in_table(dict.fromkeys(strings), capacity)


def _in_table(keys: Iterable[str], capacity: int) -> list[str]:
    return sorted(keys, key=lambda key: _spread(string_hash(key)) & (capacity - 1))


def _spread(value: int) -> int:
    """Return ``HashMap.hash``: the upper half takes part in the choice of the bucket."""
    unsigned = value & 0xFFFFFFFF
    return unsigned ^ (unsigned >> 16)
