"""Statements that merge the rows of a staging table into their table. Pure.

A row of ``MERGES`` for each database with its own statement; others get the SQL standard's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.connectors.jdbc.dialects import MYSQL, POSTGRESQL
from connect_dagster.connectors.jdbc.identifiers import Quoting
from connect_dagster.connectors.jdbc.sink.config import InsertMode

STAGED = "staged"


@dataclass(frozen=True, slots=True)
class Merge:
    """The tables and columns of a merge.

    Attributes:
        quoting: of names.
        table: the table, quoted.
        stage: the staging table, quoted.
        keys: names of the columns of the primary key.
        values: names of the other columns.
    """

    quoting: Quoting
    table: str
    stage: str
    keys: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def columns(self) -> str:
        """Return all columns, between commas."""
        return self.listed([*self.keys, *self.values])

    def listed(self, names: Sequence[str], form: str = "{0}", separator: str = ", ") -> str:
        """Return the names, each formatted with ``{0}`` as the name."""
        return separator.join(form.format(self.quoting.name(name)) for name in names)

    def same_key(self, table: str) -> str:
        """Return the condition that a row of the table and a staged one have the same key."""
        return self.listed(self.keys, f"{table}.{{0}} = {STAGED}.{{0}}", " AND ")


Statements = Callable[[Merge], list[str]]


def merged(dialect: str, mode: InsertMode, merge: Merge) -> list[str]:
    """Return the statements for a mode."""
    return _MERGES.get((dialect, mode), _STANDARD[mode])(merge)


def deleted(dialect: str, merge: Merge) -> str:
    """Return the statement that deletes the rows of staged keys."""
    return _DELETES.get(dialect, _standard_delete)(merge)


def empty_copy(dialect: str, copy: str, columns: str, table: str) -> str:
    """Return the statement that creates an empty table with columns of another one; all names quoted."""
    return _COPIES.get(dialect, _COPY).format(copy=copy, columns=columns, table=table)


def _insert(merge: Merge) -> list[str]:
    return [f"INSERT INTO {merge.table} ({merge.columns}) SELECT {merge.columns} FROM {merge.stage}"]


def _mysql_upsert(merge: Merge) -> list[str]:
    updates = merge.listed(merge.values or merge.keys, "{0} = VALUES({0})")
    return [f"{_insert(merge)[0]} ON DUPLICATE KEY UPDATE {updates}"]


def _mysql_update(merge: Merge) -> list[str]:
    if not merge.values:
        return []
    updates = merge.listed(merge.values, f"target.{{0}} = {STAGED}.{{0}}")
    return [f"UPDATE {merge.table} target JOIN {merge.stage} {STAGED} ON {merge.same_key('target')} SET {updates}"]


def _mysql_delete(merge: Merge) -> str:
    return f"DELETE target FROM {merge.table} target JOIN {merge.stage} {STAGED} ON {merge.same_key('target')}"


def _postgresql_upsert(merge: Merge) -> list[str]:
    updates = merge.listed(merge.values, "{0} = EXCLUDED.{0}")
    action = f"UPDATE SET {updates}" if updates else "NOTHING"
    return [f"{_insert(merge)[0]} ON CONFLICT ({merge.listed(merge.keys)}) DO {action}"]


def _postgresql_update(merge: Merge) -> list[str]:
    if not merge.values:
        return []
    updates = merge.listed(merge.values, f"{{0}} = {STAGED}.{{0}}")
    return [
        f"UPDATE {merge.table} AS target SET {updates} FROM {merge.stage} {STAGED} WHERE {merge.same_key('target')}"
    ]


def _postgresql_delete(merge: Merge) -> str:
    return f"DELETE FROM {merge.table} AS target USING {merge.stage} {STAGED} WHERE {merge.same_key('target')}"


def _waits(merge: Merge) -> str:
    return f"SELECT 1 FROM {merge.stage} {STAGED} WHERE {merge.same_key(merge.table)}"


def _standard_update(merge: Merge) -> list[str]:
    if not merge.values:
        return []
    same = merge.same_key(merge.table)
    updates = merge.listed(merge.values, f"{{0}} = (SELECT {STAGED}.{{0}} FROM {merge.stage} {STAGED} WHERE {same})")
    return [f"UPDATE {merge.table} SET {updates} WHERE EXISTS ({_waits(merge)})"]


def _standard_upsert(merge: Merge) -> list[str]:
    selected = merge.listed([*merge.keys, *merge.values], f"{STAGED}.{{0}}")
    there = f"SELECT 1 FROM {merge.table} WHERE {merge.same_key(merge.table)}"
    insert = (
        f"INSERT INTO {merge.table} ({merge.columns}) SELECT {selected} FROM {merge.stage} {STAGED} "
        f"WHERE NOT EXISTS ({there})"
    )
    return [*_standard_update(merge), insert]


def _standard_delete(merge: Merge) -> str:
    return f"DELETE FROM {merge.table} WHERE EXISTS ({_waits(merge)})"


_STANDARD: Mapping[InsertMode, Statements] = {
    InsertMode.INSERT: _insert,
    InsertMode.UPSERT: _standard_upsert,
    InsertMode.UPDATE: _standard_update,
}
_MERGES: Mapping[tuple[str, InsertMode], Statements] = {
    (MYSQL, InsertMode.UPSERT): _mysql_upsert,
    (MYSQL, InsertMode.UPDATE): _mysql_update,
    (POSTGRESQL, InsertMode.UPSERT): _postgresql_upsert,
    (POSTGRESQL, InsertMode.UPDATE): _postgresql_update,
}
_DELETES: Mapping[str, Callable[[Merge], str]] = {MYSQL: _mysql_delete, POSTGRESQL: _postgresql_delete}

_COPY = "CREATE TABLE {copy} AS SELECT {columns} FROM {table} WHERE 1 = 0"
_INTO = "SELECT {columns} INTO {copy} FROM {table} WHERE 1 = 0"
_NO_DATA = "CREATE TABLE {copy} AS (SELECT {columns} FROM {table}) WITH NO DATA"
_COPIES: Mapping[str, str] = {
    "SqlServerDatabaseDialect": _INTO,
    "SybaseDatabaseDialect": _INTO,
    "DerbyDatabaseDialect": "CREATE TABLE {copy} AS SELECT {columns} FROM {table} WITH NO DATA",
    "Db2DatabaseDialect": _NO_DATA,
    "SapHanaDatabaseDialect": _NO_DATA,
}
