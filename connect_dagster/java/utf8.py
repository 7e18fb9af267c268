"""UTF-8 as Java decodes it (``InputStreamReader``), where Python's decoder would replace differently."""

from __future__ import annotations

import re

# Half of a surrogate pair in UTF-8: one malformed character to Java, three to Python.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_MALFORMED = b"\xff"


def decode_replacing(data: bytes) -> str:
    """Decode bytes, with U+FFFD for each sequence that is not UTF-8."""
    return _SURROGATE.sub(_MALFORMED, data).decode("utf-8", "replace")


def utf16_units(data: bytes) -> int:
    """Return the number of Java ``char`` in these bytes."""
    return len(decode_replacing(data).encode("utf-16-le")) // 2
