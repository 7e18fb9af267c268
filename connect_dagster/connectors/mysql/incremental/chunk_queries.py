"""Statements that read chunks of a table in the order of its key (Debezium: ``AbstractChunkQueryBuilder``).

A key of several columns is beyond another one if its first column is, or this one is equal and the second is, and so
on: MySQL finds such rows by an index, but does not with ``(a, b) > (?, ?)``. Nulls are before all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan
from connect_dagster.connectors.mysql.incremental.key_columns import KeyColumn
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.server.parameters import Parameter
from connect_dagster.connectors.mysql.table_ids import quoted, quoted_table
from connect_dagster.java.object_arrays import Value


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """A statement with ``?`` for each of its parameters."""

    statement: str
    parameters: tuple[Parameter, ...] = ()


def maximum_query(plan: ChunkPlan) -> ChunkQuery:
    """Return the query of the largest key."""
    order = ", ".join(f"{_name(one)} DESC" for one in plan.key)
    return ChunkQuery(_select(plan, list(map(_name, plan.key)), [], order, 1))


def chunk_query(plan: ChunkPlan, after: Key | None, maximum: Key, rows: int) -> ChunkQuery:
    """Return the query of the next chunk.

    Args:
        plan: of the table.
        after: key of the last row before the chunk; ``None`` for the first one, which has no bounds.
        maximum: key of the last row of the table.
        rows: most of them.
    """
    bounds: list[str] = []
    parameters: list[Parameter] = []
    if after is not None:
        low, high = (_beyond(plan.key, key.values) for key in (after, maximum))
        bounds = [low.statement, f"NOT {high.statement}"]
        parameters = [*low.parameters, *high.parameters]
    order = ", ".join(map(_name, plan.key))
    return ChunkQuery(_select(plan, list(map(quoted, plan.readings)), bounds, order, rows), tuple(parameters))


def _select(plan: ChunkPlan, columns: Sequence[str], bounds: Sequence[str], order: str, rows: int) -> str:
    conditions = [*bounds, *([plan.condition] if plan.condition else [])]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(columns)} FROM {quoted_table(plan.structure.id)}{where} ORDER BY {order} LIMIT {rows}"


def _beyond(columns: Sequence[KeyColumn], values: Sequence[Value]) -> ChunkQuery:
    """Return the condition for keys beyond one; it is never null, so that its opposite is right as well."""
    alternatives, parameters = [], []
    for last in range(len(columns)):
        parts = [
            *(_equal(column, value) for column, value in zip(columns[:last], values, strict=False)),
            _larger(columns[last], values[last]),
        ]
        alternatives.append(f"({' AND '.join(parts)})")
        parameters += [
            column.parameter(value)
            for column, value in zip(columns[: last + 1], values, strict=False)
            if value is not None
        ]
    condition = " OR ".join(alternatives)
    return ChunkQuery(f"({condition})" if len(columns) > 1 else condition, tuple(parameters))


def _equal(column: KeyColumn, value: Value) -> str:
    return f"{_name(column)} IS NULL" if value is None else f"{_name(column)} = ?"


def _larger(column: KeyColumn, value: Value) -> str:
    name = _name(column)
    if value is None:
        return f"{name} IS NOT NULL"
    return f"({name} > ? AND {name} IS NOT NULL)" if column.column.optional else f"{name} > ?"


def _name(column: KeyColumn) -> str:
    return quoted(column.column.name)
