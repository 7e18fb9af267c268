"""What was written, and where it has arrived: numbered records of one flow. Knows neither brokers nor files."""

import re
from array import array
from collections.abc import Iterable

LINE_BYTES = 40
_NUMBER = re.compile(rb"n(\d{12});")
_FORM = "n%012d;"


def line(number: int) -> str:
    """A record's text, without a line end, one byte shorter than `LINE_BYTES`."""
    return (_FORM % number).ljust(LINE_BYTES - 1, ".")


def numbers(text: bytes) -> list[int]:
    """The numbers of all records in a text; what is torn is none."""
    return [int(found) for found in _NUMBER.findall(text)]


class Ledger:
    """Numbers from 0 on that were written to a source, and how often each arrived at each place.

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
        """Names of all places."""
        return list(self._counts)

    def write(self, count: int) -> range:
        """Give out the next numbers."""
        given = range(self.written, self.written + count)
        for counts in self._counts.values():
            counts.extend([0] * count)
        self.written += count
        return given

    def arrive(self, place: str, found: Iterable[int]) -> None:
        """Note numbers that arrived at a place.

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
        """Allow numbers not to arrive: a topic that was deleted had them, or they were reported as lost."""
        self._excused[place].update(found)

    def missing(self, place: str, end: int | None = None) -> list[int]:
        """Numbers below `end`, by default all, that should have arrived at a place and did not."""
        counts, excused = self._counts[place], self._excused[place]
        end = self.written if end is None else end
        self._advance(place, end)
        return [n for n in range(self._complete[place], end) if not counts[n] and n not in excused]

    def overtaken(self, place: str, end: int) -> list[int]:
        """Those of `missing` that are below the highest number that arrived: no backlog, so lost or late."""
        counts = self._counts[place]
        highest = next((n for n in range(self.written - 1, -1, -1) if counts[n]), -1)
        return [number for number in self.missing(place, end) if number < highest]

    def duplicates(self, place: str) -> int:
        """How many arrivals were of a number that was there already."""
        return self._arrived[place] - self._distinct[place]

    def _advance(self, place: str, end: int) -> None:
        """Move the border below which nothing is missing, so that no look begins at 0."""
        counts, excused, border = self._counts[place], self._excused[place], self._complete[place]
        while border < end and (counts[border] or border in excused):
            excused.discard(border)
            border += 1
        self._complete[place] = border
