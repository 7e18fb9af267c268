"""Questions to a server about its binary log and its settings, on a connection for queries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import pymysql

from connect_dagster.connectors.mysql.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.login import Login
from connect_dagster.connectors.mysql.schema.flavor import Flavor
from connect_dagster.connectors.mysql.stream.log_connection import connected
from connect_dagster.errors import ConnectError

_NO_RIGHT = (1044, 1045, 1142, 1143, 1227, 1370)
# Without a connection; ended by the server, by an administrator, by its timeout.
_GONE = (0, 2006, 2013, 2055, 1053, 1927, 4031)


class Server:
    """A connection for queries.

    Args:
        login: address and access.
        statements: the first ones of the session.
        flavor: kind of the server.

    Raises:
        ConnectError: the server cannot be reached, or refuses.
    """

    def __init__(self, login: Login, statements: Iterable[str], flavor: Flavor) -> None:
        self.flavor = flavor
        self._login = login
        self._statements = tuple(statements)
        self._connection = self._connected()

    def _connected(self) -> pymysql.Connection[Any]:
        try:
            connection = connected(self._login, autocommit=True)
            with connection.cursor() as cursor:
                for statement in self._statements:
                    cursor.execute(statement)
        except pymysql.MySQLError as error:
            raise self._failed("connect", error) from error
        return connection

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; a session that has ended since the last one is replaced.

        Raises:
            ConnectError: the server refuses it, or is gone.
        """
        try:
            return self._run(statement, parameters)
        except pymysql.MySQLError as error:
            if error.args[0] not in _GONE:
                raise self._failed(statement, error) from error
        self._connection = self._connected()
        try:
            return self._run(statement, parameters)
        except pymysql.MySQLError as error:
            raise self._failed(statement, error) from error

    def _run(self, statement: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            return list(cursor.fetchall())

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
        """Return the transactions that are no longer in the log; empty for MariaDB, which does not say."""
        if self.flavor is Flavor.MARIADB:
            return MariaDbGtidSet()
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

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(pymysql.MySQLError):
            self._connection.close()

    def _value(self, statement: str) -> str:
        (row,) = self.rows(statement)
        return str(row[0] or "")

    def _failed(self, doing: str, error: pymysql.MySQLError) -> ConnectError:
        number, text = error.args if len(error.args) == 2 else (0, str(error))
        login = self._login
        where = f"{login.user} at {login.host}:{login.port}"
        if number in _NO_RIGHT:
            return ConnectError(f"The right to {doing!r} is missing for {where}: {text} [error {number}]")
        return ConnectError(f"The server does not {doing!r} for {where}: {text} [error {number}]")
