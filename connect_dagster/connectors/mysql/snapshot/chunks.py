"""Statements that read a table in a snapshot, and ranges of its key for several readers.

The first and the last range are open, so that together they have each row of the table, whatever the bounds are.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pymysql

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.options.snapshots import TableOrder
from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.server.sessions import Connection, query
from connect_dagster.connectors.mysql.table_ids import TableId, quoted, quoted_table

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT"})
_RANGE_ROWS = 50_000  # fewer are not worth a statement
_RANGES_PER_READER = 4  # keys may be dense in one range and sparse in another
_ESTIMATES = "SELECT table_schema, table_name, table_rows FROM information_schema.tables WHERE table_schema IN ({})"


@dataclass(frozen=True, slots=True)
class TableScan:
    """The rows of a table that a snapshot reads.

    Attributes:
        readings: of the columns that records have, by name.
        statement: reads all rows.
        key: integer column that is never null, by whose ranges the rows can be divided.
    """

    table: TableId
    readings: Mapping[str, Reading]
    statement: str
    key: str | None = None

    @classmethod
    def of(cls, table: Table, readings: Mapping[str, Reading], override: str | None = None) -> Self:
        """Return the scan of a table.

        Args:
            table: its structure.
            readings: of the captured columns; where there are none, the statement reads all columns, as Debezium's.
            override: statement in its place (``snapshot.select.statement.overrides``).
        """
        number = TableId(table.database, table.name)
        if override is not None:
            return cls(number, readings, override)
        names = list(readings) or [column.name for column in table.columns]
        statement = f"SELECT {', '.join(map(quoted, names))} FROM {quoted_table(number)}"
        return cls(number, readings, statement, _range_key(table))


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a scan.

    Attributes:
        statement: reads its rows.
    """

    scan: TableScan
    statement: str


def _range_key(table: Table) -> str | None:
    """Return the first column of the key: by it, and so by its ranges, InnoDB stores the rows."""
    if not table.key:
        return None
    column = table.column(table.key[0])
    return column.name if column.base_type in _INTEGERS and not column.optional else None


def row_estimates(connection: Connection, tables: Iterable[TableId]) -> dict[TableId, int]:
    """Return the number of rows of tables as the server estimates it; 0 where it does not."""
    tables = list(tables)
    databases = list(dict.fromkeys(table.database for table in tables))
    if not databases:
        return {}
    with contextlib.suppress(pymysql.Error):  # MySQL 8, which keeps its estimates for a day
        query(connection, "SET SESSION information_schema_stats_expiry = 0")
    found = query(connection, _ESTIMATES.format(", ".join(["%s"] * len(databases))), *databases)
    rows = {TableId(database, name): int(count or 0) for database, name, count in found}
    return {table: rows.get(table, 0) for table in tables}


def in_order(tables: Sequence[TableId], estimates: Mapping[TableId, int], order: TableOrder) -> list[TableId]:
    """Return tables in the order of ``snapshot.tables.order.by.row.count``."""
    if order is TableOrder.DISABLED:
        return list(tables)
    return sorted(tables, key=lambda table: estimates.get(table, 0), reverse=order is TableOrder.DESCENDING)


def ranges(connection: Connection, scan: TableScan, rows: int, readers: int) -> list[Range]:
    """Divide a table.

    Args:
        connection: asked for the bounds of the key.
        scan: of the table.
        rows: estimated number.
        readers: that will read the ranges.
    """
    count = min(readers * _RANGES_PER_READER, rows // _RANGE_ROWS)
    if scan.key is None or readers < 2 or count < 2:
        return [Range(scan, scan.statement)]
    key = quoted(scan.key)
    ((low, high),) = query(connection, f"SELECT MIN({key}), MAX({key}) FROM {quoted_table(scan.table)}")
    if low is None:
        return [Range(scan, scan.statement)]
    return [Range(scan, f"{scan.statement}{condition}") for condition in _conditions(key, int(low), int(high), count)]


def plan(
    connection: Connection,
    scans: Sequence[TableScan],
    rows: Mapping[TableId, int],
    readers: int,
    order: TableOrder = TableOrder.DISABLED,
) -> list[Range]:
    """Return the ranges of all tables, those of a table one after the other.

    Args:
        connection: asked for bounds.
        scans: in the order of ``filters.in_snapshot``.
        rows: of the tables, as ``row_estimates`` gives them.
        readers: that will read the ranges.
        order: of the tables (``snapshot.tables.order.by.row.count``).
    """
    by_table = {scan.table: scan for scan in scans}
    tables = in_order(list(by_table), rows, order)
    return [part for table in tables for part in ranges(connection, by_table[table], rows[table], readers)]


def _conditions(key: str, low: int, high: int, count: int) -> list[str]:
    width = high - low + 1
    edges = [low + width * number // count for number in range(1, min(count, width))]
    if not edges:
        return [""]
    between = [f" WHERE {key} >= {one} AND {key} < {other}" for one, other in itertools.pairwise(edges)]
    return [f" WHERE {key} < {edges[0]}", *between, f" WHERE {key} >= {edges[-1]}"]
