"""Characters beyond 16 bits in JSON text, as Jackson writes them into UTF-8: as two escaped surrogates.

Spark writes them raw. Few records have any, so most pay for one comparison of lengths.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

_WIDE = r"[\x{10000}-\x{10FFFF}]"
_CUT = "\x01"  # JSON text has no raw control characters


def wide_possible(text: Column) -> Column:
    """Whether a string column holds more than ASCII: a cheap test before the exact one."""
    return F.octet_length(text) != F.char_length(text)


def escaped(text: Column) -> Column:
    r"""The text with each such character as ``\uD83D\uDE00``."""
    pieces = F.split(F.regexp_replace(text, f"({_WIDE})", f"{_CUT}$1{_CUT}"), _CUT, -1)
    joined = F.array_join(F.transform(pieces, _escaped_if_wide), "")
    return F.when(text.rlike(_WIDE), joined).otherwise(text)


def _escaped_if_wide(piece: Column) -> Column:
    digits = F.hex(F.encode(piece, "UTF-16BE"))
    pair = F.concat(F.lit("\\u"), F.substring(digits, 1, 4), F.lit("\\u"), F.substring(digits, 5, 4))
    return F.when((F.char_length(piece) == 1) & (F.octet_length(piece) == 4), pair).otherwise(piece)
