"""Base64 as Java decodes it: padding may be left out, and errors have Java's texts (Java: ``Base64.Decoder``)."""

from __future__ import annotations

import base64
import re

_DIGITS = re.compile(r"[A-Za-z0-9+/]*")


def decode(text: str) -> bytes:
    """Decode the text.

    Args:
        text: base64 in the basic alphabet, its characters of one byte each.

    Raises:
        ValueError: it is malformed; with Java's text.
    """
    if len(text) == 1:
        raise ValueError("Input byte[] should at least have 2 bytes for base64 bytes")
    digits = _DIGITS.match(text)
    assert digits
    rest = text[digits.end() :]
    if rest and rest[0] != "=":
        raise ValueError(f"Illegal base64 character {_signed(rest[0]):x}")
    dangling = digits.end() % 4
    if rest and (dangling == 0 or (dangling == 2 and not rest.startswith("=="))):
        raise ValueError("Input byte array has wrong 4-byte ending unit")
    if dangling == 1:
        raise ValueError("Last unit does not have enough valid bits")
    padding = "=" * (-digits.end() % 4)
    if len(rest) > len(padding):
        raise ValueError(f"Input byte array has incorrect ending byte at {digits.end() + len(padding)}")
    return base64.b64decode(digits[0] + padding)


def _signed(character: str) -> int:
    # Java prints its bytes, which are signed.
    return int.from_bytes(character.encode("latin-1"), signed=True)
