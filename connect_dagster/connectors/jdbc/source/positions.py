"""Where a table has been read to, and how Kafka Connect's offsets say so (Java: ``OffsetProtocols``). Pure.

Times are nanoseconds since 1970 in UTC. A database's own times are those of a clock on the wall, in ``db.timezone``.
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
class Position:
    """A place in a table.

    Attributes:
        timestamp: time of the last row; ``None`` where no timestamp column counts, or nothing was read.
        incrementing: its incrementing column; likewise.
    """

    timestamp: int | None = None
    incrementing: int | None = None

    @property
    def begin_timestamp(self) -> int:
        """Rows after this time are to come."""
        return 0 if self.timestamp is None else self.timestamp

    @property
    def begin_incrementing(self) -> int:
        """Rows after this number are to come."""
        return -1 if self.incrementing is None else self.incrementing

    @property
    def order(self) -> tuple[int, int]:
        """What positions compare by."""
        return self.begin_timestamp, self.begin_incrementing

    def to_offset(self) -> dict[str, int]:
        """The position as an offset."""
        offset: dict[str, int] = {}
        if self.incrementing is not None:
            offset[INCREMENTING] = self.incrementing
        if self.timestamp is not None:
            offset[TIMESTAMP] = self.timestamp // _MILLISECOND
            offset[NANOS] = self.timestamp % _SECOND
        return offset

    @classmethod
    def of_offset(cls, offset: Mapping[str, Any] | None) -> Self:
        """The position of an offset, as any version of Java's connector, or this one, wrote it.

        Raises:
            ConnectError: a value is no whole number.
        """
        offset = offset or {}
        milliseconds, nanos = _whole(offset, TIMESTAMP), _whole(offset, NANOS)
        timestamp = None
        if milliseconds is not None:
            timestamp = milliseconds * _MILLISECOND
            if nanos is not None:
                timestamp = timestamp // _SECOND * _SECOND + nanos
        return cls(timestamp, _whole(offset, INCREMENTING))


def _whole(offset: Mapping[str, Any], name: str) -> int | None:
    value = offset.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ConnectError(f"Stored offset {dict(offset)} is not a position: '{name}' must be a whole number")


@dataclass(frozen=True, slots=True)
class Zone:
    """The zone of a database's clock (``db.timezone``)."""

    name: str = "UTC"

    def instant(self, wall: int) -> int:
        """The time at which that clock showed this; of two, the first."""
        return wall - self._ahead(_EPOCH + timedelta(seconds=wall // _SECOND), on_wall=True)

    def text(self, instant: int) -> str:
        """What that clock shows at a time, such as ``2022-01-23 02:26:25.5``."""
        moment = _EPOCH + timedelta(seconds=instant // _SECOND)
        shown = moment + timedelta(microseconds=self._ahead(moment, on_wall=False) // 1000)
        fraction = f"{instant % _SECOND:09d}".rstrip("0")
        return f"{shown:%Y-%m-%d %H:%M:%S}{'.' if fraction else ''}{fraction}".rjust(19, "0")

    def _ahead(self, moment: datetime, *, on_wall: bool) -> int:
        """Nanoseconds that the clock is ahead of UTC at a time of its own, or of UTC."""
        zone = ZoneInfo(self.name)
        aware = moment.replace(tzinfo=zone) if on_wall else moment.replace(tzinfo=ZoneInfo("UTC")).astimezone(zone)
        ahead = aware.utcoffset() or timedelta(0)
        return (ahead.days * 86_400 + ahead.seconds) * _SECOND


def table_partition(table: TableId) -> dict[str, str]:
    """Source partition of a table, of today's protocol."""
    return {TABLE: str(table), PROTOCOL: "1"}


def old_table_partition(table: TableId) -> dict[str, str]:
    """Source partition of a table as Java's connector up to version 5.0 wrote it."""
    return {TABLE: table.name}


def query_partition() -> dict[str, str]:
    """Source partition of a query."""
    return {QUERY: QUERY}


def snapshot_partition(partition: Partition, key: str) -> dict[str, str]:
    """Where it is noted how far a large read, in the order of a table's key, has come."""
    return {**partition, SNAPSHOT: key}


def java_maps_text(entries: Sequence[tuple[Partition, Mapping[str, Any] | None]]) -> str:
    """Partitions with their offsets as Java prints a ``HashMap`` of maps."""
    ordered = sorted(entries, key=lambda entry: _bucket(entry[0]))
    shown = (f"{java_map_text(key)}={'null' if value is None else java_map_text(value)}" for key, value in ordered)
    return f"{{{', '.join(shown)}}}"


def java_map_text(entries: Mapping[str, Any]) -> str:
    """A map as Java prints a ``HashMap``."""
    return "{" + ", ".join(f"{key}={java_text(entries[key])}" for key in hash_map_order(list(entries))) + "}"


def _bucket(partition: Partition) -> int:
    """Place of a map as a key of a small ``HashMap`` (Java: ``AbstractMap.hashCode``)."""
    value = sum(string_hash(key) ^ string_hash(text) for key, text in partition.items()) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 15
