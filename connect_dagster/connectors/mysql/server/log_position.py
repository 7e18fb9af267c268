"""The position at which a server writes its binary log."""

from __future__ import annotations

from typing import Any

import pymysql

from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.server_error import ErrorNumber
from connect_dagster.connectors.mysql.server.sessions import Connection, current_user, is_mariadb, query
from connect_dagster.errors import ConnectError

_STATEMENTS = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")  # since MySQL 8.2; until 8.3, and MariaDB
_EXECUTED = 4  # column of MySQL's GTIDs


def read_position(connection: Connection) -> Position | None:
    """Return the position of the next event; ``None`` where the server writes no binary log.

    Raises:
        ConnectError: the user may not ask for it.
    """
    rows = _status(connection)
    if not rows:
        return None
    file, position = rows[0][:2]
    if is_mariadb(connection):
        ((gtids,),) = query(connection, "SELECT @@GLOBAL.gtid_binlog_pos")
    else:
        gtids = rows[0][_EXECUTED] if len(rows[0]) > _EXECUTED else None
    return Position(str(file), int(position), _one_line(gtids))


def _status(connection: Connection) -> list[tuple[Any, ...]]:
    try:
        try:
            return query(connection, _STATEMENTS[0])
        except pymysql.err.ProgrammingError as error:
            if error.args[0] != ErrorNumber.ER_PARSE_ERROR:
                raise
            return query(connection, _STATEMENTS[1])
    except pymysql.Error as error:
        if error.args[0] != ErrorNumber.ER_SPECIFIC_ACCESS_DENIED_ERROR:
            raise
        user = current_user(connection)
        raise ConnectError(
            f"User {user} needs the right REPLICATION CLIENT to read the position of the binary log: "
            f"GRANT REPLICATION CLIENT ON *.* TO {user}: {error.args[-1]}"
        ) from error


def _one_line(gtids: object) -> str | None:
    """Return a set of GTIDs, which MySQL breaks after each comma; ``None`` for an empty one."""
    text = "".join(str(gtids or "").split())
    return text or None
