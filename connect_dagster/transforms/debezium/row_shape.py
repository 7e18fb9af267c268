"""The fields of the records that ExtractNewRecordState makes of rows: added, marked, left out (Kafka: ``InsertField``,
``ReplaceField``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connect_dagster.errors import DataError
from connect_dagster.expressions.struct_edits import builder_fault, rebuilt
from connect_dagster.expressions.value_classes import class_of
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium.added_fields import FoundField

DELETED_FIELD = "__deleted"
"""Name of the field that marks rows as deleted, or not."""


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of the records that a transform makes of rows.

    Attributes:
        field: name and schema.
        added: the field of the envelope that it is; ``None`` for a field of the row, and for ``__deleted``.
    """

    field: SchemaField
    added: FoundField | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """The fields that the header of a record names.

    Attributes:
        names: of the fields; none for records without that header.
        compatibly: whether only those that are optional are left out.
    """

    names: tuple[str, ...] = ()
    compatibly: bool = True

    def includes(self, field: SchemaField) -> bool:
        """Return whether a field is left out."""
        return field.name in self.names and (field.schema.optional or not self.compatibly)

    def rewrites(self, fields: Iterable[SchemaField]) -> bool:
        """Return whether fields are left out, at which Java replaces nulls of the others by their defaults."""
        return any(map(self.includes, fields)) if self.compatibly else bool(self.names)


NONE_DROPPED = Dropped()


@dataclass(frozen=True, slots=True)
class RowShape:
    """The records that rows become.

    Attributes:
        fields: of the records, in their order.
        replaces_nulls: whether a field of the row that is null takes its default.
    """

    fields: tuple[RowField, ...]
    replaces_nulls: bool

    def schema(self, row: Schema, *, optional: bool = False) -> Schema:
        """Return the schema of the records that rows of a schema become."""
        return rebuilt(row, (one.field for one in self.fields), optional=optional)

    def is_whole(self, row: Schema) -> bool:
        """Return whether the rows of a schema stay as they are."""
        has_defaults = any(field.schema.default is not None for field in row.fields)
        same = tuple(one.field for one in self.fields) == row.fields
        return same and not (self.replaces_nulls and has_defaults)


def row_shape(
    row: Schema,
    added: Sequence[FoundField],
    dropped: Dropped = NONE_DROPPED,
    *,
    marked: bool = False,
    replace_null: bool = False,
    deleted: bool = False,
) -> RowShape:
    """Return the fields of the records that rows of a schema become.

    Args:
        row: their schema.
        added: fields of the envelope.
        dropped: fields to leave out; of deletes Debezium leaves none of the added ones out.
        marked: whether there is a field ``__deleted``.
        replace_null: whether marking replaces nulls by defaults.
        deleted: whether the rows are those of deletes.

    Raises:
        DataError: the row is not a struct, or has a field of the name of an added one.
    """
    if row.type is not SchemaType.STRUCT:
        raise DataError(f"Only Struct objects supported for [source field insertion], found: {class_of(row)}")
    mark = [SchemaField(DELETED_FIELD, OPTIONAL_STRING_SCHEMA)] if marked else []
    own, more = [RowField(one) for one in (*row.fields, *mark)], [RowField(one.added, one) for one in added]
    fault = builder_fault(one.field.name for one in (*own, *more))
    if fault is not None:
        raise DataError(fault)
    droppable = own if deleted else [*own, *more]
    kept = [one for one in droppable if not dropped.includes(one.field)]
    replaces_nulls = (marked and replace_null) or dropped.rewrites(one.field for one in droppable)
    return RowShape((*kept, *more) if deleted else tuple(kept), replaces_nulls)
