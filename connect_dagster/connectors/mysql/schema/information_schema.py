"""The structure of a server's tables, from the statements that it gives for them (``SHOW CREATE TABLE``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.ddl.variables import CHARSET_SERVER
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId, quoted, quoted_table
from connect_dagster.errors import DataError

COLLATION_SERVER = "collation_server"


class Cursor(Protocol):
    """A cursor of Python's DB-API."""

    def execute(self, query: str) -> Any: ...

    def fetchall(self) -> Sequence[Sequence[Any]]: ...


@dataclass(frozen=True, slots=True)
class DatabaseCharset:
    """Character set and collation of tables to come of a database."""

    charset: str
    collation: str


def database_names(cursor: Cursor) -> list[str]:
    """Return the names of the databases that the user may see."""
    return [row[0] for row in _rows(cursor, "SHOW DATABASES")]


def database_charsets(cursor: Cursor) -> dict[str, DatabaseCharset]:
    """Return character set and collation of each database."""
    query = "SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata"
    return {name: DatabaseCharset(charset, collation) for name, charset, collation in _rows(cursor, query)}


def table_names(cursor: Cursor, database: str) -> list[TableId]:
    """Return the names of the tables of a database, without its views."""
    rows = _rows(cursor, f"SHOW FULL TABLES IN {quoted(database)} WHERE Table_Type = 'BASE TABLE'")
    return [TableId(database, row[0]) for row in rows]


def charset_variables(cursor: Cursor) -> dict[str, str]:
    """Return the server's variables that decide on the character set of new databases."""
    names = f"'{CHARSET_SERVER}', '{COLLATION_SERVER}'"
    return dict(_pairs(cursor, f"SHOW VARIABLES WHERE Variable_name IN ({names})"))


def create_statement(cursor: Cursor, table: TableId) -> str:
    """Return the statement that makes a table as it is now."""
    return str(_rows(cursor, show_create(table))[0][1])


def show_create(table: TableId) -> str:
    """Return the statement that asks for the one that makes a table; that is the second column of its row."""
    return f"SHOW CREATE TABLE {quoted_table(table)}"


def created_table(statement: str, table: TableId, flavor: Flavor, *, keeps_comments: bool = False) -> Table:
    """Return the table that a server's statement for it makes.

    Raises:
        DataError: the statement is not understood.
    """
    tables = Tables()
    DdlParser(tables, flavor, keeps_comments=keeps_comments).parse(statement, table.database)
    found = next(iter(tables), None)
    if found is None:
        raise DataError(f"Not a statement that makes the table {table}: {statement}")
    return found


def _pairs(cursor: Cursor, query: str) -> list[tuple[str, str]]:
    return [(name, value) for name, value in _rows(cursor, query)]


def _rows(cursor: Cursor, query: str) -> Sequence[Sequence[Any]]:
    cursor.execute(query)
    return cursor.fetchall()
