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
        """What leads to the table, from the outside in."""
        return tuple(part for part in (self.catalog, self.schema, self.name) if part)

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Quoting:
    """How one database writes names.

    Attributes:
        opening, closing: quotation marks; a closing one within a name is doubled.
        always: whether names are quoted (``quote.sql.identifiers``).
    """

    opening: str = '"'
    closing: str = '"'
    always: bool = True

    @property
    def everywhere(self) -> Quoting:
        """With the same marks, around every name."""
        return replace(self, always=True)

    def name(self, name: str) -> str:
        """One name."""
        if not self.always:
            return name
        return f"{self.opening}{name.replace(self.closing, self.closing * 2)}{self.closing}"

    def table(self, table: TableId) -> str:
        """A table with all that leads to it."""
        return ".".join(map(self.name, table.parts))

    def column(self, table: TableId | None, column: str) -> str:
        """A column with its table; without one as it stands in a query of the user's."""
        return self.name(column) if table is None else f"{self.table(table)}.{self.name(column)}"

    def tables(self, tables: Iterable[TableId]) -> str:
        """Tables as the configuration of a task lists them."""
        return ",".join(map(self.everywhere.table, tables))

    def parse(self, text: str, *, catalogs: bool = False) -> TableId:
        """A table from its name, quoted or not.

        Args:
            text: such as ``kafkadb.customers``, or with each part in quotation marks.
            catalogs: whether the first of two parts is a catalog rather than a schema.

        Raises:
            ConnectError: it is no name of a table.
        """
        parts = self._parts(text)
        if not 1 <= len(parts) <= 3 or not all(parts):
            raise ConnectError(f"Invalid fully qualified name: '{text}'")
        if len(parts) == 2 and catalogs:
            return TableId(parts[1], None, parts[0])
        catalog, schema = [None, None, *parts[:-1]][-2:]
        return TableId(parts[-1], schema, catalog)

    def parse_tables(self, text: str, *, catalogs: bool = False) -> list[TableId]:
        """The tables of a task's configuration, as :meth:`tables` writes them."""
        return [self.parse(one, catalogs=catalogs) for one in self._split(text, ",") if one.strip()]

    def _parts(self, text: str) -> list[str]:
        return [self._unquoted(part.strip()) for part in self._split(text, ".")]

    def _unquoted(self, part: str) -> str:
        for opening, closing in ((self.opening, self.closing), ('"', '"')):
            if len(part) > 1 and part.startswith(opening) and part.endswith(closing):
                return part[len(opening) : -len(closing)].replace(closing * 2, closing)
        return part

    def _split(self, text: str, separator: str) -> list[str]:
        """Parts between separators that do not stand within quotation marks."""
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
