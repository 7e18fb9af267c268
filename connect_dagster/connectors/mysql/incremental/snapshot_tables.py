"""Tables that an incremental snapshot reads, and their form in offsets (Debezium: ``SnapshotDataCollection``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.java.jackson import from_json, json_text

COLLECTIONS = "incremental_snapshot_collections"
_ID, _CONDITION, _SURROGATE = (f"{COLLECTIONS}_{part}" for part in ("id", "additional_condition", "surrogate_key"))


@dataclass(frozen=True, slots=True)
class SnapshotTable:
    """A table.

    Attributes:
        condition: that its rows fulfil, in parentheses; ``None`` for all rows.
        surrogate: name of the column to divide it by, in place of its key.
    """

    id: TableId
    condition: str | None = None
    surrogate: str | None = None


def table_id(text: str) -> TableId:
    """Return the table of a text as ``database.table``.

    Raises:
        DataError: it is not such a text.
    """
    try:
        return TableId.parse(COLLECTIONS, text)
    except ConfigError as error:
        database, dot, name = text.partition(".")
        if not (database and dot and name):
            raise DataError(f"A table is named database.table, not {text!r}") from error
        return TableId(database, name)


def stored_tables(tables: Iterable[SnapshotTable]) -> str:
    """Return the entry of offsets."""
    entries = [{_ID: str(one.id), _CONDITION: one.condition, _SURROGATE: one.surrogate} for one in tables]
    return json_text(entries, halves=False)


def parsed_tables(stored: str) -> list[SnapshotTable]:
    """Return the tables of an entry of offsets.

    Raises:
        DataError: it is not such an entry.
    """
    try:
        return [
            SnapshotTable(table_id(entry[_ID]), entry.get(_CONDITION) or None, entry.get(_SURROGATE) or None)
            for entry in from_json(stored.encode())
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"Not the tables of an incremental snapshot: {stored}") from error
