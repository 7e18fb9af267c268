"""Locks of a snapshot, and the view of the rows that its readers get while they are held.

Debezium: ``BinlogSnapshotChangeEventSource``. The locks have a separate connection, so that table locks can be
released without ending the transaction of a reader; Debezium holds them until all rows are read.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import pymysql

from connect_dagster.connectors.mysql.locking_modes import Locks
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.log_position import read_position
from connect_dagster.connectors.mysql.server.server_error import DENIED, ErrorNumber
from connect_dagster.connectors.mysql.server.sessions import Connection, current_user, query
from connect_dagster.connectors.mysql.table_ids import TableId, quoted_table
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)

_TIMEOUT = "snapshot.lock.timeout.ms"
_KEEP_ALIVE_SECONDS = 30.0
_TRANSACTIONAL = "INNODB"
_BUSY_SESSIONS = (
    "SELECT id, user, time, LEFT(COALESCE(info, state, command), 200) FROM information_schema.processlist "
    "WHERE id <> CONNECTION_ID() AND command NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID') "
    "ORDER BY time DESC LIMIT 5"
)


class SnapshotLock:
    """Locks on a connection.

    Args:
        connection: used for nothing else while they are held, except to read the position and the structure of tables.
        locks: of the mode.
        tables: whose rows the snapshot reads.
        wait_ms: longest wait for a lock (``snapshot.lock.timeout.ms``).

    Attributes:
        connection: that of the locks.
        of_tables: whether single tables are locked, not all.
        is_held: whether anything is locked.
    """

    def __init__(self, connection: Connection, locks: Locks, tables: Sequence[TableId], wait_ms: int) -> None:
        self.connection = connection
        self.of_tables = False
        self.is_held = False
        self._locks = locks
        self._tables = tables
        self._wait_ms = wait_ms
        self._is_for_rows = locks.during_rows
        self._used = time.monotonic()

    @property
    def is_consistent(self) -> bool:
        """Return whether the transactions of readers begin with a view of all tables."""
        return self._locks.consistent

    def take(self) -> None:
        """Lock all tables or, where the right for it is missing and the mode allows it, those of the snapshot.

        Raises:
            ConnectError: a right is missing, or the wait was too long.
        """
        if self._locks.lock is None:
            return
        self._limit_waits()
        try:
            query(self.connection, self._locks.lock)
        except pymysql.Error as error:
            self._instead(error, self._locks.lock)
        self.is_held = True

    def release_after_structure(self) -> None:
        """Release the locks once the structure of tables is read, if the mode and the tables allow it.

        Single tables stay locked where one is not in InnoDB: the view of a transaction does not hold for its rows.
        """
        if not self._is_for_rows:
            self.release()

    def release(self) -> None:
        """Release the locks; no effect where they are not held."""
        if self.is_held:
            self.is_held = False
            query(self.connection, "UNLOCK TABLES")

    def keep_alive(self) -> None:
        """Use the connection at times, so that nothing ends it as idle while locks are held.

        Raises:
            pymysql.Error: it has ended, and the locks with it.
        """
        if self.is_held and time.monotonic() - self._used > _KEEP_ALIVE_SECONDS:
            self._used = time.monotonic()
            query(self.connection, "SELECT 1")

    def _limit_waits(self) -> None:
        seconds = max(1, self._wait_ms // 1000)
        query(self.connection, f"SET SESSION lock_wait_timeout = {seconds}")
        query(self.connection, f"SET SESSION innodb_lock_wait_timeout = {seconds}")

    def _instead(self, error: pymysql.Error, statement: str) -> None:
        """Lock single tables in place of all, or raise for why not."""
        number = error.args[0]
        if number == ErrorNumber.ER_LOCK_WAIT_TIMEOUT:
            self._raise_timeout(error)
        # Only Percona's server knows LOCK TABLES FOR BACKUP.
        if number not in {ErrorNumber.ER_PARSE_ERROR, *DENIED}:
            raise error
        if not self._locks.may_lock_tables:
            raise ConnectError(
                f"{statement} failed, and the snapshot.locking.mode does not allow for locks of single tables. "
                f"{self._grants('RELOAD', '*.*')}: {error.args[-1]}"
            ) from error
        log.warning("%s failed, each table of the snapshot is locked instead: %s", statement, error.args[-1])
        self._lock_tables()

    def _lock_tables(self) -> None:
        self._is_for_rows = self._is_for_rows or not self._all_are_transactional()
        if self._tables:
            try:
                query(self.connection, "LOCK TABLES " + ", ".join(f"{quoted_table(one)} READ" for one in self._tables))
            except pymysql.Error as error:
                self._raise_for_tables(error)
        self.of_tables = True

    def _raise_for_tables(self, error: pymysql.Error) -> NoReturn:
        if error.args[0] == ErrorNumber.ER_LOCK_WAIT_TIMEOUT:
            self._raise_timeout(error)
        if error.args[0] not in DENIED:
            raise error
        databases = ", ".join(dict.fromkeys(table.database for table in self._tables))
        raise ConnectError(
            f"The tables of the snapshot cannot be locked, neither all with the right RELOAD nor each with the rights "
            f"LOCK TABLES and SELECT on {databases}. {self._grants('RELOAD', '*.*')}: {error.args[-1]}"
        ) from error

    def _raise_timeout(self, error: pymysql.Error) -> NoReturn:
        raise ConnectError(
            f"The lock for a snapshot was not granted within {self._wait_ms} ms ({_TIMEOUT}): another session has a "
            f"transaction or a statement open; busy are {self._busy_sessions() or 'none that this user may see'}. "
            f"{error.args[-1]}"
        ) from error

    def _busy_sessions(self) -> str:
        """Return the sessions that work longest, as far as the user may see them."""
        found = query(self.connection, _BUSY_SESSIONS)
        return ", ".join(f"{number} ({user}, {seconds} s: {what})" for number, user, seconds, what in found)

    def _grants(self, right: str, where: str) -> str:
        user = current_user(self.connection)
        return f"User {user} needs the right {right}: GRANT {right} ON {where} TO {user}"

    def _all_are_transactional(self) -> bool:
        databases = list(dict.fromkeys(table.database for table in self._tables))
        if not databases:
            return True
        statement = "SELECT table_schema, table_name, engine FROM information_schema.tables WHERE table_schema IN ({})"
        found = query(self.connection, statement.format(", ".join(["%s"] * len(databases))), *databases)
        engines = {TableId(database, name): str(engine).upper() for database, name, engine in found}
        return all(engines.get(table) == _TRANSACTIONAL for table in self._tables)


@dataclass(frozen=True, slots=True)
class SnapshotView:
    """State of a server from which a snapshot reads.

    Attributes:
        position: at which the readers' transactions began; ``None`` for a server without a binary log.
        lock: held; release it after the structure of tables is read.
    """

    position: Position | None
    lock: SnapshotLock


@contextlib.contextmanager
def snapshot_view(lock: SnapshotLock, readers: Sequence[Connection]) -> Iterator[SnapshotView]:
    """Let all readers see the same rows, those of one position of the binary log.

    Args:
        lock: not taken yet; the end of the context releases it at the latest.
        readers: sessions as ``sessions.SnapshotSession`` sets them.

    Raises:
        ConnectError: a right is missing, or the wait for a lock was too long.
    """
    lock.take()
    try:
        # Without a lock, what changes between these two is read and streamed as well; the other way around it is lost.
        position = read_position(lock.connection)
        for reader in readers:
            query(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT" if lock.is_consistent else "START TRANSACTION")
        yield SnapshotView(position, lock)
    except BaseException:
        with contextlib.suppress(pymysql.Error):  # with its connection the lock has ended as well
            lock.release()
        raise
    lock.release()
