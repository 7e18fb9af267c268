"""Tables and columns as Debezium's schema history describes them (``io.debezium.relational.Table``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.column_types import JdbcType, type_facts
from connect_dagster.connectors.mysql.table_ids import TableId


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        type: MySQL's name in upper case as a statement wrote it, with ``UNSIGNED`` and ``ZEROFILL``, such as
            ``INT UNSIGNED``.
        length: of a text, of bytes or bits; digits of a DECIMAL; digits after the point of a time.
        scale: of a DECIMAL, or of a FLOAT or DOUBLE that has one.
        charset: of a text, an ENUM or a SET.
        labels: of an ENUM or a SET.
        auto_incremented: whether the server gives values: AUTO_INCREMENT, or a time of the last update.
        has_default: whether there is a default value, which for a nullable column is null at least.
        default: the text of the default value between its quotes; ``None`` for null, and for an expression.
    """

    name: str
    type: str
    length: int | None = None
    scale: int | None = None
    optional: bool = True
    charset: str | None = None
    labels: tuple[str, ...] = ()
    auto_incremented: bool = False
    has_default: bool = False
    default: str | None = None
    comment: str | None = None

    @property
    def base_type(self) -> str:
        """Return the type that the server stores, without sign and filling."""
        return type_facts(self.type).stored

    @property
    def jdbc_type(self) -> JdbcType:
        """Return JDBC's type."""
        return type_facts(self.type).jdbc

    @property
    def unsigned(self) -> bool:
        """Return whether the numbers are unsigned; ZEROFILL implies it."""
        return "UNSIGNED" in self.type or "ZEROFILL" in self.type


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: names of the columns of the primary key, or of the unique index that stands in for it.
        charset: of columns that name none.
        attributes: names and values that other connectors' histories may have.
    """

    database: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    charset: str | None = None
    comment: str | None = None
    attributes: tuple[tuple[str, str | None], ...] = ()

    @property
    def id(self) -> TableId:
        """Return the name with the database."""
        return TableId(self.database, self.name)

    def find(self, name: str) -> Column | None:
        """Return a column by its name, in which case does not matter; ``None`` where the table has none."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    def column(self, name: str) -> Column:
        """Return a column by its name, in which case does not matter.

        Raises:
            KeyError: there is none.
        """
        column = self.find(name)
        if column is None:
            raise KeyError(f"{self.database}.{self.name} has no column {name}")
        return column


@dataclass(frozen=True, slots=True)
class SavedTables:
    """Tables and character sets that were known at some time."""

    tables: Mapping[TableId, Table]
    charsets: Mapping[str, str]


class Tables:
    """The tables that are known, and the character sets of databases. One thread owns them.

    Args:
        lower_case_table_names: the server's variable. With 0 names of tables and databases that differ in case are
            different ones, else they are one table, which keeps the name that it came with.
    """

    def __init__(self, lower_case_table_names: int = 0) -> None:
        self._folds = lower_case_table_names != 0
        self._tables: dict[TableId, Table] = {}
        self._charsets: dict[str, str] = {}

    def __iter__(self) -> Iterator[Table]:
        return iter(list(self._tables.values()))

    def get(self, table: TableId) -> Table | None:
        """Return a table; ``None`` where it is not known."""
        return self._tables.get(self._key(table))

    def put(self, table: Table) -> None:
        """Add a table, or replace the one of its name."""
        self._tables[self._key(table.id)] = table

    def remove(self, table: TableId) -> None:
        """Remove a table where it is known."""
        self._tables.pop(self._key(table), None)

    def remove_database(self, name: str) -> None:
        """Remove the tables of a database, and its character set."""
        key = self._fold(name)
        self._tables = {table: known for table, known in self._tables.items() if table.database != key}
        self._charsets.pop(key, None)

    def charset(self, database: str) -> str | None:
        """Return the character set of a database where it is known."""
        return self._charsets.get(self._fold(database))

    def set_charset(self, database: str, charset: str) -> None:
        """Set the character set of tables to come of a database."""
        self._charsets[self._fold(database)] = charset

    def saved(self) -> SavedTables:
        """Return what is known now, for ``restore``."""
        return SavedTables(dict(self._tables), dict(self._charsets))

    def restore(self, saved: SavedTables) -> None:
        """Know again what was known."""
        self._tables, self._charsets = dict(saved.tables), dict(saved.charsets)

    def _key(self, table: TableId) -> TableId:
        return TableId(self._fold(table.database), self._fold(table.name))

    def _fold(self, name: str) -> str:
        return name.lower() if self._folds else name
