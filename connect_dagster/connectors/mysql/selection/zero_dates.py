"""Values in place of dates such as 0000-00-00, as options write them (Debezium: ``ZeroDateFallbackConverter``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NONE = "null"


def zero_date_value(kind: str, text: str) -> int | str | None:
    """Return the value of a text for a type: days, milliseconds, or a time with a zone; ``None`` for NULL.

    Args:
        kind: DATE, DATETIME or TIMESTAMP.
        text: such as 1970-01-01, 1970-01-01 00:00:00 or 1970-01-01T00:00:00Z; NULL, or nothing, for null.

    Raises:
        ValueError: it is neither.
    """
    plain = text.strip()
    return None if plain.lower() in ("", _NONE) else _PARSERS[kind](plain)


def _days(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH.date()).days


def _milliseconds(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int((moment - _EPOCH).total_seconds()) * 1000


def _zoned(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


_PARSERS: Mapping[str, Callable[[str], int | str]] = {"DATE": _days, "DATETIME": _milliseconds, "TIMESTAMP": _zoned}
ZERO_DATE_TYPES = tuple(_PARSERS)
"""Types of columns that have such dates."""
