"""``CREATE TABLE``."""

from __future__ import annotations

from dataclasses import replace

from connect_dagster.connectors.mysql.schema.ddl.column_definitions import ColumnDefinition, ColumnReader
from connect_dagster.connectors.mysql.schema.ddl.keys import Key, constraint, sees_constraint
from connect_dagster.connectors.mysql.schema.ddl.table_options import table_options
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.schema.table_edits import put_column, with_charsets
from connect_dagster.connectors.mysql.table_ids import TableId

_QUERIES = ("SELECT", "WITH", "TABLE", "VALUES", "(")
_QUERY_STARTS = ("AS", "SELECT")


def created_table(read: TokenReader, table: TableId, columns: ColumnReader, charset: str | None) -> Table:
    """Pass what follows the name of a new table, and return the table.

    The columns that a query adds are not in it: the server knows them, not the statement.

    Args:
        read: passed the name.
        table: the name.
        columns: reads definitions of columns.
        charset: of tables without one.

    Raises:
        DataError: the statement is not understood.
    """
    created = Table(table.database, table.name, ())
    keys: list[Key] = []
    if read.sees("(") and read.following.text.upper() not in _QUERIES:
        created, keys = add_elements(read, created, columns, column_keys=True)
    options = table_options(read, *_QUERY_STARTS)
    read.skip_statement()
    for key in keys:
        created = key.apply(read, created)
    comment = options.comment if columns.keeps_comments else None
    return with_charsets(replace(created, charset=options.charset or charset, comment=comment))


def add_elements(
    read: TokenReader, table: Table, columns: ColumnReader, *, column_keys: bool
) -> tuple[Table, list[Key]]:
    """Pass columns and keys in parentheses, and return a table with the columns, and the keys.

    Args:
        read: at the parenthesis.
        table: to which the columns are added.
        columns: reads definitions of columns.
        column_keys: whether a unique index in the definition of a column stands in for a missing primary key.

    Raises:
        DataError: they are not understood.
    """
    keys: list[Key] = []
    read.expect("(")
    while True:
        if sees_constraint(read):
            key = constraint(read)
            keys += [] if key is None else [key]
        else:
            definition = columns.definition(read, read.name())
            table = with_column_key(put_column(table, definition.column), definition, column_keys=column_keys)
        if not read.accept(","):
            break
    read.expect(")")
    return table, keys


def with_column_key(table: Table, definition: ColumnDefinition, *, column_keys: bool) -> Table:
    """Return a table with the key that the definition of one of its columns makes.

    Args:
        table: has the column.
        definition: of the column.
        column_keys: whether a unique index stands in for a missing primary key. The column may be nullable here, which
            may not in an index that the table defines.
    """
    stands_in = definition.is_unique and column_keys and not table.key
    return replace(table, key=(definition.column.name,)) if definition.is_primary or stands_in else table
