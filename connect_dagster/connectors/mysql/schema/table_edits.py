"""Changes of a table's structure, each by a new table (Debezium: ``TableEditor``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.schema.column_types import has_charset
from connect_dagster.connectors.mysql.schema.model import Column, Table


@dataclass(frozen=True, slots=True)
class ColumnPlace:
    """The place of a column: after another one, or the first."""

    after: str | None = None


def put_column(table: Table, column: Column) -> Table:
    """Return the table with a column at the place of the one of its name, or else at the end."""
    if table.find(column.name) is None:
        return replace(table, columns=(*table.columns, column))
    same = column.name.lower()
    return replace(table, columns=tuple(column if one.name.lower() == same else one for one in table.columns))


def drop_column(table: Table, name: str) -> Table:
    """Return the table without a column, also in its key."""
    dropped = name.lower()
    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name.lower() != dropped),
        key=tuple(part for part in table.key if part.lower() != dropped),
    )


def move_column(table: Table, name: str, place: ColumnPlace) -> Table:
    """Return the table with a column at another place; it is the first where the one before is not known."""
    moved = table.column(name)
    others = [column for column in table.columns if column is not moved]
    before = [] if place.after is None else [column.name.lower() for column in others]
    index = before.index(place.after.lower()) + 1 if place.after and place.after.lower() in before else 0
    return replace(table, columns=(*others[:index], moved, *others[index:]))


def change_column(table: Table, old: str, column: Column) -> Table:
    """Return the table with a column in place of another one, also in its key.

    A column that has the new name already is replaced; the server does not allow that.
    """
    key = tuple(column.name if part.lower() == old.lower() else part for part in table.key)
    if column.name.lower() != old.lower() and table.find(column.name) is not None:
        table = drop_column(table, column.name)
    columns = tuple(column if one.name.lower() == old.lower() else one for one in table.columns)
    return replace(table, columns=columns, key=key)


def set_primary_key(table: Table, names: Sequence[str]) -> Table:
    """Return the table with a primary key, whose columns it makes NOT NULL.

    Raises:
        KeyError: a column is not one of the table's.
    """
    columns = [table.column(name) for name in names]
    for column in columns:
        has_default = column.has_default and not (column.optional and column.default is None)
        table = put_column(table, replace(column, optional=False, has_default=has_default))
    return replace(table, key=tuple(column.name for column in columns))


def set_unique_key(table: Table, names: Sequence[str]) -> Table:
    """Return the table with a unique index: it stands in for a primary key that is missing.

    It does not where one of its columns is nullable or not known.
    """
    columns = [table.find(name) for name in names]
    found = [column for column in columns if column is not None and not column.optional]
    if table.key or len(found) < len(columns):
        return table
    return replace(table, key=tuple(column.name for column in found))


def convert_to(table: Table, charset: str) -> Table:
    """Return the table with another character set, which its texts have from now on too."""
    columns = (column if column.charset is None else replace(column, charset=charset) for column in table.columns)
    return replace(table, charset=charset, columns=tuple(columns))


def with_charsets(table: Table) -> Table:
    """Return the table with its character set in each text that names none."""
    columns = (
        replace(column, charset=table.charset) if column.charset is None and has_charset(column.jdbc_type) else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))
