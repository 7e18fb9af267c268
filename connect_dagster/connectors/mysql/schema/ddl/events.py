"""Changes that statements make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.schema.model import Table
from connect_dagster.connectors.mysql.table_ids import TableId


class DdlKind(Enum):
    """Kinds of changes; the value is the type of the table change in a schema history, for tables."""

    CREATE_TABLE = "CREATE"
    ALTER_TABLE = "ALTER"
    DROP_TABLE = "DROP"
    TRUNCATE_TABLE = "TRUNCATE"
    DATABASE = "DATABASE"
    """A database is created or dropped; or the current database or a variable is set."""
    OTHER = "OTHER"
    """A statement that changes no table that is known, such as CREATE INDEX."""


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """A change of a statement, which has several where it names several tables.

    Attributes:
        database: of the table; else the one that the statement is about, or the current one; empty for none.
        statement: without comments around it. One that names several tables is as if it had named this one only.
        table_id: of a change of a table; after a rename the new name.
        previous_id: the name before a rename.
        table: after the change; ``None`` for one that was dropped, and where it is not known.
    """

    kind: DdlKind
    database: str
    statement: str
    table_id: TableId | None = None
    previous_id: TableId | None = None
    table: Table | None = None
