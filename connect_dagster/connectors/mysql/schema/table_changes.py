"""Changes of tables as the schema history keeps them, and as the records of schema changes have them.

Debezium: ``TableChanges``, ``JsonTableChangeSerializer``, ``ConnectTableChangeSerializer``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from connect_dagster.connectors.mysql.schema.ddl.column_type import column_type
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.ddl.tokens import Token, TokenKind
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError

_ID = re.compile(r'(?:"((?:[^"]|"")*)"\.)?"((?:[^"]|"")*)"')
_LABEL_ESCAPES = str.maketrans({"\\": "\\\\", "'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r"})
_RECORD_FIELDS = (
    "name",
    "jdbcType",
    "nativeType",
    "typeName",
    "typeExpression",
    "charsetName",
    "length",
    "scale",
    "position",
    "optional",
    "autoIncremented",
    "generated",
    "comment",
    "defaultValueExpression",
    "enumValues",
)


class ChangeType(Enum):
    """Kinds of changes that a schema history keeps."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"


_TYPES = {
    DdlKind.CREATE_TABLE: ChangeType.CREATE,
    DdlKind.ALTER_TABLE: ChangeType.ALTER,
    DdlKind.DROP_TABLE: ChangeType.DROP,
}


@dataclass(frozen=True, slots=True)
class TableChange:
    """A change of a table.

    Attributes:
        table: after the change; ``None`` for one that was dropped.
        previous_id: the name before a rename.
    """

    type: ChangeType
    id: TableId
    table: Table | None = None
    previous_id: TableId | None = None

    @classmethod
    def of(cls, event: DdlEvent) -> TableChange | None:
        """Return the change of a statement; ``None`` where it leaves the tables that are known as they are."""
        kind = _TYPES.get(event.kind)
        if kind is None or event.table_id is None or (event.table is None and kind is not ChangeType.DROP):
            return None
        return cls(kind, event.table_id, event.table, event.previous_id)

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> TableChange:
        """Return the change of an entry of a schema history.

        Raises:
            DataError: something is missing from it, or of another type.
        """
        try:
            kind, table_id = ChangeType(entry["type"]), _table_id(entry["id"])
            previous = entry.get("previousId")
            table = None if kind is ChangeType.DROP else _table(table_id, entry["table"], entry.get("comment"))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"Not a change of a table in a schema history: {entry} ({error!r})") from error
        return cls(kind, table_id, table, None if previous is None else _table_id(previous))

    def apply(self, tables: Tables) -> None:
        """Make the change to the tables that are known."""
        if self.previous_id is not None:
            tables.remove(self.previous_id)
        if self.table is None:
            tables.remove(self.id)
        else:
            tables.put(self.table)

    def history_entry(self) -> dict[str, Any]:
        """Return the entry of a schema history, its fields in Debezium's order."""
        previous = {} if self.previous_id is None else {"previousId": _quoted(self.previous_id)}
        entry: dict[str, Any] = {"type": self.type.value, "id": _quoted(self.id), **previous}
        if self.table is not None:
            entry |= {"table": _table_entry(self.table), "comment": self.table.comment}
        return entry

    def record_value(self) -> dict[str, Any]:
        """Return the value of a record of schema changes (``CHANGE_SCHEMA`` in ``records/service_records.py``)."""
        table = None if self.table is None else _table_value(self.table)
        return {"type": self.type.value, "id": _quoted(self.id), "table": table}


def _table_entry(table: Table) -> dict[str, Any]:
    return {
        "defaultCharsetName": table.charset,
        "primaryKeyColumnNames": list(table.key),
        "columns": [_column_entry(column, position) for position, column in enumerate(table.columns, 1)],
        "attributes": [{"name": name, "value": value} for name, value in table.attributes],
    }


def _column_entry(column: Column, position: int) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": column.name,
        "jdbcType": int(column.jdbc_type),
        "typeName": column.type,
        "typeExpression": column.type,
        "charsetName": column.charset,
        "length": column.length,
        "scale": column.scale,
        "position": position,
        "optional": column.optional,
        "autoIncremented": column.auto_incremented,
        "generated": column.auto_incremented,
        "comment": column.comment,
        "hasDefaultValue": column.has_default,
        "defaultValueExpression": column.default,
        "enumValues": [f"'{label.translate(_LABEL_ESCAPES)}'" for label in column.labels],
    }
    absent = [field for field in ("length", "scale", "defaultValueExpression") if entry[field] is None]
    return {field: value for field, value in entry.items() if field not in absent}


def _table_value(table: Table) -> dict[str, Any]:
    entry = _table_entry(table)
    columns = [{field: column.get(field) for field in _RECORD_FIELDS} for column in entry["columns"]]
    for column in columns:
        column["enumValues"] = column["enumValues"] or None
    return {
        "defaultCharsetName": table.charset,
        "primaryKeyColumnNames": entry["primaryKeyColumnNames"],
        "columns": columns,
        "comment": table.comment,
    }


def _table(table: TableId, entry: Mapping[str, Any], comment: str | None) -> Table:
    return Table(
        table.database,
        table.name,
        columns=tuple(_column(column) for column in entry["columns"]),
        key=tuple(entry["primaryKeyColumnNames"]),
        charset=entry.get("defaultCharsetName"),
        comment=comment or entry.get("comment"),
        attributes=tuple((attribute["name"], attribute["value"]) for attribute in entry.get("attributes") or ()),
    )


def _column(entry: Mapping[str, Any]) -> Column:
    optional, default = bool(entry["optional"]), entry.get("defaultValueExpression")
    return Column(
        entry["name"],
        entry["typeName"],
        length=entry.get("length"),
        scale=entry.get("scale"),
        optional=optional,
        charset=entry.get("charsetName"),
        labels=_labels(entry),
        auto_incremented=bool(entry["autoIncremented"]),
        has_default=bool(entry.get("hasDefaultValue")) or optional or default is not None,
        default=default,
        comment=entry.get("comment"),
    )


def _labels(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of an ENUM or a SET, which are quoted; older histories have them in the type's expression."""
    values: Sequence[str] = entry.get("enumValues") or ()
    expression: str = entry.get("typeExpression") or ""
    if not values and expression.upper().startswith(("ENUM(", "SET(")):
        return column_type(TokenReader(expression)).labels
    return tuple(_label(value) for value in values)


def _label(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return Token(TokenKind.STRING, value, 0, len(value)).value if is_quoted else value


def _table_id(text: str) -> TableId:
    match = _ID.fullmatch(text)
    if match is None:
        raise ValueError(f"not the name of a table: {text}")
    return TableId(*((part or "").replace('""', '"') for part in match.groups()))


def _quoted(table: TableId) -> str:
    parts = ['"' + part.replace('"', '""') + '"' for part in table if part]
    return ".".join(parts)
