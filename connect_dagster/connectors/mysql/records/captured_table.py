"""A captured table: topic and schemas of its records, and the way from its columns to their fields.

Debezium: ``TableSchemaBuilder``. Fields of a key have the column's values as they are; masks and the like change those
of the row alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.records.column_conversions import ColumnConversion
from connect_dagster.connectors.mysql.records.defaults import default_of_field
from connect_dagster.connectors.mysql.records.envelope import envelope_schema
from connect_dagster.connectors.mysql.records.name_adjustment import (
    NameAdjustment,
    adjusted_field_name,
    adjusted_schema_name,
)
from connect_dagster.connectors.mysql.records.topics import TopicNames
from connect_dagster.connectors.mysql.records.type_modes import TypeModes
from connect_dagster.connectors.mysql.records.types import FieldType, field_type, is_known_type
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.connectors.mysql.selection.column_rules import ColumnRules, Effect
from connect_dagster.connectors.mysql.selection.filters import CaptureFilters
from connect_dagster.connectors.mysql.selection.message_keys import MessageKeys
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

log = logging.getLogger(__name__)

_TIMES = frozenset({"DATE", "DATETIME", "TIMESTAMP"})


@dataclass(frozen=True, slots=True)
class RecordRules:
    """Options that decide on topics, schemas and values.

    Attributes:
        source: schema of ``source``.
    """

    source: Schema
    names: TopicNames
    filters: CaptureFilters
    modes: TypeModes
    keys: MessageKeys
    columns: ColumnRules
    schema_names: NameAdjustment = NameAdjustment.NONE
    field_names: NameAdjustment = NameAdjustment.NONE
    conversions: tuple[ColumnConversion, ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedField:
    """A field of a row or a key.

    Attributes:
        index: of the column in the table.
        name: of the field.
        type: schema, and the way to the values.
        effect: changes them after it; ``None`` in a key.
    """

    index: int
    name: str
    column: Column
    type: FieldType
    effect: Effect | None = None

    def values(self, decoded: pa.Array) -> pa.Array:
        """Return the field's values.

        Args:
            decoded: those of the column, as ``decode.columns.decode`` gives them.
        """
        values = self.type.convert(decoded)
        convert = None if self.effect is None else self.effect.convert(self.column)
        return values if convert is None else convert(values)


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A table whose changes become records.

    Attributes:
        id: its name.
        topic: of its records.
        row: fields of ``before`` and ``after``.
        key: fields of the key, none for a table without one.
        row_schema: schema of ``before`` and ``after``.
        key_schema: schema of the key.
        value_schema: schema of the envelope.
    """

    id: TableId
    topic: str
    row: tuple[CapturedField, ...]
    key: tuple[CapturedField, ...]
    row_schema: Schema
    key_schema: Schema | None
    value_schema: Schema


def captured_table(table: Table, rules: RecordRules) -> CapturedTable:
    """Return the way from a table to records, without columns whose type is not known.

    Raises:
        DataError: the default value of a column is not one of its type.
        CostlyPatternError: a match of an option's regular expression takes too long.
    """
    table_id = TableId(table.database, table.name)
    captured = rules.filters.columns_of(table_id, [column.name for column in table.columns])
    effects = dict(
        zip((one.name for one in table.columns), rules.columns.of_table(table_id, table.columns), strict=True)
    )
    known = [name for name in captured if _is_known(table, name)]
    row = tuple(_field(table, name, rules, effects[name]) for name in known)
    key_names = [name for name in _key_columns(table, table_id, rules) if is_known_type(table.column(name))]
    key = tuple(_field(table, name, rules) for name in key_names)
    names = rules.names
    topic, wanted = names.of_table(*table_id), names.wanted_of_table(*table_id)
    if topic != wanted:
        log.warning("Records of table %s go to the topic %s: no topic can have the name %s", table_id, topic, wanted)

    def named(name: str) -> str:
        return adjusted_schema_name(name, rules.schema_names)

    row_schema = _struct(named(names.row_schema(*table_id)), row, optional=True)
    envelope = envelope_schema(names, table, row_schema, rules.source)
    return CapturedTable(
        id=table_id,
        topic=topic,
        row=row,
        key=key,
        row_schema=row_schema,
        key_schema=_struct(named(names.key_schema(*table_id)), key) if key else None,
        value_schema=replace(envelope, name=named(names.envelope_schema(*table_id))),
    )


def _is_known(table: Table, name: str) -> bool:
    column = table.column(name)
    known = is_known_type(column)
    if not known:
        log.warning("Column %s of table %s is left out: its type %s is not known", name, table.id, column.type)
    return known


def impossible_date(table: TableId, field: CapturedField, where: str) -> str:
    """Return the text for a date that no calendar has, which a server stores with ``ALLOW_INVALID_DATES``.

    Args:
        table: that has the field.
        field: of the date.
        where: the first such date is.
    """
    return f"Column {field.column.name} of table {table} has a date that no calendar has, such as February 30, {where}"


def _key_columns(table: Table, table_id: TableId, rules: RecordRules) -> Sequence[str]:
    chosen = rules.keys.of_table(table_id, [column.name for column in table.columns])
    return table.key if chosen is None else chosen


def _field(table: Table, name: str, rules: RecordRules, effect: Effect | None = None) -> CapturedField:
    column = table.column(name)
    kind = field_type(column, rules.modes)
    default = default_of_field(column, rules.modes)
    conversions = (one.converted(table.id, column, kind, default) for one in rules.conversions)
    kind = next(filter(None, conversions), None) or _with_default(kind, column, default)
    if column.comment is not None:
        kind = replace(kind, schema=replace(kind.schema, doc=column.comment))
    if effect is not None and (parameters := effect.parameters(column)):
        kind = replace(kind, schema=replace(kind.schema, parameters=(*kind.schema.parameters, *parameters)))
    field_name = adjusted_field_name(column.name, rules.field_names)
    return CapturedField(table.columns.index(column), field_name, column, kind, effect)


def _with_default(kind: FieldType, column: Column, default: Any) -> FieldType:
    """Return the field with a default value, which a NOT NULL column has in place of times such as 0000-00-00."""
    found = replace(kind, schema=kind.schema.with_default(default))
    if default is None or column.optional or column.base_type not in _TIMES:
        return found

    def convert(decoded: pa.Array) -> pa.Array:
        values = kind.convert(decoded)
        return pc.if_else(decoded.is_null(), pa.scalar(default, values.type), values)

    return replace(found, convert=convert)


def _struct(name: str, fields: Sequence[CapturedField], *, optional: bool = False) -> Schema:
    parts = tuple(SchemaField(field.name, field.type.schema) for field in fields)
    return Schema(SchemaType.STRUCT, optional, name, fields=parts)
