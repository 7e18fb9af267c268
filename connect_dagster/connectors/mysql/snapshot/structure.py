"""The statements that make the tables of a server, as a snapshot keeps them in the schema history.

Debezium: ``BinlogSnapshotChangeEventSource.readTableStructure``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.information_schema import (
    Cursor,
    DatabaseCharset,
    charset_variables,
    create_statement,
    database_charsets,
)
from connect_dagster.connectors.mysql.table_ids import TableId, quoted, quoted_table


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, and the database that it is for; empty for none."""

    database: str
    text: str


def structure_statements(cursor: Cursor, tables: Sequence[TableId]) -> Iterator[Statement]:
    """Yield the statements: variables, drops, then each database with its tables.

    Args:
        cursor: of a session that sees the tables as the snapshot does.
        tables: whose structure is read.
    """
    variables = ", ".join(f"{name}={value}" for name, value in charset_variables(cursor).items())
    yield Statement("", f"SET {variables}")
    for table in tables:
        yield Statement(table.database, f"DROP TABLE IF EXISTS {quoted_table(table)}")
    charsets = database_charsets(cursor)
    for database in dict.fromkeys(table.database for table in tables):
        name = quoted(database)
        yield Statement(database, f"DROP DATABASE IF EXISTS {name}")
        yield Statement(database, f"CREATE DATABASE {name}{_locales(database, charsets)}")
        yield Statement(database, f"USE {name}")
        for table in tables:
            if table.database == database:
                yield Statement(database, create_statement(cursor, table))


def _locales(database: str, charsets: Mapping[str, DatabaseCharset]) -> str:
    found = charsets.get(database)
    return "" if found is None else f" CHARSET {found.charset} COLLATE {found.collation}"
