"""Where in the binary log a connector is, and the source offsets in which Debezium keeps it.

An offset inside of a transaction points to its start, and counts the events and rows of it that were sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from connect_dagster.connectors.mysql.positions.gtid import GtidSet, parse_gtid_set
from connect_dagster.errors import ConnectError, DataError

FIRST_POSITION = 4
"""Position of the first event of each file."""

_TIMESTAMP, _FILE, _POSITION, _GTIDS, _SERVER = "ts_sec", "file", "pos", "gtids", "server_id"
_EVENT, _ROW, _SNAPSHOT = "event", "row", "snapshot"
_OWN = frozenset({_TIMESTAMP, _FILE, _POSITION, _GTIDS, _SERVER, _EVENT, _ROW, _SNAPSHOT})
_SINCE_1_X = {True: "INITIAL", "true": "INITIAL"}


class SnapshotType(Enum):
    """The snapshot that is not finished yet, as offsets name it."""

    INITIAL = "INITIAL"
    BLOCKING = "BLOCKING"
    INCREMENTAL = "INCREMENTAL"


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a binary log.

    Attributes:
        file: of the log.
        position: of the next event, or inside of a transaction of its start.
        gtids: transactions that are completely done; ``None`` where the server has none.
        events: of the transaction that are done.
        rows: of the event after them that are done.
        server_id: of the server that wrote the event; 0 before there is one.
        timestamp: second of the event.
        snapshot: the one that is not finished.
        others: entries of an offset that belong to other concerns: transaction metadata, incremental snapshots.
    """

    file: str
    position: int
    gtids: str | None = None
    events: int = 0
    rows: int = 0
    server_id: int = 0
    timestamp: int | None = None
    snapshot: SnapshotType | None = None
    others: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Position:
        """Return the position of a stored offset, ours or Debezium's since 1.0.

        Raises:
            ConnectError: it has no file and position, or one of its values is of another type; with the offset.
        """
        try:
            gtids, timestamp = offset.get(_GTIDS), offset.get(_TIMESTAMP)
            return cls(
                file=_text(offset[_FILE]),
                position=int(offset[_POSITION]),
                gtids=None if gtids is None else _text(gtids),
                events=int(offset.get(_EVENT) or 0),
                rows=int(offset.get(_ROW) or 0),
                server_id=int(offset.get(_SERVER) or 0),
                timestamp=None if timestamp is None else int(timestamp),
                snapshot=_snapshot(offset.get(_SNAPSHOT)),
                others=tuple((key, value) for key, value in offset.items() if key not in _OWN),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConnectError(f"Not an offset of a binary log, which has a file and a pos: {dict(offset)}") from error

    def offset(self) -> dict[str, Any]:
        """Return the offset to store; what does not apply is not in it."""
        entries: dict[str, Any] = {
            _TIMESTAMP: self.timestamp,
            _FILE: self.file,
            _POSITION: self.position,
            _GTIDS: self.gtids,
            _SERVER: self.server_id or None,
            _EVENT: self.events or None,
            _ROW: self.rows or None,
            _SNAPSHOT: self.snapshot and self.snapshot.value,
        }
        return {key: value for key, value in entries.items() if value is not None} | dict(self.others)

    def is_at_or_before(self, other: Position) -> bool:
        """Return whether what was recorded here had happened at another position.

        Debezium's ``BinlogHistoryRecordComparator``: sets of GTIDs are compared where both have one; a position
        without GTIDs is older than one with them; positions of different servers are compared by their time.

        Raises:
            DataError: the files belong to logs of different names.
        """
        if self.gtids is not None and other.gtids is not None:
            return self._is_by_gtids(parse_gtid_set(self.gtids), other, parse_gtid_set(other.gtids))
        if self.gtids is not None or other.gtids is not None:
            return self.gtids is None
        if self.server_id != other.server_id:
            return (self.timestamp or 0) <= (other.timestamp or 0)
        return self._place() <= other._place_in(_base(self.file))

    def _is_by_gtids(self, mine: GtidSet, other: Position, theirs: GtidSet) -> bool:
        if type(mine) is not type(theirs):
            raise DataError(f"GTIDs of MySQL and of MariaDB cannot be compared: {self.gtids} and {other.gtids}")
        if str(mine) != str(theirs):
            return theirs.contains(mine)  # type: ignore[arg-type]
        if self.snapshot is None and other.snapshot is not None:
            return False
        return self.events <= other.events

    def _place(self) -> tuple[int, int, int, int]:
        return _number(self.file), self.position, self.events, self.rows

    def _place_in(self, base: str) -> tuple[int, int, int, int]:
        if _base(self.file) != base:
            raise DataError(f"Binary logs of different names cannot be compared: {base} and {self.file}")
        return self._place()


def source_partition(prefix: str) -> dict[str, str]:
    """Return the partition under which offsets are stored."""
    return {"server": prefix}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected: {value!r}")
    return value


def _snapshot(value: Any) -> SnapshotType | None:
    if value in (None, False, "false"):
        return None
    return SnapshotType(_SINCE_1_X.get(value, value))


def _base(file: str) -> str:
    return file.rpartition(".")[0]


def _number(file: str) -> int:
    number = file.rpartition(".")[2]
    if not number.isdigit():
        raise DataError(f"The name of a binary log ends with a number: {file}")
    return int(number)
