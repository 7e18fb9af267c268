"""Characters beyond 16 bits in JSON text, as Jackson writes them into UTF-8: as two escaped surrogates.

Spark writes them raw. Few records have any: they are told by their values, so that the text of most is made once.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

_WIDE = r"[\x{10000}-\x{10FFFF}]"
_CUT = "\x01"  # JSON text has no raw control characters


def is_wide(text: Column) -> Column:
    """Return whether a string column has one; null where it is null. Lengths differ for all but ASCII: a cheap test
    first.
    """
    return (F.octet_length(text) != F.char_length(text)) & text.rlike(_WIDE)


def has_wide(text: str) -> bool:
    """Return whether a text of Python's has one."""
    return max(text, default="") > "\uffff"


def escaped(text: Column) -> Column:
    r"""Return a text that has such characters with each as ``\uD83D\uDE00``."""
    pieces = F.split(F.regexp_replace(text, f"({_WIDE})", f"{_CUT}$1{_CUT}"), _CUT, -1)
    return F.array_join(F.transform(pieces, _escaped_if_wide), "")


def _escaped_if_wide(piece: Column) -> Column:
    digits = F.hex(F.encode(piece, "UTF-16BE"))
    pair = F.concat(F.lit("\\u"), F.substring(digits, 1, 4), F.lit("\\u"), F.substring(digits, 5, 4))
    return F.when((F.char_length(piece) == 1) & (F.octet_length(piece) == 4), pair).otherwise(piece)
