"""JSON text exactly as Jackson writes it, for the little that is written outside of Spark (schemas with defaults).

Pure: plain Python values in, text out.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np

from connect_dagster.java.jackson import json_text


def dumps(value: Any, *, halves: bool = True) -> str:
    """Return the JSON text without blanks, raw UTF-8, numbers as Java prints them; ``halves`` as for ``json_text``."""
    match value:
        case dict():
            items = (f"{json_text(key, halves=halves)}:{dumps(item, halves=halves)}" for key, item in value.items())
            return "{" + ",".join(items) + "}"
        case list():
            return "[" + ",".join(dumps(item, halves=halves) for item in value) + "]"
        case str():
            return json_text(value, halves=halves)
        case np.floating() | float():
            return _float(value)
        case Decimal():
            return java_decimal(value)
        case _:
            return json.dumps(value)


def java_double(value: float | np.float32) -> str:
    """Return a number as ``Double.toString`` (or ``Float.toString``) prints it: ``1.0``, ``1.0E10``, ``1.0E-5``,
    ``NaN``.
    """
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    sign = "-" if np.signbit(value) else ""
    shortest = Decimal(str(abs(value)))
    if len(shortest.as_tuple().digits) == 1:
        # Java takes the nearest of those with two digits, which shows at the smallest numbers: 4.9E-324.
        shortest = Decimal(f"{Decimal(abs(float(value))):.1e}")
    _, numerals, exponent = shortest.as_tuple()
    digits = "".join(map(str, numerals))
    return sign + _java_digits(digits, len(digits) + int(exponent))


def java_decimal(value: Decimal) -> str:
    """Return a number as ``BigDecimal.toString`` prints it: as Python's ``Decimal``, but for ``E+``."""
    return str(value)


def _java_digits(digits: str, point: int) -> str:
    """Return digits with the decimal point after ``point`` of them, in plain or scientific form as Java chooses."""
    digits = digits.lstrip("0")
    if not digits:
        return "0.0"
    digits = digits.rstrip("0") or "0"
    if -3 < point <= 7:
        padded = "0" * max(0, 1 - point) + digits.ljust(point, "0")
        split = max(point, 1)
        return f"{padded[:split]}.{padded[split:] or '0'}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _float(value: float | np.float32) -> str:
    text = java_double(value)
    return text if np.isfinite(value) else f'"{text}"'
