"""ISO dates, times and timestamps read as leniently as Java reads them (Java: ``SimpleDateFormat``), in UTC.

A month 13 is the January after, what follows the date is not looked at, and what lies before October 1582 is of the
Julian calendar. Only for the fixed patterns of Connect's ``Values``.
"""

from __future__ import annotations

import datetime
import re

DAY_MS = 86_400_000

_NUMBER = r"[ \t]*(-?\d+)"
_DATE = rf"{_NUMBER}-{_NUMBER}-{_NUMBER}"
_TIME = rf"{_NUMBER}:{_NUMBER}:{_NUMBER}\.{_NUMBER}Z"
_DATE_PATTERN, _TIME_PATTERN = re.compile(_DATE), re.compile(_TIME)
_TIMESTAMP_PATTERN = re.compile(f"{_DATE}T{_TIME}")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_GREGORIAN_YEAR = 1582
_GREGORIAN = datetime.date(_GREGORIAN_YEAR, 10, 15).toordinal() - _EPOCH


def date(text: str) -> int | None:
    """Return epoch milliseconds of text like ``2022-01-21``; ``None`` where it does not begin so."""
    found = _DATE_PATTERN.match(text)
    return None if found is None else _days(*map(int, found.groups())) * DAY_MS


def time(text: str) -> int | None:
    """Return milliseconds since midnight of text like ``09:44:13.250Z``."""
    found = _TIME_PATTERN.match(text)
    return None if found is None else _milliseconds(*map(int, found.groups()))


def timestamp(text: str) -> int | None:
    """Return epoch milliseconds of text like ``2022-01-21T09:44:13.250Z``."""
    found = _TIMESTAMP_PATTERN.match(text)
    if found is None:
        return None
    year, month, day, *clock = map(int, found.groups())
    return _days(year, month, day) * DAY_MS + _milliseconds(*clock)


def _milliseconds(hour: int, minute: int, second: int, millisecond: int) -> int:
    return ((hour * 60 + minute) * 60 + second) * 1000 + millisecond


def _days(year: int, month: int, day: int) -> int:
    """Return days since 1970."""
    years, month = divmod(month - 1, 12)
    gregorian = _gregorian(year + years, month + 1) + day - 1
    # Java looks at the year as it is written, whatever its months and days lead to.
    if year >= _GREGORIAN_YEAR and gregorian >= _GREGORIAN:
        return gregorian
    return _julian(year + years, month + 1) + day - 1


def _before(year: int, month: int) -> tuple[int, int]:
    """Return years, and days in the year before a month, of years that begin in March."""
    shifted = year - 1 if month <= 2 else year
    return shifted, (153 * ((month + 9) % 12) + 2) // 5


def _gregorian(year: int, month: int) -> int:
    years, days = _before(year, month)
    return years * 365 + years // 4 - years // 100 + years // 400 + days - 719_468


def _julian(year: int, month: int) -> int:
    years, days = _before(year, month)
    return years * 365 + years // 4 + days - 719_470
