"""The tables that a sink writes to: looked up, created and altered (Java: ``DbStructure``)."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect_dagster.connectors.jdbc.database import Connection, read
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.identifiers import Quoting, TableId
from connect_dagster.connectors.jdbc.sink.config import JdbcSinkConfig
from connect_dagster.connectors.jdbc.sink.fields import SinkField, SinkFields
from connect_dagster.connectors.jdbc.sink.types import ColumnTypes
from connect_dagster.connectors.jdbc.sink.values import SinkValues
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)

TOPIC = "${topic}"
_KINDS = {"BASE TABLE": "TABLE"}
_COLUMN_NAME, _TYPE_NAME = 3, 5


class TableError(ConnectError):
    """A table is missing, or does not fit, and must not be changed (Java: ``TableAlterOrCreateException``)."""

    java_name = "io.confluent.connect.jdbc.sink.TableAlterOrCreateException"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the database.

    Attributes:
        id: where it is.
        kind: ``TABLE``, ``PARTITIONED TABLE`` or ``VIEW``.
        columns: its columns with the names of their types, in lower case.
    """

    id: TableId
    kind: str
    columns: Mapping[str, str]

    @property
    def shown(self) -> str:
        """Return the table as messages name it."""
        return Quoting().table(self.id)

    def column(self, name: str) -> str | None:
        """Return a column by the name of a field, which may differ in case."""
        if name in self.columns:
            return name
        return next((one for one in self.columns if one.lower() == name.lower()), None)

    def missing(self, fields: Iterable[SinkField]) -> list[SinkField]:
        """Return the fields without a column."""
        return [field for field in fields if self.column(field.name) is None]


class SinkTables:
    """The tables of one connector; cached until :meth:`forget`.

    Args:
        config: the connector's configuration.
        dialect: of the database.
    """

    def __init__(self, config: JdbcSinkConfig, dialect: Dialect) -> None:
        self._config = config
        self._dialect = dialect
        self._types = ColumnTypes(dialect, config.db_timezone)
        self._values = SinkValues(config)
        self._known: dict[str, Table] = {}

    def forget(self) -> None:
        """Clear the cache."""
        self._known.clear()

    def ready(self, connection: Connection, topic: str, fields: SinkFields) -> Table:
        """Return the table for a topic, with columns for these fields: created or altered where configured.

        Raises:
            TableError: it is missing or does not fit.
            DatabaseError: the database refuses.
        """
        name = self._config.table_name_format.strip().replace(TOPIC, topic)
        table = self._known.get(name) or self._found(connection, name) or self._created(connection, name, fields)
        if missing := table.missing(fields.created):
            table = self._amended(connection, name, table, missing)
        self._known[name] = table
        return table

    def _found(self, connection: Connection, name: str) -> Table | None:
        """Look up the table."""
        wanted = self._id(connection, name)
        pattern = None if self._config.quoted else "%"
        rows = connection.metadata("tables", lambda metadata: _tables(metadata, wanted, pattern))
        kinds = {found: _KINDS.get(kind, kind) for found, kind in rows}
        allowed = [found for found in kinds if kinds[found] in self._config.table_types]
        exact = [found for found in allowed if found == wanted.name]
        same = [found for found in allowed if not self._config.quoted and found.lower() == wanted.name.lower()]
        for found in (*exact, *same):
            id = TableId(found, wanted.schema, wanted.catalog)
            columns = connection.metadata(f"columns of {id}", functools.partial(_columns, table=id))
            return Table(self._dialect.table(id.catalog, id.schema, id.name), kinds[found], columns)
        return None

    def _id(self, connection: Connection, name: str) -> TableId:
        id = self._dialect.parse_table(name)
        with connection.database.translated_errors("Cannot ask for the current schema"):
            catalog = id.catalog or connection.catalog or None
            schema = id.schema or connection.java.getSchema() or None
        return TableId(id.name, schema, catalog)

    def _created(self, connection: Connection, name: str, fields: SinkFields) -> Table:
        wanted = self._id(connection, name)
        id = self._dialect.table(wanted.catalog, wanted.schema, wanted.name)
        shown = Quoting().table(id)
        if not self._config.auto_create:
            raise TableError(f"Table {shown} is missing and auto-creation is disabled")
        statement = self._create_statement(id, fields)
        log.info("Creating table with sql: %s", statement)
        refused = _changed(connection, statement)
        table = self._found(connection, name)
        if table is None:
            raise refused or TableError(f"Table {shown} is missing after it was created with: {statement}")
        return table

    def _create_statement(self, id: TableId, fields: SinkFields) -> str:
        quoting = self._dialect.quoting
        parts = [self._definition(field) for field in fields.created]
        if fields.keys:
            parts.append(f"PRIMARY KEY({','.join(quoting.name(field.name) for field in fields.keys)})")
        joined = ",\n".join(parts)
        return f"CREATE TABLE {quoting.table(id)} (\n{joined})"

    def _definition(self, field: SinkField) -> str:
        return self._types.definition(field, counted=self._values.is_counted(field))

    def _amended(self, connection: Connection, name: str, table: Table, missing: Sequence[SinkField]) -> Table:
        self._may_amend(table, missing)
        refused: DatabaseError | None = None
        for field in missing:
            quoted = self._dialect.quoting.table(table.id)
            statement = f"ALTER TABLE {quoted} ADD {self._definition(field)}"
            log.info("Amending %s to add missing field %s with SQL: %s", table.kind, field, statement)
            refused = _changed(connection, statement)
        changed = self._found(connection, name)
        if changed is None or changed.missing(missing):
            left = _listed(missing)
            raise refused or TableError(f"Failed to amend {table.kind} '{table.shown}' to add missing fields: {left}")
        return changed

    def _may_amend(self, table: Table, missing: Sequence[SinkField]) -> None:
        kind = table.kind.title()
        if table.kind == "VIEW":
            raise TableError(
                f"{kind} {table.shown} is missing fields ({_listed(missing)}) and ALTER {table.kind} is unsupported"
            )
        for field in missing:
            if not field.schema.optional and field.default is None:
                raise TableError(
                    f"Cannot ALTER {table.kind} {table.shown} to add missing field {field}, as the field is not "
                    "optional and does not have a default value"
                )
        if not self._config.auto_evolve:
            raise TableError(
                f"{kind} {table.shown} is missing fields ({_listed(missing)}) and auto-evolution is disabled"
            )


def _changed(connection: Connection, statement: str) -> DatabaseError | None:
    """Change a structure; returns a refusal, as another task may have made the same change just now."""
    try:
        connection.execute(statement)
        connection.commit()
    except DatabaseError as error:
        connection.rollback()
        log.warning("%s failed, checking whether another task has done it: %s", statement, error)
        return error
    return None


def _listed(fields: Iterable[SinkField]) -> str:
    return f"[{', '.join(map(str, fields))}]"


def _tables(metadata: Any, wanted: TableId, pattern: str | None) -> list[tuple[str, str]]:
    """Return name and kind of the tables of a schema that match a pattern, by default the name itself."""
    pattern = pattern or _literal(metadata, wanted.name)
    results = metadata.getTables(wanted.catalog, wanted.schema, pattern, None)
    return [(row[2], row[3]) for row in read(results, *["string"] * 4)]


def _columns(metadata: Any, table: TableId) -> dict[str, str]:
    results = metadata.getColumns(table.catalog, table.schema, _literal(metadata, table.name), "%")
    rows = read(results, *["string"] * 6)
    return {row[_COLUMN_NAME]: row[_TYPE_NAME].lower() for row in rows if row[2] == table.name}


def _literal(metadata: Any, name: str) -> str:
    """Return a pattern that matches one name only."""
    escape = str(metadata.getSearchStringEscape() or "")
    for wildcard in (escape, "_", "%") if escape else ():
        name = name.replace(wildcard, escape + wildcard)
    return name
