"""Options whose names are nearly those of others: what was meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MOST_EDITS = 2
_SHORTEST = 8  # two edits make another word of a shorter name


@dataclass(frozen=True, slots=True)
class Misspelling:
    """A name that is not known.

    Attributes:
        given: that name.
        near: the known one, perhaps an old one.
        present: its present name.
    """

    given: str
    near: str
    present: str

    def __str__(self) -> str:
        """Return the text of a warning."""
        meant = self.near if self.near == self.present else f"{self.near}, which is {self.present} now,"
        return f"The option {self.given} does not exist: was {meant} meant?"


def misspellings(given: Iterable[str], names: Mapping[str, str], prefixes: Mapping[str, str]) -> Iterator[Misspelling]:
    """Yield the names that are at most two edits away from a known one.

    Args:
        given: names of a configuration.
        names: that are known, each with its present name.
        prefixes: of further known names, each ending with a dot, with the present prefix.
    """
    for name in given:
        if name not in names and not name.startswith(tuple(prefixes)) and len(name) >= _SHORTEST:
            near = min((*_whole(name, names), *_begun(name, prefixes)), default=None)
            if near is not None:
                yield Misspelling(name, near[1], near[2])


def edits(one: str, other: str, most: int) -> int:
    """Return the fewest letters to insert, delete or replace to get from one text to another, ``most + 1`` if more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        above, row = row, [place]
        for at, opposite in enumerate(other):
            row.append(min(above[at + 1] + 1, row[at] + 1, above[at] + (letter != opposite)))
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


_Near = tuple[int, str, str]


def _whole(name: str, names: Mapping[str, str]) -> Iterator[_Near]:
    for known, present in names.items():
        distance = edits(name, known, MOST_EDITS)
        if distance <= MOST_EDITS:
            yield distance, known, present


def _begun(name: str, prefixes: Mapping[str, str]) -> Iterator[_Near]:
    """Compare as many parts of the name as a prefix has."""
    parts = name.split(".")
    for prefix, present in prefixes.items():
        count = prefix.count(".")
        distance = edits(".".join(parts[:count]) + ".", prefix, MOST_EDITS)
        if len(parts) > count and distance <= MOST_EDITS:
            rest = ".".join(parts[count:])
            yield distance, prefix + rest, present + rest
