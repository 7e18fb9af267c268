"""The log that a server no longer has after a position (Debezium: ``isBinlogPositionAvailable``)."""

from __future__ import annotations

from collections.abc import Callable

from connect_dagster.connectors.mysql.positions.gtid import MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.server import Server


def missing_log(stored: Position, server: Server, keeps: Callable[[str], bool], *, uses_gtids: bool) -> str | None:
    """Return in words what a server no longer has of the log that comes after a position; ``None`` for nothing.

    Args:
        stored: the position.
        server: to be asked.
        keeps: returns whether a source of transactions counts.
        uses_gtids: whether GTIDs of the position count.

    Raises:
        ConnectError: the server refuses, or is gone.
    """
    if stored.gtids is None or not uses_gtids or not server.has_gtids():
        files = server.log_files()
        if stored.file in files:
            return None
        return f"the position is {stored.file}:{stored.position}, the server has {files[0]} to {files[-1]}"
    executed, purged = server.executed(), server.purged()
    if isinstance(executed, MariaDbGtidSet) and isinstance(purged, MariaDbGtidSet):
        return _missing_of_mariadb(MariaDbGtidSet.parse(stored.gtids).retained(keeps), executed, purged.retained(keeps))
    assert isinstance(executed, MySqlGtidSet)
    assert isinstance(purged, MySqlGtidSet)
    return _missing_of_mysql(MySqlGtidSet.parse(stored.gtids).retained(keeps), executed, purged.retained(keeps))


def _missing_of_mysql(done: MySqlGtidSet, executed: MySqlGtidSet, purged: MySqlGtidSet) -> str | None:
    if foreign := done - executed:
        return f"the position has transactions that the server never had: {foreign}"
    if lost := purged - done:
        return f"transactions after the position are purged: {lost}"
    return None


def _missing_of_mariadb(done: MariaDbGtidSet, executed: MariaDbGtidSet, purged: MariaDbGtidSet) -> str | None:
    if not executed.contains(done):
        return f"the position has transactions that the server never had: it is {done}, the server is at {executed}"
    if not purged.is_reached_by(done):
        return f"the position is {done}, the log of the server begins after {purged}"
    return None
