"""The structure that tables of a server have now, where the schema history has none that fits."""

from __future__ import annotations

import logging
from collections.abc import Callable

from connect_dagster.connectors.mysql.history.schema_history import SchemaHistory
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.schema.information_schema import created_table, show_create
from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.schema.table_changes import ChangeType, TableChange
from connect_dagster.connectors.mysql.server.server import Server
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, DataError, RetriableError

log = logging.getLogger(__name__)


class PresentTables:
    """Reads structures from a server, and keeps them in the schema history.

    Args:
        server: to be asked.
        history: gets the structures that are taken.
        keeps_comments: whether tables have their comments.
        micros: gives the present time in microseconds since 1970.
    """

    def __init__(
        self, server: Server, history: SchemaHistory, micros: Callable[[], int], *, keeps_comments: bool
    ) -> None:
        self._server = server
        self._history = history
        self._micros = micros
        self._keeps_comments = keeps_comments

    def read(self, table: TableId) -> Table | None:
        """Return the structure of a table; ``None`` where it does not exist now, or cannot be read.

        Raises:
            RetriableError: the server is gone.
        """
        try:
            ((_, statement, *_),) = self._server.rows(show_create(table))
            return created_table(str(statement), table, self._server.flavor, keeps_comments=self._keeps_comments)
        except RetriableError:
            raise
        except (ConnectError, DataError) as error:
            log.info("The server does not say how table %s is now: %s", table, error)
            return None

    def keep(self, table: Table, position: Position) -> None:
        """Have a structure count from a position on.

        Raises:
            ConnectError: the schema history cannot be written.
        """
        is_known = self._history.tables.get(table.id) is not None
        change = TableChange(ChangeType.ALTER if is_known else ChangeType.CREATE, table.id, table)
        self._history.put(change, table.database, position, self._micros() // 1000)
