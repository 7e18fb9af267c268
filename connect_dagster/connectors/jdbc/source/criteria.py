"""Which rows are new: the conditions of each mode, in the words that users know from the log. Pure.

Java: ``TimestampIncrementingCriteria``.
"""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.jdbc.source.positions import Position


@dataclass(frozen=True, slots=True)
class Criteria:
    """The columns by which rows are found to be new.

    Attributes:
        timestamp: expression for a row's time; ``None`` in modes without.
        incrementing: the quoted column whose values only grow; likewise.
    """

    timestamp: str | None = None
    incrementing: str | None = None

    @property
    def order(self) -> str:
        """Columns that rows are sorted by."""
        return ",".join(filter(None, (self.timestamp, self.incrementing)))

    @property
    def text(self) -> str:
        """Condition and order with a ``?`` for each value, with a blank before; empty where all rows are read."""
        where = self._where("?", "?", "?")
        return f" WHERE {where} ORDER BY {self.order} ASC" if where else ""

    def newer(self, begin: str, number: int, end: str) -> str:
        """Condition for rows that are new.

        Args:
            begin: literal of the time up to which rows were read.
            number: the incrementing column's value up to which they were.
            end: literal of the time from which on rows are left for later.
        """
        return self._where(begin, str(number), end)

    def up_to(self, time: str, position: Position) -> str:
        """Condition for rows not after a position, whose time is this literal."""
        number = position.begin_incrementing
        if self.timestamp is None:
            return f"{self.incrementing} <= {number}"
        if self.incrementing is None:
            return f"{self.timestamp} <= {time}"
        return f"({self.timestamp} < {time} OR ({self.timestamp} = {time} AND {self.incrementing} <= {number}))"

    def _where(self, begin: str, number: str, end: str) -> str:
        time, key = self.timestamp, self.incrementing
        if time and key:
            return f"{time} < {end} AND (({time} = {begin} AND {key} > {number}) OR {time} > {begin})"
        if time:
            return f"{time} > {begin} AND {time} < {end}"
        return f"{key} > {number}" if key else ""
