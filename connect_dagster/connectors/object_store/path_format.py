"""Directories named after a time by ``path.format``, whose letters are Joda's (``DateTimeFormat``).

Example:
    >>> import datetime as dt
    >>> PathFormat.parse("'year'=YYYY/'month'=MM").text(dt.datetime(2026, 3, 1))
    'year=2026/month=03'
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TEXT_FROM = 3  # letters: fewer are a number
_FULL_FROM = 4
_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z']+)")

Field = Callable[[dt.datetime, int], str]


def _number(value: Callable[[dt.datetime], int]) -> Field:
    return lambda time, width: str(value(time)).zfill(width)


def _year(value: Callable[[dt.datetime], int]) -> Field:
    return lambda time, width: f"{value(time) % 100:02}" if width == 2 else str(value(time)).zfill(width)


def _name(names: Sequence[str], place: Callable[[dt.datetime], int]) -> Field:
    return lambda time, width: names[place(time)] if width >= _FULL_FROM else names[place(time)][:3]


def _month(time: dt.datetime, width: int) -> str:
    if width < _TEXT_FROM:
        return str(time.month).zfill(width)
    return _name(_MONTHS, lambda one: one.month - 1)(time, width)


def _fraction(time: dt.datetime, width: int) -> str:
    return f"{time.microsecond:06}".ljust(width, "0")[:width]


_FIELDS: Mapping[str, Field] = {
    "Y": _year(lambda time: time.year),
    "y": _year(lambda time: time.year),
    "x": _year(lambda time: time.isocalendar().year),
    "w": _number(lambda time: time.isocalendar().week),
    "e": _number(lambda time: time.isoweekday()),
    "E": _name(_DAYS, lambda time: time.weekday()),
    "D": _number(lambda time: time.timetuple().tm_yday),
    "M": _month,
    "d": _number(lambda time: time.day),
    "a": lambda time, _: "AM" if time.hour < 12 else "PM",
    "K": _number(lambda time: time.hour % 12),
    "h": _number(lambda time: (time.hour - 1) % 12 + 1),
    "H": _number(lambda time: time.hour),
    "k": _number(lambda time: (time.hour - 1) % 24 + 1),
    "m": _number(lambda time: time.minute),
    "s": _number(lambda time: time.second),
    "S": _fraction,
}
_WORDS = frozenset("Ea")
"""Letters whose text depends on the language, as does M from three letters on."""


@dataclass(frozen=True, slots=True)
class PathFormat:
    """A parsed format.

    Attributes:
        parts: texts, and letters with how often they stand there.
        has_words: whether it has names of months or days, which are written in English.
    """

    parts: tuple[str | tuple[str, int], ...]
    has_words: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the format of a text.

        Raises:
            ValueError: a quotation does not end, or a letter has no meaning.
        """
        parts: list[str | tuple[str, int]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"the quotation that begins at character {at + 1} does not end")
            at = found.end()
            if letters := found["letters"]:
                if letters[0] not in _FIELDS:
                    allowed = ", ".join(sorted(_FIELDS))
                    raise ValueError(f"the letter {letters[0]} has no meaning; those with one are {allowed}")
                parts.append((letters[0], len(letters)))
            elif found["quoted"] is None:
                parts.append(found["other"])
            else:
                parts.append(found["quoted"].replace("''", "'") or "'")
        letters_of_words = (part for part in parts if isinstance(part, tuple))
        has_words = any(one in _WORDS or (one == "M" and width >= _TEXT_FROM) for one, width in letters_of_words)
        return cls(tuple(parts), has_words)

    def text(self, time: dt.datetime) -> str:
        """Return the directory of a local time."""
        return "".join(part if isinstance(part, str) else _FIELDS[part[0]](time, part[1]) for part in self.parts)
