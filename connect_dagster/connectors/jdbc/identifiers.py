"""Names of tables and columns in SQL, and in the configuration of a task (Java: ``IdentifierRules``). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from connect_dagster.errors import ConnectError


@dataclass(frozen=True, slots=True)
class TableId:
    """A table; ``catalog`` and ``schema`` are ``None`` where the database has none, or none was given."""

    name: str
    schema: str | None = None
    catalog: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the parts before the table's name, outermost first."""
        return tuple(part for part in (self.catalog, self.schema, self.name) if part)

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Quoting:
    """The quoting of names in one database.

    Attributes:
        opening, closing: quotation marks; a closing one within a name is doubled.
        always: whether names are quoted (``quote.sql.identifiers``).
    """

    opening: str = '"'
    closing: str = '"'
    always: bool = True

    @property
    def everywhere(self) -> Quoting:
        """Return the same quoting, applied to every name."""
        return replace(self, always=True)

    def name(self, name: str) -> str:
        """Quote one name."""
        if not self.always:
            return name
        return f"{self.opening}{name.replace(self.closing, self.closing * 2)}{self.closing}"

    def table(self, table: TableId) -> str:
        """Quote a table with its catalog and schema."""
        return ".".join(map(self.name, table.parts))

    def column(self, table: TableId | None, column: str) -> str:
        """Quote a column with its table; without one as it stands in the user's query."""
        return self.name(column) if table is None else f"{self.table(table)}.{self.name(column)}"

    def tables(self, tables: Iterable[TableId]) -> str:
        """Return tables as the configuration of a task lists them."""
        return ",".join(map(self.everywhere.table, tables))

    def parse(self, text: str, *, catalogs: bool = False) -> TableId:
        """Parse the name of a table, quoted or not.

        Args:
            text: such as ``kafkadb.customers``, or with each part in quotation marks.
            catalogs: whether the first of two parts is a catalog rather than a schema.

        Raises:
            ConnectError: it is not the name of a table.
        """
        parts = self._parts(text)
        if not 1 <= len(parts) <= 3 or not all(parts):
            raise ConnectError(f"Invalid fully qualified name: '{text}'")
        if len(parts) == 2 and catalogs:
            return TableId(parts[1], None, parts[0])
        catalog, schema = [None, None, *parts[:-1]][-2:]
        return TableId(parts[-1], schema, catalog)

    def parse_tables(self, text: str, *, catalogs: bool = False) -> list[TableId]:
        """Parse the tables of a task's configuration, as :meth:`tables` writes them."""
        return [self.parse(one, catalogs=catalogs) for one in self._split(text, ",") if one.strip()]

    def _parts(self, text: str) -> list[str]:
        return [self._unquoted(part.strip()) for part in self._split(text, ".")]

    def _unquoted(self, part: str) -> str:
        for opening, closing in ((self.opening, self.closing), ('"', '"')):
            if len(part) > 1 and part.startswith(opening) and part.endswith(closing):
                return part[len(opening) : -len(closing)].replace(closing * 2, closing)
        return part

    def _split(self, text: str, separator: str) -> list[str]:
        """Split at separators outside quotation marks."""
        parts, closing = [""], ""
        for char in text:
            if closing:
                closing = "" if char == closing else closing
            elif char in (self.opening, '"'):
                closing = self.closing if char == self.opening else '"'
            elif char == separator:
                parts.append("")
                continue
            parts[-1] += char
        return parts
