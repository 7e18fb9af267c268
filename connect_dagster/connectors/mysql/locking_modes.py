"""Locks of a snapshot: what each ``snapshot.locking.mode`` takes, and until when.

Debezium: ``MySqlConnectorConfig.SnapshotLockingMode`` and ``BinlogSnapshotChangeEventSource``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class LockingMode(Enum):
    """``snapshot.locking.mode``."""

    EXTENDED = "extended"
    MINIMAL = "minimal"
    MINIMAL_PERCONA = "minimal_percona"
    MINIMAL_PERCONA_NO_TABLE_LOCKS = "minimal_percona_no_table_locks"
    MINIMAL_AT_LEAST_ONCE = "minimal_at_least_once"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Locks:
    """Locks of a mode.

    Attributes:
        lock: statement of the lock for all tables; ``None`` for no lock.
        during_rows: whether the lock is held until all rows are read, not only the structure of tables.
        may_lock_tables: whether single tables are locked where the right for the lock of all is missing.
        consistent: whether the transaction that reads rows begins with a consistent view of all tables, under the lock.
    """

    lock: str | None
    during_rows: bool = False
    may_lock_tables: bool = True
    consistent: bool = True


_GLOBAL = "FLUSH TABLES WITH READ LOCK"
_PERCONA = "LOCK TABLES FOR BACKUP"
LOCKS: Mapping[LockingMode, Locks] = {
    LockingMode.EXTENDED: Locks(_GLOBAL, during_rows=True, consistent=False),
    LockingMode.MINIMAL: Locks(_GLOBAL),
    LockingMode.MINIMAL_PERCONA: Locks(_PERCONA),
    LockingMode.MINIMAL_PERCONA_NO_TABLE_LOCKS: Locks(_PERCONA, may_lock_tables=False),
    LockingMode.MINIMAL_AT_LEAST_ONCE: Locks(_GLOBAL, consistent=False),
    LockingMode.NONE: Locks(None, may_lock_tables=False, consistent=False),
}
MARIADB_MODES = (LockingMode.EXTENDED, LockingMode.MINIMAL, LockingMode.NONE)
