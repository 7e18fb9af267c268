"""How far an incremental snapshot is, and the entries of offsets that say so.

Debezium: ``SignalBasedIncrementalSnapshotContext``. Whether a snapshot is paused is not stored, there as here: after a
restart it goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from connect_dagster.connectors.mysql.incremental.keys import NO_KEY, Key
from connect_dagster.connectors.mysql.incremental.snapshot_tables import (
    COLLECTIONS,
    SnapshotTable,
    parsed_tables,
    stored_tables,
)
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, DataError

_SENT, _MAXIMUM = "incremental_snapshot_primary_key", "incremental_snapshot_maximum_key"
_CORRELATION = "incremental_snapshot_correlation_id"
ENTRIES = frozenset({_SENT, _MAXIMUM, COLLECTIONS, _CORRELATION})
"""Names of the entries."""


class IncrementalContext:
    """A snapshot, or none where it has no tables.

    Attributes:
        tables: that are left, the one that is read first.
        correlation: id of the newest signal that added tables; ``None`` where it has none.
        is_paused: whether no further chunk is to be read.
        read: key of the last row that was read of the first table; ``None`` at its beginning.
        sent: key of the last row that was sent, or is sent in a newer version; ``None`` at the table's beginning.
        maximum: largest key of the first table when its snapshot began; ``None`` before it is known.
    """

    def __init__(self) -> None:
        self.tables: deque[SnapshotTable] = deque()
        self.correlation: str | None = None
        self.is_paused = False
        self.read: Key | None = None
        self.sent: Key | None = None
        self.maximum: Key | None = None

    @property
    def is_running(self) -> bool:
        """Return whether tables are left."""
        return bool(self.tables)

    def restore(self, offset: Mapping[str, Any]) -> None:
        """Take over what a stored offset has.

        Raises:
            ConnectError: an entry is not what Debezium writes; names it.
        """
        try:
            self.tables = deque(parsed_tables(offset[COLLECTIONS]) if offset.get(COLLECTIONS) else ())
            self.sent, self.maximum = (_key(offset.get(name)) for name in (_SENT, _MAXIMUM))
        except (DataError, TypeError) as error:
            raise ConnectError(f"The stored state of an incremental snapshot cannot be read: {error}") from error
        self.correlation = offset.get(_CORRELATION)
        self.read = self.sent

    def entries(self) -> dict[str, Any]:
        """Return the entries to store; none where no snapshot runs."""
        if not self.is_running:
            return {}
        return {
            _SENT: NO_KEY if self.sent is None else self.sent.stored,
            _MAXIMUM: NO_KEY if self.maximum is None else self.maximum.stored,
            COLLECTIONS: stored_tables(self.tables),
            _CORRELATION: self.correlation,
        }

    def add(self, tables: Iterable[SnapshotTable], correlation: str | None) -> None:
        """Add tables behind those that are left."""
        self.tables.extend(tables)
        self.correlation = correlation

    def remove(self, tables: Iterable[TableId]) -> None:
        """Remove tables other than the first one."""
        removed = set(tables)
        first, *others = self.tables
        self.tables = deque([first, *(one for one in others if one.id not in removed)])

    def next_table(self) -> None:
        """End the first table."""
        self.tables.popleft()
        self.begin_table()

    def begin_table(self) -> None:
        """Begin the first table at its beginning."""
        self.read = self.sent = self.maximum = None

    def revert(self) -> None:
        """Forget the rows that were read and not sent."""
        self.read = self.sent


def _key(stored: str | None) -> Key | None:
    return Key.parse(stored) if stored else None
