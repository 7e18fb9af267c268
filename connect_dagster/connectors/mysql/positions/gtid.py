"""Sets of global transaction ids, of MySQL and of MariaDB: text, union, difference, containment.

MySQL counts the transactions of each server and keeps all intervals of numbers that were executed. MariaDB counts
by domain, and keeps the last id of each domain; which servers wrote to a domain matters only for containment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from connect_dagster.errors import DataError

Key = TypeVar("Key", int, str)
Value = TypeVar("Value")
Interval: TypeAlias = tuple[int, int]
"""First and last number, both included."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INTERVAL = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_MARIADB = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
_NEITHER = "uuid:1-5:7,… (MySQL) or domain-server-number,… (MariaDB)"


@dataclass(frozen=True)
class MySqlGtidSet:
    """Executed transactions by source (``gtid_executed``).

    Attributes:
        intervals: of each source's UUID in lower case; sorted, those that touch as one.
    """

    intervals: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> MySqlGtidSet:
        """Return the set of a text such as ``3e11fa47-…:1-77:80,…``, in which lines may be broken.

        Raises:
            DataError: it is not such a text; tags (MySQL 8.3) are not known.
        """
        found: dict[str, list[Interval]] = {}
        for part in filter(None, _parts(text)):
            source, *intervals = (piece.strip() for piece in part.split(":"))
            if not _UUID.fullmatch(source) or not intervals:
                raise _invalid(text, part)
            found.setdefault(source.lower(), []).extend(_interval(text, interval) for interval in intervals)
        return cls({source: _joined(found[source]) for source in sorted(found)})

    def __str__(self) -> str:
        """Return the text in Debezium's form, in which a single number is an interval as well."""
        return ",".join(
            ":".join([source, *(f"{first}-{last}" for first, last in intervals)])
            for source, intervals in self.intervals.items()
        )

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def plus(self, source: str, first: int, last: int | None = None) -> MySqlGtidSet:
        """Return the set with more transactions of a source: one, or all up to the last."""
        more = (first, first if last is None else last)
        return MySqlGtidSet(_sorted({**self.intervals, source: _joined([*self.intervals.get(source, ()), more])}))

    def __or__(self, other: MySqlGtidSet) -> MySqlGtidSet:
        """Return the union."""
        sources = {*self.intervals, *other.intervals}
        both = {one: [*self.intervals.get(one, ()), *other.intervals.get(one, ())] for one in sources}
        return MySqlGtidSet(_sorted({source: _joined(intervals) for source, intervals in both.items()}))

    def __sub__(self, other: MySqlGtidSet) -> MySqlGtidSet:
        """Return the transactions that the other set does not have."""
        left = {
            source: tuple(_without(intervals, other.intervals.get(source, ())))
            for source, intervals in self.intervals.items()
        }
        return MySqlGtidSet({source: intervals for source, intervals in left.items() if intervals})

    def contains(self, other: MySqlGtidSet) -> bool:
        """Return whether all transactions of the other set are in this one."""
        return not other - self

    def retained(self, keep: Callable[[str], bool]) -> MySqlGtidSet:
        """Return the set of the sources that a filter keeps (``gtid.source.includes``)."""
        return MySqlGtidSet({source: intervals for source, intervals in self.intervals.items() if keep(source)})


@dataclass(frozen=True)
class MariaDbGtidSet:
    """The last transactions of MariaDB's domains (``gtid_current_pos``).

    Attributes:
        numbers: the last one of each server in a domain, that of the domain's last transaction at the end.
    """

    numbers: Mapping[int, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> MariaDbGtidSet:
        """Return the set of a text such as ``0-1-4711,1-1-12``; of two ids in a domain the later one in it counts.

        Raises:
            DataError: it is not such a text.
        """
        found = cls()
        for part in filter(None, _parts(text)):
            match = _MARIADB.fullmatch(part)
            if match is None:
                raise _invalid(text, part)
            found = found.plus(*map(int, match.groups()))
        return found

    def __str__(self) -> str:
        """Return the last id of each domain."""
        return ",".join(f"{domain}-{server}-{number}" for domain, server, number in self._last())

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def plus(self, domain: int, server: int, number: int) -> MariaDbGtidSet:
        """Return the set after another transaction."""
        others = {one: last for one, last in self.numbers.get(domain, {}).items() if one != server}
        return MariaDbGtidSet(_sorted({**self.numbers, domain: {**others, server: number}}))

    def __or__(self, other: MariaDbGtidSet) -> MariaDbGtidSet:
        """Return the set that is ahead in each domain."""
        ahead = {domain: (number, server) for domain, server, number in self._last()}
        both = self
        for domain, server, number in other._last():
            if (number, server) > ahead.get(domain, (-1, -1)):
                both = both.plus(domain, server, number)
        return both

    def contains(self, other: MariaDbGtidSet) -> bool:
        """Return whether no server in any domain of the other set is ahead of this one."""
        return all(
            number <= self.numbers.get(domain, {}).get(server, -1)
            for domain, servers in other.numbers.items()
            for server, number in servers.items()
        )

    def is_reached_by(self, other: MariaDbGtidSet) -> bool:
        """Return whether the other set is as far as this one in each of its domains, whichever servers wrote to it."""
        numbers = {domain: number for domain, _, number in other._last()}
        return all(number <= numbers.get(domain, 0) for domain, _, number in self._last())

    def retained(self, keep: Callable[[str], bool]) -> MariaDbGtidSet:
        """Return the set of the ``domain-server`` that a filter keeps."""
        kept = {
            domain: {server: number for server, number in servers.items() if keep(f"{domain}-{server}")}
            for domain, servers in self.numbers.items()
        }
        return MariaDbGtidSet({domain: servers for domain, servers in kept.items() if servers})

    def _last(self) -> Iterator[tuple[int, int, int]]:
        for domain, servers in self.numbers.items():
            server, number = list(servers.items())[-1]
            yield domain, server, number


GtidSet: TypeAlias = MySqlGtidSet | MariaDbGtidSet


def parse_gtid_set(text: str) -> GtidSet:
    """Return the set of a text in either form.

    Raises:
        DataError: it is neither.
    """
    first = next(filter(None, _parts(text)), "")
    return MariaDbGtidSet.parse(text) if _MARIADB.fullmatch(first) else MySqlGtidSet.parse(text)


def _parts(text: str) -> Iterable[str]:
    return (part.strip() for part in text.split(","))


def _sorted(found: Mapping[Key, Value]) -> dict[Key, Value]:
    return {key: found[key] for key in sorted(found)}


def _interval(text: str, interval: str) -> Interval:
    match = _INTERVAL.fullmatch(interval)
    first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not 0 < first <= last:
        raise _invalid(text, interval)
    return first, last


def _joined(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return intervals in order, those that touch or overlap as one."""
    joined: list[Interval] = []
    for first, last in sorted(intervals):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _without(intervals: Iterable[Interval], others: tuple[Interval, ...]) -> Iterator[Interval]:
    for first, last in intervals:
        start = first
        for other_first, other_last in others:
            if other_last < start or other_first > last:
                continue
            if other_first > start:
                yield start, other_first - 1
            start = other_last + 1
        if start <= last:
            yield start, last


def _invalid(text: str, part: str) -> DataError:
    return DataError(f"Not a set of GTIDs: {part!r} in {text!r}; it is written as {_NEITHER}")
