"""Names of schemas and fields that Avro takes (Debezium: ``SchemaNameAdjuster``).

>>> adjusted("shop-1.orders.Key", "avro")
'shop_1.orders.Key'
>>> adjusted("shop-1.orders.Key", "avro_unicode")
'shop_u002d1.orders.Key'
"""

from __future__ import annotations

import string
from collections.abc import Iterator

MODES = ("none", "avro", "avro_unicode")
"""Values of ``schema.name.adjustment.mode`` and ``field.name.adjustment.mode``."""

_LETTERS = frozenset(string.ascii_letters)
_DIGITS = frozenset(string.digits)


def adjusted(name: str, mode: str, *, is_field: bool = False) -> str:
    """Return a name without characters that Avro's names cannot have.

    Args:
        name: of a schema or a field.
        mode: one of ``MODES``: ``avro`` writes ``_`` for such a character, ``avro_unicode`` its code.
        is_field: whether it is the name of a field, in which a dot is such a character as well.
    """
    if mode == "none":
        return name
    as_unicode = mode == "avro_unicode"
    # There the underscore begins a code.
    first = _LETTERS if as_unicode else _LETTERS | {"_"}
    others = first | _DIGITS if is_field else first | _DIGITS | {"."}
    return "".join(
        unit if unit in (others if place else first) else _replaced(unit, as_unicode, is_first=not place)
        for place, unit in enumerate(_units(name))
    )


def _replaced(unit: str, as_unicode: bool, *, is_first: bool) -> str:
    if as_unicode:
        code = f"{ord(unit):x}"
        return f"_u{code if len(code) > 2 else '00' + code}"
    return f"_{unit}" if is_first and unit.isdecimal() else "_"


def _units(text: str) -> Iterator[str]:
    """Yield the UTF-16 units of a text, which are Java's characters."""
    data = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        yield chr(high << 8 | low)
