"""The numbered records of one flow: written, arrived, missing. Knows neither brokers nor files."""

import re
from array import array
from collections.abc import Iterable

LINE_BYTES = 40
_NUMBER = re.compile(rb"n(\d{12});")
_FORM = "n%012d;"


def line(number: int) -> str:
    """Return a record's text, without a line end, one byte shorter than `LINE_BYTES`."""
    return (_FORM % number).ljust(LINE_BYTES - 1, ".")


def numbers(text: bytes) -> list[int]:
    """Return the numbers of all records in a text; a torn record has none."""
    return [int(found) for found in _NUMBER.findall(text)]


def ranges(found: Iterable[int]) -> list[str]:
    """Return ascending numbers as texts, `7` or `7-9`."""
    ends: list[list[int]] = []
    for number in found:
        if ends and ends[-1][1] == number - 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in ends]


class Ledger:
    """Numbers from 0 on that were written to a source, with the count of arrivals of each at each place.

    Args:
        places: names of the places where each number is to arrive.
    """

    def __init__(self, places: Iterable[str]) -> None:
        self.written = 0
        self._counts = {place: array("H") for place in places}
        self._excused: dict[str, set[int]] = {place: set() for place in self._counts}
        self._complete = dict.fromkeys(self._counts, 0)
        self._arrived = dict.fromkeys(self._counts, 0)
        self._distinct = dict.fromkeys(self._counts, 0)

    @property
    def places(self) -> list[str]:
        """Return the names of all places."""
        return list(self._counts)

    def write(self, count: int) -> range:
        """Return the next numbers, which count as written."""
        given = range(self.written, self.written + count)
        for counts in self._counts.values():
            counts.extend([0] * count)
        self.written += count
        return given

    def arrive(self, place: str, found: Iterable[int]) -> None:
        """Count numbers that arrived at a place.

        Raises:
            ValueError: a number that was never written.
        """
        counts = self._counts[place]
        for number in found:
            if number >= self.written:
                raise ValueError(f"{number} arrived at {place}, but only {self.written} numbers were written")
            self._arrived[place] += 1
            self._distinct[place] += counts[number] == 0
            counts[number] = min(counts[number] + 1, 65_535)

    def excuse(self, place: str, found: Iterable[int]) -> None:
        """Excuse numbers from arriving: a topic that was deleted had them, or they were reported as lost."""
        self._excused[place].update(found)

    def missing(self, place: str, end: int | None = None) -> list[int]:
        """Return the numbers below `end`, by default all, that should have arrived at a place and did not."""
        counts, excused = self._counts[place], self._excused[place]
        end = self.written if end is None else end
        self._advance(place, end)
        return [n for n in range(self._complete[place], end) if not counts[n] and n not in excused]

    def overtaken(self, place: str, end: int) -> list[int]:
        """Return those of `missing` below the highest number that arrived: no backlog, so lost or late."""
        counts = self._counts[place]
        highest = next((n for n in range(self.written - 1, -1, -1) if counts[n]), -1)
        return [number for number in self.missing(place, end) if number < highest]

    def duplicates(self, place: str) -> int:
        """Return the number of repeated arrivals."""
        return self._arrived[place] - self._distinct[place]

    def _advance(self, place: str, end: int) -> None:
        """Raise the border below which nothing is missing, so that no look begins at 0."""
        counts, excused, border = self._counts[place], self._excused[place], self._complete[place]
        while border < end and (counts[border] or border in excused):
            excused.discard(border)
            border += 1
        self._complete[place] = border
