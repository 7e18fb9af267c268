"""Locks where servers answer as those of tests do not: RDS, Percona, other errors."""

from typing import Any

import pymysql
import pytest

from connect_dagster.connectors.mysql.locking_modes import LOCKS, LockingMode
from connect_dagster.connectors.mysql.snapshot.locks import SnapshotLock
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError
from tests.unit.connectors.mysql.server.sessions import Answer, Session

GLOBAL, BACKUP = "FLUSH TABLES WITH READ LOCK", "LOCK TABLES FOR BACKUP"
SINGLE = "LOCK TABLES `ops`.`goods` READ, `ops`.`old` READ"
ENGINES = "SELECT table_schema, table_name, engine FROM information_schema.tables WHERE table_schema IN (%s)"
BOTH_INNODB: dict[str, Answer] = {ENGINES: [("ops", "goods", "InnoDB"), ("ops", "old", "InnoDB")]}
RDS = pymysql.err.OperationalError(1045, "Access denied for user 'admin'@'%' (using password: YES)")
SYNTAX = pymysql.err.ProgrammingError(1064, "You have an error in your SQL syntax")
DENIED = pymysql.err.OperationalError(1044, "Access denied for user to database 'ops'")
TIMEOUT = pymysql.err.OperationalError(1205, "Lock wait timeout exceeded")


def locked(mode: LockingMode, answers: dict[str, Answer]) -> tuple[SnapshotLock, list[str]]:
    """Take a lock; return it with the list of all statements."""
    session: Any = Session(answers)
    lock = SnapshotLock(session, LOCKS[mode], (TableId("ops", "goods"), TableId("ops", "old")), 2500)
    lock.take()
    return lock, session.statements


def test_waits_are_limited_before_the_lock() -> None:
    _, statements = locked(LockingMode.MINIMAL, {})
    assert statements == [
        "SET SESSION lock_wait_timeout = 2",
        "SET SESSION innodb_lock_wait_timeout = 2",
        GLOBAL,
    ]


@pytest.mark.parametrize(
    ("mode", "statement", "error"),
    [(LockingMode.MINIMAL, GLOBAL, RDS), (LockingMode.MINIMAL_PERCONA, BACKUP, SYNTAX)],
)
def test_single_tables_instead(mode: LockingMode, statement: str, error: pymysql.Error) -> None:
    lock, statements = locked(mode, {statement: error, **BOTH_INNODB})
    assert lock.of_tables
    assert statements[2:] == [statement, ENGINES, SINGLE]
    lock.release_after_structure()
    lock.release()
    assert statements[5:] == ["UNLOCK TABLES"]


@pytest.mark.parametrize("engines", [[("ops", "goods", "InnoDB"), ("ops", "old", "MyISAM")], []])
def test_engines_without_views(engines: list[tuple[str, ...]]) -> None:
    lock, _ = locked(LockingMode.MINIMAL, {GLOBAL: RDS, ENGINES: engines})
    lock.release_after_structure()
    assert lock.is_held


def test_no_lock() -> None:
    lock, statements = locked(LockingMode.NONE, {})
    lock.release_after_structure()
    lock.release()
    lock.keep_alive()
    assert statements == []


def test_rights_that_are_missing() -> None:
    with pytest.raises(ConnectError) as error:
        locked(LockingMode.MINIMAL_PERCONA_NO_TABLE_LOCKS, {BACKUP: RDS})
    assert str(error.value) == (
        "LOCK TABLES FOR BACKUP failed, and the snapshot.locking.mode does not allow for locks of single tables. "
        "User 'debezium'@'10.%' needs the right RELOAD: GRANT RELOAD ON *.* TO 'debezium'@'10.%': "
        "Access denied for user 'admin'@'%' (using password: YES)"
    )
    with pytest.raises(ConnectError) as error:
        locked(LockingMode.MINIMAL, {GLOBAL: RDS, SINGLE: DENIED, **BOTH_INNODB})
    assert str(error.value) == (
        "The tables of the snapshot cannot be locked, neither all with the right RELOAD nor each with the rights "
        "LOCK TABLES and SELECT on ops. User 'debezium'@'10.%' needs the right RELOAD: "
        "GRANT RELOAD ON *.* TO 'debezium'@'10.%': Access denied for user to database 'ops'"
    )


@pytest.mark.parametrize("answers", [{GLOBAL: TIMEOUT}, {GLOBAL: RDS, SINGLE: TIMEOUT, **BOTH_INNODB}])
def test_waits_that_are_too_long(answers: dict[str, Answer]) -> None:
    with pytest.raises(ConnectError, match=r"was not granted within 2500 ms \(snapshot.lock.timeout.ms\)"):
        locked(LockingMode.MINIMAL, answers)


def test_other_errors_stay() -> None:
    lost = pymysql.err.OperationalError(2013, "Lost connection")
    cases: list[dict[str, Answer]] = [{GLOBAL: lost}, {GLOBAL: RDS, SINGLE: lost, **BOTH_INNODB}]
    for answers in cases:
        with pytest.raises(pymysql.err.OperationalError, match="2013"):
            locked(LockingMode.MINIMAL, answers)
