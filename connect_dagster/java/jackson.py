"""JSON written byte for byte as Jackson writes it, and read as leniently as Jackson reads it."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any, NoReturn

_WIDE = re.compile("[\U00010000-\U0010ffff]")
# An escape as Python writes it; the second alternative steps over an escaped backslash.
_CONTROL = re.compile(r"\\(?:u(00[01][0-9a-f])|.)")

_DEEPEST = 500
# A text without end is not JSON, whatever is in it.
_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_CLOSING = {b"[": b"]", b"{": b"}"}


def json_text(value: Any, *, halves: bool = True) -> str:
    """Encode JSON without blanks, keys in their order, digits of escapes in upper case.

    Args:
        value: what ``json.dumps`` takes.
        halves: text beyond 16 bits as two escaped halves, as Jackson writes bytes; where it writes characters, they
            stay as they are.

    Raises:
        ValueError: a number that JSON does not know.
    """
    text = _CONTROL.sub(_upper, json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    return _WIDE.sub(_halves, text) if halves else text


def to_json(value: Any) -> bytes:
    """Encode JSON as UTF-8 bytes."""
    return json_text(value).encode()


def from_json(data: bytes) -> Any:
    """Decode a JSON text.

    Raises:
        ValueError: it is not JSON; ``NaN`` and its like are not; or it is nested deeper than 500 levels. Jackson's
            limit is 1,000, at which Python's own recursion ends, for the text of an error as well.
    """
    if sum(map(data.count, b"[{")) > _DEEPEST and _is_too_deep(data):
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    return json.loads(data, parse_constant=_refuse)


def closing_brackets(part: bytes) -> bytes:
    """Return the brackets that end the arrays and objects which a valid part of a JSON text leaves open."""
    left_open: list[bytes] = []
    for found in _TEXT_OR_BRACKET.finditer(part):
        if found[0] in _CLOSING:
            left_open.append(_CLOSING[found[0]])
        elif found[0] in _STEPS:
            left_open.pop()
    return b"".join(reversed(left_open))


def _is_too_deep(data: bytes) -> bool:
    steps = (_STEPS.get(found[0], 0) for found in _TEXT_OR_BRACKET.finditer(data))
    return any(depth > _DEEPEST for depth in accumulate(steps))


def _halves(found: re.Match[str]) -> str:
    digits = found[0].encode("utf-16-be").hex().upper()
    return f"\\u{digits[:4]}\\u{digits[4:]}"


def _upper(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f"\\u{found[1].upper()}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
