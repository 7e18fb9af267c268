"""Locks of snapshots."""

import pytest

from connect_dagster.connectors.mysql.locking_modes import LOCKS, MARIADB_MODES, LockingMode


@pytest.mark.parametrize(
    ("mode", "lock", "during_rows", "may_lock_tables", "consistent"),
    [
        ("extended", "FLUSH TABLES WITH READ LOCK", True, True, False),
        ("minimal", "FLUSH TABLES WITH READ LOCK", False, True, True),
        ("minimal_percona", "LOCK TABLES FOR BACKUP", False, True, True),
        ("minimal_percona_no_table_locks", "LOCK TABLES FOR BACKUP", False, False, True),
        ("minimal_at_least_once", "FLUSH TABLES WITH READ LOCK", False, True, False),
        ("none", None, False, False, False),
    ],
)
def test_locks(mode: str, lock: str | None, during_rows: bool, may_lock_tables: bool, consistent: bool) -> None:
    locks = LOCKS[LockingMode(mode)]
    assert (locks.lock, locks.during_rows) == (lock, during_rows)
    assert (locks.may_lock_tables, locks.consistent) == (may_lock_tables, consistent)


def test_each_mode_has_a_row() -> None:
    assert set(LOCKS) == set(LockingMode)
    assert set(MARIADB_MODES) < set(LockingMode)
