"""Names in statements."""

from __future__ import annotations

from connect_dagster.connectors.mysql.table_ids import TableId


def quoted(name: str) -> str:
    """Return a name in backquotes, which hold with every ``sql_mode``."""
    return f"`{name.replace('`', '``')}`"


def quoted_table(table: TableId) -> str:
    """Return the name of a table with its database."""
    return f"{quoted(table.database)}.{quoted(table.name)}"
