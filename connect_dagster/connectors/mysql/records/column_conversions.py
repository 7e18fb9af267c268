"""Fields of columns that the option ``converters`` changes.

Debezium: ``TinyIntOneToBooleanConverter``, ``ZeroDateFallbackConverter``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.records.types import FieldType, milliseconds, short_timestamps
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.connectors.mysql.selection.regex_lists import RegexList
from connect_dagster.connectors.mysql.selection.zero_dates import ZERO_DATE_TYPES, zero_date_value
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.schema import Schema, SchemaType

_TINY = frozenset({"TINYINT", "TINYINT UNSIGNED"})
_COLUMN, _FALLBACK = "column.", ".fallback"
_MILLISECONDS = 3  # digits


def _same(values: pa.Array) -> pa.Array:
    return values


_FORMS: Mapping[str, tuple[SchemaType, str, Callable[[pa.Array], pa.Array]]] = {
    "DATE": (SchemaType.INT32, "io.debezium.time.Date", _same),
    "DATETIME": (SchemaType.INT64, "io.debezium.time.Timestamp", milliseconds),
    "TIMESTAMP": (SchemaType.STRING, "io.debezium.time.ZonedTimestamp", short_timestamps),
}


class ColumnConversion(Protocol):
    """A way from columns to other fields."""

    def converted(self, table: TableId, column: Column, kind: FieldType, default: Any) -> FieldType | None:
        """Return the field of a column; ``None`` for a column that stays as it is.

        Args:
            table: of the column.
            column: its structure.
            kind: its field without conversions, and without a default value.
            default: the value of that.
        """


@dataclass(frozen=True, slots=True)
class TinyIntOneToBoolean:
    """TINYINT(1) as a boolean, which is true for numbers above 0.

    Attributes:
        selector: columns, as ``database.table.column``; all without expressions.
        checks_length: whether only columns of length 1 count.
    """

    selector: RegexList
    checks_length: bool = True

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str]) -> Self:
        """Return the conversion of a converter's settings, which were checked."""
        return cls(_selector(name, settings), settings.get("length.checker", "true").strip().lower() == "true")

    def converted(self, table: TableId, column: Column, kind: FieldType, default: Any) -> FieldType | None:
        """Return the field of a column of the type; ``None`` for others."""
        is_tiny = column.type in _TINY and (not self.checks_length or column.length == 1)
        if not is_tiny or not _selected(self.selector, table, column):
            return None
        schema = Schema(SchemaType.BOOLEAN, optional=column.optional, default=None if default is None else default > 0)
        return replace(kind, schema=schema, convert=lambda values: pc.greater(values, 0))


@dataclass(frozen=True, slots=True)
class ZeroDateFallback:
    """Dates such as 0000-00-00, and nulls, as null or as another value.

    Attributes:
        selector: columns, as ``database.table.column``; all without expressions.
        types: of columns that count.
        fallbacks: texts of values by type; none for null.
        of_columns: texts of values by ``database.table.column``, which go before.
    """

    selector: RegexList
    types: frozenset[str]
    fallbacks: Mapping[str, str]
    of_columns: Mapping[str, str]

    @classmethod
    def of(cls, name: str, settings: Mapping[str, str]) -> Self:
        """Return the conversion of a converter's settings, which were checked."""
        types = settings.get("target.types", ",".join(ZERO_DATE_TYPES)).upper()
        return cls(
            _selector(name, settings),
            frozenset(part.strip() for part in types.split(",")),
            {kind: settings.get(f"fallback.{kind.lower()}", "") for kind in ZERO_DATE_TYPES},
            {
                key.removeprefix(_COLUMN).removesuffix(_FALLBACK): value
                for key, value in settings.items()
                if key.startswith(_COLUMN) and key.endswith(_FALLBACK)
            },
        )

    def converted(self, table: TableId, column: Column, kind: FieldType, default: Any) -> FieldType | None:
        """Return the field of a column of one of the types; ``None`` for others."""
        base = column.base_type
        if base not in self.types or base not in _FORMS or not _selected(self.selector, table, column):
            return None
        type, name, form = _FORMS[base]
        fallback = zero_date_value(base, self.of_columns.get(f"{table}.{column.name}", self.fallbacks.get(base, "")))
        if base == "DATETIME" and (column.length or 0) > _MILLISECONDS:
            name, form = "io.debezium.time.MicroTimestamp", _same
            fallback = None if fallback is None else int(fallback) * 1000
        schema = Schema(
            type,
            optional=column.optional or fallback is None,
            name=name,
            version=1,
            default=fallback if column.default is not None else None,
        )

        def convert(values: pa.Array) -> pa.Array:
            found = form(values)
            return found if fallback is None else pc.fill_null(found, pa.scalar(fallback, found.type))

        return replace(kind, schema=schema, convert=convert)


def _selector(name: str, settings: Mapping[str, str]) -> RegexList:
    return RegexList.parse(f"{name}.selector", settings.get("selector", ""))


def _selected(selector: RegexList, table: TableId, column: Column) -> bool:
    return not selector or bool(selector.matching([f"{table}.{column.name}"]))
