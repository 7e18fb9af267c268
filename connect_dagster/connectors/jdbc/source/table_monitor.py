"""The tables that a source reads, updated periodically (Java: ``TableMonitorThread``)."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from connect_dagster.connectors.jdbc.database import Connection, HeldConnection
from connect_dagster.connectors.jdbc.identifiers import Quoting, TableId
from connect_dagster.connectors.jdbc.source.config import JdbcSourceConfig
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError
from connect_dagster.errors import ConnectError
from connect_dagster.expressions.java_calls import jvm
from connect_dagster.expressions.java_patterns import matching

log = logging.getLogger(__name__)

# The SQL standard's word, and some drivers'.
_STANDARD_TABLE = "BASE TABLE"


class TableMonitor:
    """A monitor of one source's tables.

    Args:
        config: of the connector.
        connection: its own.
        changed: called, from the monitor's thread, when there are other tables.
        failed: called, from there too, when there cannot be any.
    """

    def __init__(
        self,
        config: JdbcSourceConfig,
        connection: HeldConnection,
        changed: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._config = config
        self._connection = connection
        self._changed = changed
        self._failed = failed
        self._ending = threading.Event()
        self._tables: list[TableId] = []
        self._thread = threading.Thread(target=self._watch, name="jdbc-table-monitor", daemon=True)

    def start(self) -> None:
        """Look up the tables once, and then periodically. Raises ConnectError."""
        self._tables = self._looked()
        self._thread.start()

    @property
    def tables(self) -> list[TableId]:
        """Return the tables of the last look-up."""
        return list(self._tables)

    def stop(self, seconds: float) -> None:
        """End looking."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        self._connection.drop()

    def _watch(self) -> None:
        while not self._ending.wait(self._config.table_poll_interval_ms / 1000):
            try:
                found = self._looked()
            except DatabaseError as error:
                log.error(
                    "Error while trying to get updated table list, waiting for next table poll interval: %s", error
                )
                self._connection.drop()
            except Exception as error:
                self._failed(error)
                return
            else:
                self._take(found)

    def _take(self, found: list[TableId]) -> None:
        if found != self._tables:
            log.info("Tables to read are now: %s", ", ".join(map(str, found)) or "none")
            self._tables = found
            self._changed()

    def _looked(self) -> list[TableId]:
        connection = self._connection.get()
        dialect = connection.database.dialect
        found = selected(all_tables(connection, self._config), self._config, dialect.quoting)
        if dialect.catalogs and self._config.catalog_pattern is None:
            found = nearest(found, connection.catalog, self._config.whitelist)
        _require_one_of_each_name(found)
        return found


def all_tables(connection: Connection, config: JdbcSourceConfig) -> list[TableId]:
    """Return tables of the kinds, catalog and schema of a configuration, in the driver's order."""
    dialect = connection.database.dialect

    def read_it(metadata: Any) -> list[TableId]:
        wanted = {kind.strip().upper() for kind in config.table_types}
        if "TABLE" in wanted:
            wanted.add(_STANDARD_TABLE)
        kinds = [kind for kind in _table_types(metadata) if kind.upper() in wanted]
        found = metadata.getTables(config.catalog_pattern, config.schema_pattern, "%", _strings(kinds))
        tables = []
        while found.next():
            tables.append(dialect.table(found.getString(1), found.getString(2), str(found.getString(3))))
        return [table for table in tables if table.schema not in dialect.system_schemas]

    return list(connection.metadata("the tables", read_it))


def selected(tables: Sequence[TableId], config: JdbcSourceConfig, quoting: Quoting) -> list[TableId]:
    """Return the tables that a configuration's lists select. Raises ConfigError when an expression takes too long."""
    if config.include_list:
        names = {str(table) for table in tables}
        included = _matched("table.include.list", config.include_list, names)
        chosen = included - _matched("table.exclude.list", config.exclude_list, included)
        return [table for table in tables if str(table) in chosen]
    if config.whitelist:
        return [table for table in tables if _is_named(table, config.whitelist, quoting)]
    return [table for table in tables if not _is_named(table, config.blacklist, quoting)]


def nearest(tables: Sequence[TableId], catalog: str | None, named: Sequence[str]) -> list[TableId]:
    """Return the tables except those that only share the name of one in the connection's own catalog.

    Args:
        tables: of all catalogs that the user may see.
        catalog: the connection's own.
        named: ``table.whitelist``; a table that stands there with its catalog stays.
    """
    near = {table.name for table in tables if table.catalog == catalog}
    given = {name.strip() for name in named}
    return [table for table in tables if table.catalog == catalog or table.name not in near or str(table) in given]


def grouped(tables: Sequence[TableId], groups: int) -> list[list[TableId]]:
    """Divide tables into ``groups`` runs, the first ones longer by one where needed.

    Java: ``ConnectorUtils.groupPartitions``.
    """
    each, longer = divmod(len(tables), groups)
    ends = [each * number + min(number, longer) for number in range(groups + 1)]
    return [list(tables[begin:end]) for begin, end in itertools.pairwise(ends)]


def _is_named(table: TableId, names: Sequence[str], quoting: Quoting) -> bool:
    quoted = quoting.everywhere.table(table)
    return any(name.strip() in (str(table), quoted, table.name) for name in names)


def _matched(key: str, regexes: Sequence[str], names: AbstractSet[str]) -> set[str]:
    return {name for regex in regexes for name in matching(key, regex.strip(), names)}


def _require_one_of_each_name(tables: Sequence[TableId]) -> None:
    """Raise ConnectError for two tables of one name, which would share a topic."""
    by_name: dict[str, list[str]] = {}
    for table in tables:
        by_name.setdefault(table.name, []).append(str(table))
    doubled = [", ".join(names) for names in by_name.values() if len(names) > 1]
    if doubled:
        raise ConnectError(
            "Topics are named after tables without their schema, so of tables with the same name only one can be read. "
            f"Choose by table.whitelist, table.blacklist, catalog.pattern or schema.pattern among: {'; '.join(doubled)}"
        )


def _table_types(metadata: Any) -> list[str]:
    found = metadata.getTableTypes()
    kinds = []
    while found.next():
        kinds.append(str(found.getString(1)).strip())
    return kinds


def _strings(texts: Sequence[str]) -> Any:
    """Return a Java array of strings."""
    return jvm().java.util.regex.Pattern.compile("\n").split("\n".join(texts))
