"""Sessions in which a snapshot reads: their settings, and plain statements in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pymysql

Connection: TypeAlias = "pymysql.connections.Connection[Any]"


@dataclass(frozen=True, slots=True)
class SnapshotSession:
    """Settings of a session that reads tables.

    Attributes:
        write_seconds: time for which the server waits for a reader that waits for Kafka (Connector/J: 600 as well).
    """

    write_seconds: int = 600

    def statements(self) -> Iterator[str]:
        """Yield the statements of the session: texts as UTF-8, timestamps in UTC, one view of the rows."""
        yield "SET NAMES utf8mb4"
        yield "SET SESSION time_zone = '+00:00'"
        yield f"SET SESSION net_write_timeout = {self.write_seconds}"
        yield "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"


def query(connection: Connection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, with values in place of each ``%s``."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


def is_mariadb(connection: Connection) -> bool:
    """Return whether the server is MariaDB, which says so in its version."""
    ((version,),) = query(connection, "SELECT VERSION()")
    return "mariadb" in str(version).lower()


def current_user(connection: Connection) -> str:
    """Return the account as GRANT names it."""
    ((account,),) = query(connection, "SELECT CURRENT_USER()")
    user, _, host = str(account).rpartition("@")
    return f"'{user}'@'{host}'"
