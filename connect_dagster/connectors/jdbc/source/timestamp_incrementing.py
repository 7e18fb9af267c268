"""Offsets and conditions of incremental modes, pure: without a database and Spark.

Java: ``TimestampIncrementingOffset``, ``TimestampIncrementingCriteria``, ``OffsetProtocols``.

Times are nanoseconds since 1970 in UTC. A database without time zones has local times in ``db.timezone``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self
from zoneinfo import ZoneInfo

from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.errors import ConnectError, java_text
from connect_dagster.java.hashes import hash_map_order, string_hash

INCREMENTING, TIMESTAMP, NANOS = "incrementing", "timestamp", "timestamp_nanos"
PROTOCOL, TABLE, QUERY, SNAPSHOT = "protocol", "table", "query", "snapshot"
KEY = "key"
_SECOND, _MILLISECOND = 1_000_000_000, 1_000_000
_EPOCH = datetime(1970, 1, 1)

Partition = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TimestampIncrementingOffset:
    """The last row of a table that was read.

    Attributes:
        timestamp: its timestamp; ``None`` in modes without, or when nothing was read.
        incrementing: its incrementing column; ``None`` in the same cases.
    """

    timestamp: int | None = None
    incrementing: int | None = None

    @property
    def begin_timestamp(self) -> int:
        """Return the timestamp after which rows are new."""
        return 0 if self.timestamp is None else self.timestamp

    @property
    def begin_incrementing(self) -> int:
        """Return the number after which rows are new."""
        return -1 if self.incrementing is None else self.incrementing

    @property
    def order(self) -> tuple[int, int]:
        """Return the values that offsets compare by."""
        return self.begin_timestamp, self.begin_incrementing

    def to_offset(self) -> dict[str, int]:
        """Return Kafka Connect's source offset."""
        offset: dict[str, int] = {}
        if self.incrementing is not None:
            offset[INCREMENTING] = self.incrementing
        if self.timestamp is not None:
            offset[TIMESTAMP] = self.timestamp // _MILLISECOND
            offset[NANOS] = self.timestamp % _SECOND
        return offset

    @classmethod
    def of_offset(cls, offset: Mapping[str, Any] | None) -> Self:
        """Parse a source offset, as any version of Java's connector, or this one, wrote it.

        Raises:
            ConnectError: a value is not a whole number.
        """
        offset = offset or {}
        milliseconds, nanos = _whole(offset, TIMESTAMP), _whole(offset, NANOS)
        timestamp = None
        if milliseconds is not None:
            timestamp = milliseconds * _MILLISECOND
            if nanos is not None:
                timestamp = timestamp // _SECOND * _SECOND + nanos
        return cls(timestamp, _whole(offset, INCREMENTING))


@dataclass(frozen=True, slots=True)
class TimestampIncrementingCriteria:
    """The columns that define which rows are new (Java: ``TimestampIncrementingCriteria``).

    Attributes:
        timestamp: expression for a row's time; ``None`` in modes without.
        incrementing: the quoted column whose values only grow; ``None`` in modes without.
    """

    timestamp: str | None = None
    incrementing: str | None = None

    @property
    def order(self) -> str:
        """Return the columns that rows are sorted by."""
        return ",".join(filter(None, (self.timestamp, self.incrementing)))

    @property
    def text(self) -> str:
        """Return condition and order with a ``?`` for each value, as logged; empty where all rows are read."""
        where = self._where("?", "?", "?")
        return f" WHERE {where} ORDER BY {self.order} ASC" if where else ""

    def newer(self, begin: str, number: int, end: str) -> str:
        """Return the condition for new rows.

        Args:
            begin: literal of the timestamp up to which rows were read.
            number: the incrementing value up to which rows were read.
            end: literal of the timestamp before which rows are read.
        """
        return self._where(begin, str(number), end)

    def up_to(self, time: str, offset: TimestampIncrementingOffset) -> str:
        """Return the condition for rows up to an offset, whose timestamp is the literal ``time``."""
        number = offset.begin_incrementing
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


@dataclass(frozen=True, slots=True)
class Zone:
    """The time zone of a database's clock (``db.timezone``)."""

    name: str = "UTC"

    def instant(self, wall: int) -> int:
        """Return the instant of a local time; the first of two."""
        return wall - self._ahead(_EPOCH + timedelta(seconds=wall // _SECOND), on_wall=True)

    def text(self, instant: int) -> str:
        """Return the local time of an instant, such as ``2022-01-23 02:26:25.5``."""
        moment = _EPOCH + timedelta(seconds=instant // _SECOND)
        shown = moment + timedelta(microseconds=self._ahead(moment, on_wall=False) // 1000)
        fraction = f"{instant % _SECOND:09d}".rstrip("0")
        return f"{shown:%Y-%m-%d %H:%M:%S}{'.' if fraction else ''}{fraction}".rjust(19, "0")

    def _ahead(self, moment: datetime, *, on_wall: bool) -> int:
        """Return the nanoseconds that the clock is ahead of UTC at a local time, or at a time in UTC."""
        zone = ZoneInfo(self.name)
        aware = moment.replace(tzinfo=zone) if on_wall else moment.replace(tzinfo=ZoneInfo("UTC")).astimezone(zone)
        ahead = aware.utcoffset() or timedelta(0)
        return (ahead.days * 86_400 + ahead.seconds) * _SECOND


def table_partition(table: TableId) -> dict[str, str]:
    """Return the source partition of a table in the current protocol."""
    return {TABLE: str(table), PROTOCOL: "1"}


def old_table_partition(table: TableId) -> dict[str, str]:
    """Return the source partition of a table as Java's connector up to version 5.0 wrote it."""
    return {TABLE: table.name}


def query_partition() -> dict[str, str]:
    """Return the source partition of a query."""
    return {QUERY: QUERY}


def snapshot_partition(partition: Partition, key: str) -> dict[str, str]:
    """Return the source partition of a scan in the order of a table's key."""
    return {**partition, SNAPSHOT: key}


def java_maps_text(entries: Sequence[tuple[Partition, Mapping[str, Any] | None]]) -> str:
    """Return partitions with their offsets as Java prints a ``HashMap`` of maps."""
    ordered = sorted(entries, key=lambda entry: _bucket(entry[0]))
    shown = (f"{java_map_text(key)}={'null' if value is None else java_map_text(value)}" for key, value in ordered)
    return f"{{{', '.join(shown)}}}"


def java_map_text(entries: Mapping[str, Any]) -> str:
    """Return a map as Java prints a ``HashMap``."""
    return "{" + ", ".join(f"{key}={java_text(entries[key])}" for key in hash_map_order(list(entries))) + "}"


def _bucket(partition: Partition) -> int:
    """Return the bucket of a map as a key of a small ``HashMap`` (Java: ``AbstractMap.hashCode``)."""
    value = sum(string_hash(key) ^ string_hash(text) for key, text in partition.items()) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 15


def _whole(offset: Mapping[str, Any], name: str) -> int | None:
    value = offset.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ConnectError(f"Stored offset {dict(offset)} is not a position: '{name}' must be a whole number")
