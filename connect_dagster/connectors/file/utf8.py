"""Bytes as Java's UTF-8 decoder reads them (``InputStreamReader``), where Python's would replace differently."""

from __future__ import annotations

import re

# Half of a surrogate pair in UTF-8: one malformed character to Java, three to Python.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_MALFORMED = b"\xff"


def decode_replacing(data: bytes) -> str:
    """Text of the bytes, with U+FFFD for each sequence that is not UTF-8."""
    return _SURROGATE.sub(_MALFORMED, data).decode("utf-8", "replace")


def utf16_units(data: bytes) -> int:
    """How many ``char`` these bytes are in Java."""
    return len(decode_replacing(data).encode("utf-16-le")) // 2
