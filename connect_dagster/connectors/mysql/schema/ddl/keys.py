"""Keys, indexes and constraints of tables. Primary keys and unique indexes have an effect, the others are passed."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.ddl.column_definitions import skip_check, skip_reference
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.schema.table_edits import set_primary_key, set_unique_key

_INDEX_WORDS = ("INDEX", "KEY")
_STARTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK")


@dataclass(frozen=True, slots=True)
class Key:
    """A primary key or a unique index.

    Attributes:
        columns: names of the columns.
        has_expressions: whether it has parts that are not columns.
    """

    is_primary: bool
    columns: tuple[str, ...]
    has_expressions: bool

    def fits(self, table: Table) -> bool:
        """Return whether all of its parts are columns of a table."""
        return not self.has_expressions and all(table.find(name) is not None for name in self.columns)

    def apply(self, read: TokenReader, table: Table) -> Table:
        """Return a table with the key.

        Args:
            read: passed the statement of the key.
            table: without it.

        Raises:
            DataError: a primary key has a column that the table does not have.
        """
        if not self.is_primary:
            return table if self.has_expressions else set_unique_key(table, self.columns)
        for name in self.columns:
            if table.find(name) is None:
                raise read.contradiction(f"{table.id} has no column {name} for its primary key")
        return set_primary_key(table, self.columns)


def sees_constraint(read: TokenReader) -> bool:
    """Return whether a key, an index or a constraint is next."""
    return read.sees_any(*_STARTS) or read.sees("PERIOD", "FOR") or read.sees("VECTOR", "INDEX")


def constraint(read: TokenReader) -> Key | None:
    """Pass a key, an index or a constraint, and return it where it is a primary key or a unique index.

    Raises:
        DataError: it is not understood.
    """
    if read.accept("CONSTRAINT") and not read.sees_any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
        _skip_if_not_exists(read)
        read.name()
    if read.accept("PRIMARY", "KEY"):
        return _key(read, is_primary=True)
    if read.accept("UNIQUE"):
        return _key(read, is_primary=False)
    if read.accept("FOREIGN", "KEY"):
        _skip_index_name(read)
        read.skip_parentheses()
        read.expect("REFERENCES")
        skip_reference(read)
    elif read.sees("CHECK"):
        skip_check(read)
    else:
        read.next()  # the kind of the index
        read.skip_to(",", ")")
    return None


def key_parts(read: TokenReader, *, is_primary: bool) -> Key:
    """Pass the columns and expressions of a key in their parentheses, and return it.

    Raises:
        DataError: they are not understood.
    """
    read.expect("(")
    columns: list[str] = []
    has_expressions = False
    while True:
        if read.sees("("):
            read.skip_parentheses()
            has_expressions = True
        else:
            columns.append(read.name())
            if read.sees("("):
                read.skip_parentheses()  # the length of what is indexed
        read.accept_any("ASC", "DESC")
        if not read.accept(","):
            break
    read.expect(")")
    return Key(is_primary, tuple(columns), has_expressions)


def _key(read: TokenReader, *, is_primary: bool) -> Key:
    read.accept_any(*_INDEX_WORDS)
    _skip_index_name(read)
    key = key_parts(read, is_primary=is_primary)
    read.skip_to(",", ")")  # options of the index
    return key


def _skip_index_name(read: TokenReader) -> None:
    _skip_if_not_exists(read)
    if not read.sees_any("(", "USING", "TYPE"):
        read.name()
    if read.accept_any("USING", "TYPE"):
        read.name()


def _skip_if_not_exists(read: TokenReader) -> None:
    read.accept("IF", "NOT", "EXISTS")
