"""Questions to a server about its binary log and its settings, on a connection for queries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import pymysql

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import FIRST_POSITION
from connect_dagster.connectors.mysql.server.connection import connected
from connect_dagster.connectors.mysql.server.login import Login
from connect_dagster.connectors.mysql.server.server_error import as_connect_error, has_ended_session
from connect_dagster.connectors.mysql.server.sessions import Connection, query
from connect_dagster.errors import ConnectError

_SECONDS, _DAYS, _AUTO_PURGE = "binlog_expire_logs_seconds", "expire_logs_days", "binlog_expire_logs_auto_purge"
_RETENTION = (_SECONDS, _DAYS, _AUTO_PURGE)


class Server:
    """A connection for queries.

    Args:
        login: address and access.
        statements: the first ones of the session.
        flavor: kind of the server.

    Raises:
        RetriableError: the server cannot be reached.
        ConnectError: it refuses.
    """

    def __init__(self, login: Login, statements: Iterable[str], flavor: Flavor) -> None:
        self.flavor = flavor
        self._login = login
        self._statements = tuple(statements)
        self._connection = self._connected()

    def _connected(self) -> Connection:
        try:
            return connected(self._login, self._statements)
        except pymysql.MySQLError as error:
            raise self._failed("to log in", error) from error

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; a session that has ended since the last one is replaced.

        Raises:
            RetriableError: the server is gone.
            ConnectError: it refuses the statement.
        """
        try:
            return query(self._connection, statement, *parameters)
        except (pymysql.MySQLError, OSError) as error:
            if not has_ended_session(error):
                raise self._failed(f"to run {statement!r}", error) from error
        self._connection = self._connected()
        try:
            return query(self._connection, statement, *parameters)
        except (pymysql.MySQLError, OSError) as error:
            raise self._failed(f"to run {statement!r}", error) from error

    def variables(self, *names: str) -> dict[str, str]:
        """Return global variables, without those that the server does not have."""
        listed = ", ".join(["%s"] * len(names))
        found = self.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})", *names)
        return {name.lower(): value for name, value in found}

    def executed(self) -> GtidSet:
        """Return all transactions that are in the log, or were."""
        if self.flavor is Flavor.MARIADB:
            return MariaDbGtidSet.parse(self._value("SELECT @@GLOBAL.gtid_binlog_pos"))
        return MySqlGtidSet.parse(self._value("SELECT @@GLOBAL.gtid_executed"))

    def purged(self) -> GtidSet:
        """Return the transactions that are no longer in the log."""
        if self.flavor is Flavor.MARIADB:
            oldest = next(iter(self.log_files()), None)
            state = "" if oldest is None else self._value("SELECT BINLOG_GTID_POS(%s, %s)", oldest, FIRST_POSITION)
            return MariaDbGtidSet.parse(state)
        return MySqlGtidSet.parse(self._value("SELECT @@GLOBAL.gtid_purged"))

    def has_gtids(self) -> bool:
        """Return whether each transaction has a GTID."""
        return self.flavor is Flavor.MARIADB or self.variables("gtid_mode").get("gtid_mode", "").upper() == "ON"

    def log_files(self) -> list[str]:
        """Return the files of the log, the oldest one first."""
        return [row[0] for row in self.rows("SHOW BINARY LOGS")]

    def has_checksums(self) -> bool:
        """Return whether events end with a CRC32 now."""
        return self.variables("binlog_checksum").get("binlog_checksum", "NONE").upper() == "CRC32"

    def retention_seconds(self) -> int | None:
        """Return the time for which the log is kept, 0 for no end; ``None`` where the server does not say."""
        found = self.variables(*_RETENTION)
        if found.get(_AUTO_PURGE, "ON").upper() in ("OFF", "0"):
            return 0
        if _SECONDS in found and float(found[_SECONDS]):
            return int(float(found[_SECONDS]))
        if _DAYS in found:
            return int(float(found[_DAYS]) * 86_400)
        return 0 if _SECONDS in found else None

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(pymysql.MySQLError):
            self._connection.close()

    def _value(self, statement: str, *parameters: object) -> str:
        (row,) = self.rows(statement, *parameters)
        return str(row[0] or "")

    def _failed(self, doing: str, error: Exception) -> ConnectError:
        return as_connect_error(f"{doing} as {self._login.address}", error)
