"""Records of the topic of the schema history (Debezium: ``HistoryRecord``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect_dagster.connectors.mysql.schema.table_changes import TableChange
from connect_dagster.errors import DataError


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """A statement, where it was in the binary log, and what it did to tables.

    Attributes:
        source: partition of the connector's offsets.
        position: offset of the connector when the statement came.
        timestamp: milliseconds of the epoch when the record was made; histories before 2.0 have none.
        database: the one that the statement is about.
        ddl: the statement.
        changes: tables after the statement; ``None`` in records that have the statement only.
    """

    source: Mapping[str, Any]
    position: Mapping[str, Any]
    timestamp: int | None = None
    database: str | None = None
    ddl: str | None = None
    changes: tuple[TableChange, ...] | None = None

    @classmethod
    def parse(cls, value: str | bytes) -> HistoryRecord:
        """Return the record of a value, ours or one of Debezium since 1.0.

        Raises:
            DataError: it is not JSON, or has no source and position, or a change of a table is not understood.
        """
        try:
            fields = json.loads(value)
            source, position = dict(fields["source"]), dict(fields["position"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"Not a record of a schema history: {value!r}") from error
        changes = fields.get("tableChanges")
        return cls(
            source,
            position,
            fields.get("ts_ms"),
            fields.get("databaseName"),
            fields.get("ddl"),
            None if changes is None else tuple(TableChange.parse(change) for change in changes),
        )

    def to_json(self) -> str:
        """Return the value of the record, its fields in Debezium's order; those that do not apply are absent."""
        fields = {
            "source": dict(self.source),
            "position": dict(self.position),
            "ts_ms": self.timestamp,
            "databaseName": self.database,
            "ddl": self.ddl,
            "tableChanges": None if self.changes is None else [change.history_entry() for change in self.changes],
        }
        present = {name: field for name, field in fields.items() if field is not None}
        return json.dumps(present, ensure_ascii=False, separators=(",", ":"))
