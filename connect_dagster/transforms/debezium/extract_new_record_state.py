"""ExtractNewRecordState: the row after a change takes the place of its envelope.

Example:
    transforms.unwrap.type=io.debezium.transforms.ExtractNewRecordState
    transforms.unwrap.delete.tombstone.handling.mode=rewrite
    transforms.unwrap.add.fields=op,source.ts_ms:changed_at

Records that are not envelopes pass, among them all without schema; tombstones are handled whatever their topic. A row
has a schema that requires it, as in Debezium. In a sink with ``tombstone`` (or ``none``) its schema stays optional, as
a frame's nulls have the schema of its other records; a source sends these deletes as a second frame.

``drop.tombstones`` and ``delete.handling.mode`` are the options of Debezium 1 and 2. Where one of them is set, the
other has its old default, true or ``drop``, and ``delete.tombstone.handling.mode`` is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar, Self

from pydantic import model_validator
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions.struct_edits import field_value, fields_by_name, rebuilt
from connect_dagster.plugin.config import ConfigDef, Importance, Width, config_key
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import (
    STRING_SCHEMA,
    Schema,
    SchemaField,
    SchemaType,
)
from connect_dagster.transforms._support.record_headers import converter_of, headers, headers_of
from connect_dagster.transforms.debezium.added_fields import (
    FieldReference,
    all_found,
    references,
    valid_references,
)
from connect_dagster.transforms.debezium.envelopes import (
    AFTER,
    BEFORE,
    OP,
    SplittingTransform,
    as_tombstones,
    field_of,
    is_blank,
    is_envelope,
    is_null,
    is_source,
    may_have_nulls,
    without_value,
)
from connect_dagster.transforms.debezium.options import optional_one_of
from connect_dagster.transforms.debezium.row_shape import NONE_DROPPED, Dropped, RowField, RowShape, row_shape

_PREFIX = "__"
_DELETE_CODE = "d"
_REMEMBERED = 16
_MODE, _OLD_TOMBSTONES, _OLD_DELETES = "delete.tombstone.handling.mode", "drop.tombstones", "delete.handling.mode"


class Deletes(Enum):
    """The ways to handle the record of a delete."""

    DROPPED = "it is left out"
    NULL = "its value becomes null and keeps the schema of rows"
    TOMBSTONE = "it becomes a tombstone"
    REWRITTEN = "it becomes the row before, marked as deleted"


@dataclass(frozen=True, slots=True)
class DeleteHandling:
    """The way to handle deletes, and whether the tombstones after them stay."""

    deletes: Deletes
    keeps_tombstones: bool = False


HANDLINGS: Mapping[str, DeleteHandling] = {
    "drop": DeleteHandling(Deletes.DROPPED),
    "tombstone": DeleteHandling(Deletes.NULL),
    "rewrite": DeleteHandling(Deletes.REWRITTEN),
    "rewrite-with-tombstone": DeleteHandling(Deletes.REWRITTEN, keeps_tombstones=True),
    "delete-to-tombstone": DeleteHandling(Deletes.TOMBSTONE),
}
"""By the values of ``delete.tombstone.handling.mode``."""

OLD_DELETES: Mapping[str, Deletes] = {
    "drop": Deletes.DROPPED,
    "rewrite": Deletes.REWRITTEN,
    "none": Deletes.NULL,
}
"""By the values of ``delete.handling.mode``."""

_DEFAULT, _OLD_DEFAULT = "tombstone", "drop"


class ExtractNewRecordStateConfig(ConfigDef):
    """Options of the transform (Debezium: ``ExtractNewRecordStateConfigDefinition``)."""

    mode: str | None = config_key(
        _MODE,
        default=None,
        validator=optional_one_of(*HANDLINGS),
        width=Width.MEDIUM,
        display_name="Handle delete and tombstone records",
        doc="What becomes of a delete and of the tombstone after it. drop: both are left out; tombstone, which is the "
        "default: the delete gets a null value; rewrite: it becomes the row before, with __deleted=true, and others "
        "have __deleted=false; rewrite-with-tombstone: the same, and the tombstone stays; delete-to-tombstone: the "
        "delete becomes a tombstone, without a schema.",
    )
    route_by_field: str = config_key(
        "route.by.field",
        default="",
        importance=Importance.LOW,
        width=Width.LONG,
        display_name="Route by field name",
        doc="Field of the row, a string, whose value is the new topic; records where it is null or blank keep theirs.",
    )
    fields_prefix: str = config_key(
        "add.fields.prefix",
        default=_PREFIX,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Field prefix to be added to each field.",
        doc="Start of the name of each field that is added.",
    )
    fields_: tuple[str, ...] = config_key(
        "add.fields",
        default=(),
        importance=Importance.LOW,
        validator=valid_references,
        width=Width.LONG,
        display_name="Adds the specified field(s) to the message if they exist.",
        doc="Fields of the envelope to add to the row, such as op,table,source.ts_ms:changed_at. Without a struct: "
        "those of source, but op, ts_ms, ts_us and ts_ns of the envelope, and id, total_order and "
        "data_collection_order of transaction.",
    )
    headers_prefix: str = config_key(
        "add.headers.prefix",
        default=_PREFIX,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Header prefix to be added to each header.",
        doc="Start of the name of each header that is added.",
    )
    headers: tuple[str, ...] = config_key(
        "add.headers",
        default=(),
        importance=Importance.LOW,
        validator=valid_references,
        width=Width.LONG,
        display_name="Adds the specified fields to the header if they exist.",
        doc="Fields of the envelope to add as headers, in the form of add.fields; a tombstone gets op alone.",
    )
    drop_header: str | None = config_key(
        "drop.fields.header.name",
        default=None,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Specifies a header that contains a list of field names to be removed",
        doc="Header with a list of names: the fields of these names are left out of the row.",
    )
    drop_from_key: bool = config_key(
        "drop.fields.from.key",
        default=False,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Specifies whether the fields to be dropped should also be omitted from the key",
        doc="Whether these fields are left out of the key as well.",
    )
    drop_compatibly: bool = config_key(
        "drop.fields.keep.schema.compatible",
        default=True,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Specifies if fields are dropped, will the event's schemas be compatible",
        doc="Whether only fields that are optional are left out, so that the schemas stay compatible.",
    )
    replace_null: bool = config_key(
        "replace.null.with.default",
        default=True,
        importance=Importance.LOW,
        width=Width.SHORT,
        doc="Whether, where rows are rewritten, a field that is null takes its schema's default value.",
    )
    drop_tombstones: bool | None = config_key(
        _OLD_TOMBSTONES,
        default=None,
        importance=Importance.LOW,
        width=Width.SHORT,
        doc=f"Of Debezium 1 and 2: whether tombstones are left out. {_MODE} replaces it.",
    )
    old_mode: str | None = config_key(
        _OLD_DELETES,
        default=None,
        validator=optional_one_of(*OLD_DELETES),
        width=Width.MEDIUM,
        doc=f"Of Debezium 1 and 2: drop, rewrite or none for deletes. {_MODE} replaces it.",
    )

    @model_validator(mode="after")
    def _old_or_new(self) -> Self:
        given = {_OLD_TOMBSTONES: self.drop_tombstones, _OLD_DELETES: self.old_mode}
        for name, value in given.items():
            if value is not None and self.mode is not None:
                raise ConfigError.invalid(name, value, f"{_MODE} is set, which replaces it; leave one of them out")
        return self

    @property
    def handling(self) -> DeleteHandling:
        """Return what becomes of deletes and tombstones."""
        if self.drop_tombstones is None and self.old_mode is None:
            return HANDLINGS[(self.mode or _DEFAULT).lower()]
        return DeleteHandling(
            OLD_DELETES[(self.old_mode or _OLD_DEFAULT).lower()], keeps_tombstones=self.drop_tombstones is False
        )


class ExtractNewRecordState(SplittingTransform):
    """Unwraps change events; other records pass."""

    config_def: ClassVar[type[ConfigDef]] = ExtractNewRecordStateConfig
    java_class = "io.debezium.transforms.ExtractNewRecordState"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: an option is wrong, or there are old and new ones for deletes.
        """
        options = ExtractNewRecordStateConfig.parse(config)
        self._options, self._handling = options, options.handling
        self._marks = self._handling.deletes is Deletes.REWRITTEN
        self._fields = references(options.fields_prefix, options.fields_)
        self._headers = references(options.headers_prefix, options.headers)
        self._kept: dict[tuple[Schema, Dropped, bool | None], _Rows] = {}
        # The header of each record decides on schemas.
        self.deterministic = not options.drop_header

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        """Return the rows, and separately what gets another schema: tombstones, deletes, rows without some fields.

        Raises:
            DataError: the envelopes lack a field that an option names.
        """
        frame = self._with_headers(frame)
        if not is_envelope(frame.value_schema):
            return [frame if self._handling.keeps_tombstones else frame.where(~is_null(frame))]
        envelopes = _Envelopes.of(frame)
        parts: list[Frame] = []
        if self._handling.keeps_tombstones and may_have_nulls(frame):
            tombstones, frame = frame.split(is_null(frame))
            parts.append(as_tombstones(tombstones))
        # A truncate has neither row; it is left out, and so is a tombstone that is still here.
        dropped = self._handling.deletes is Deletes.DROPPED
        frame = self._routed(frame.where(envelopes.is_row if dropped else envelopes.has_row), envelopes)
        for fields, part in self._by_dropped(frame):
            parts += self._unwrapped(part, envelopes, fields)
        return parts

    def _with_headers(self, frame: Frame) -> Frame:
        """Return the frame with further headers: of envelopes the fields, of tombstones the operation."""
        if not self._headers:
            return frame
        converter, null = converter_of(frame), is_null(frame)
        tombstones = F.when(null, _operation_headers(self._headers, converter)) if may_have_nulls(frame) else None
        added = tombstones
        if frame.value_schema is not None and is_envelope(frame.value_schema):
            found = all_found(self._headers, frame.value_schema)
            value = frame.column("value")
            fields = headers(
                (one.added.name, converter.encode_header(one.added.schema, one.value(value))) for one in found
            )
            added = fields if tombstones is None else tombstones.otherwise(fields)
        if added is None:
            return frame
        existing = headers_of(frame)
        return frame.with_column("headers", F.coalesce(F.concat(existing, added), existing))

    def _routed(self, frame: Frame, envelopes: _Envelopes) -> Frame:
        name = self._options.route_by_field
        if not name:
            return frame
        fields = [field_of(row, name, SchemaType.STRING) for row in (envelopes.after_schema, envelopes.before_schema)]
        replace_null = self._marks and self._options.replace_null
        after = field_value(envelopes.after, SchemaField(name, fields[0].schema), replace_null=replace_null)
        topic = F.when(envelopes.is_row, after).otherwise(envelopes.before.getField(name))
        return frame.with_column("topic", F.when(~is_blank(topic), topic).otherwise(frame.column("topic")))

    def _by_dropped(self, frame: Frame) -> list[tuple[Dropped, Frame]]:
        """Return the records by the fields that are left out of them; runs a Spark job to find these."""
        name = self._options.drop_header
        if not name:
            return [(NONE_DROPPED, frame)]
        header = _first_header(frame, name)
        found = [bytes(row[0]) for row in frame.df.select(header).distinct().collect() if row[0] is not None]
        lists = _lists(found, converter_of(frame))
        wrong = [value for value in found if value not in lists]
        frame = frame.fail_where(_one_of(header, wrong), f"Header {name} has to be a list of field names")
        parts: list[tuple[Dropped, Frame]] = []
        for names in sorted({names for names in lists.values() if names}):
            part, frame = frame.split(_one_of(header, [value for value in found if lists.get(value) == names]))
            parts.append((Dropped(names, self._options.drop_compatibly), part))
        return [*parts, (NONE_DROPPED, frame)]

    def _unwrapped(self, frame: Frame, envelopes: _Envelopes, dropped: Dropped) -> list[Frame]:
        """Return rows in place of envelopes; frames in which no field, or the same ones, are left out."""
        frame = self._with_fewer_in_key(frame, dropped)
        rows = self._rows(envelopes, dropped)
        match self._handling.deletes:
            case Deletes.DROPPED:
                return [frame.with_value(rows.column, rows.schema)]
            case Deletes.REWRITTEN:
                return self._rewritten(frame, envelopes, dropped)
            case Deletes.TOMBSTONE:
                changes, deletes = frame.split(envelopes.is_row)
                return [changes.with_value(rows.column, rows.schema), without_value(deletes)]
            case Deletes.NULL:
                if not is_source(frame):
                    value = F.when(envelopes.is_row, rows.column)
                    return [frame.with_value(value, _optional(rows.schema))]
                changes, deletes = frame.split(envelopes.is_row)
                nulls = deletes.with_value(envelopes.after, _optional(envelopes.after_schema))
                return [changes.with_value(rows.column, rows.schema), nulls]

    def _rewritten(self, frame: Frame, envelopes: _Envelopes, dropped: Dropped) -> list[Frame]:
        """Return the rows after changes and those before deletes, in one frame where they have one schema."""
        rows, deleted = self._rows(envelopes, dropped), self._rows(envelopes, dropped, deleted=True)
        if envelopes.rows_are_alike and rows.schema == deleted.schema:
            both = self._rows(envelopes, dropped, deleted=None)
            return [frame.with_value(both.column, both.schema)]
        changes, deletes = frame.split(envelopes.is_row)
        return [changes.with_value(rows.column, rows.schema), deletes.with_value(deleted.column, deleted.schema)]

    def _rows(self, envelopes: _Envelopes, dropped: Dropped, *, deleted: bool | None = False) -> _Rows:
        """Return the records of rows; kept for each schema, as building wide structs takes calls into the JVM.

        Args:
            envelopes: have the rows.
            dropped: fields that are left out.
            deleted: whether they are those of deletes; ``None`` for both, which have one schema.
        """
        place = (envelopes.schema, dropped, deleted)
        if place not in self._kept:
            if len(self._kept) >= _REMEMBERED:
                self._kept.clear()
            self._kept[place] = self._made(envelopes, dropped, deleted)
        return self._kept[place]

    def _made(self, envelopes: _Envelopes, dropped: Dropped, deleted: bool | None) -> _Rows:
        schema = envelopes.before_schema if deleted else envelopes.after_schema
        row = envelopes.before if deleted else envelopes.after
        if deleted is None:
            row = F.coalesce(row, envelopes.before)
        added = all_found(self._fields, envelopes.schema)
        shape = row_shape(
            schema,
            added,
            dropped,
            marked=self._marks,
            replace_null=self._options.replace_null,
            deleted=bool(deleted),
        )
        if shape.is_whole(schema):
            return _Rows(row, shape.schema(schema))
        names = frozenset(field.name for field in schema.fields)
        parts = [self._part(one, row, envelopes, names, shape).alias(one.field.name) for one in shape.fields]
        return _Rows(F.struct(*parts), shape.schema(schema))

    def _part(
        self, one: RowField, row: Column, envelopes: _Envelopes, names: Collection[str], shape: RowShape
    ) -> Column:
        if one.added is not None:
            return one.added.value(envelopes.value)
        if one.field.name in names:
            return field_value(row, one.field, replace_null=shape.replaces_nulls)
        return F.when(envelopes.is_row, "false").otherwise("true")

    def _with_fewer_in_key(self, frame: Frame, dropped: Dropped) -> Frame:
        schema = frame.key_schema
        if not self._options.drop_from_key or schema is None or schema.type is not SchemaType.STRUCT:
            return frame
        if not dropped.rewrites(schema.fields):
            return frame
        kept = [field for field in schema.fields if not dropped.includes(field)]
        key = frame.column("key")
        made = F.struct(*(field_value(key, field, replace_null=True).alias(field.name) for field in kept))
        column = F.when(key.isNotNull(), made) if schema.optional else made
        return frame.with_key(column, rebuilt(schema, kept, optional=schema.optional))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows as records, and their schema."""

    column: Column
    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class _Envelopes:
    """The values of a frame of envelopes: columns over the frame as it came, and their schemas."""

    schema: Schema
    value: Column
    before_schema: Schema
    after_schema: Schema

    @classmethod
    def of(cls, frame: RecordFrame) -> Self:
        schema = frame.value_schema
        assert schema is not None  # it has a name
        fields = fields_by_name(schema)
        for name in (AFTER, BEFORE):
            if name not in fields:
                raise DataError(f"Unknown field: {name}")
        return cls(schema, frame.column("value"), fields[BEFORE].schema, fields[AFTER].schema)

    @property
    def before(self) -> Column:
        return self.value.getField(BEFORE)

    @property
    def after(self) -> Column:
        return self.value.getField(AFTER)

    @property
    def is_row(self) -> Column:
        """Return whether there is a row after the change; never null."""
        return self.after.isNotNull()

    @property
    def has_row(self) -> Column:
        """Return whether there is a row before or after the change."""
        return self.is_row | self.before.isNotNull()

    @property
    def rows_are_alike(self) -> bool:
        return _optional(self.before_schema) == _optional(self.after_schema)


def _optional(schema: Schema) -> Schema:
    return schema if schema.optional else replace(schema, optional=True)


def _operation_headers(wanted: Iterable[FieldReference], converter: HeaderConverter) -> Column:
    """Return the headers of a tombstone."""
    value = converter.encode_header(STRING_SCHEMA, F.lit(_DELETE_CODE))
    return headers((one.name, value) for one in wanted if one.field == OP)


def _first_header(frame: RecordFrame, name: str) -> Column:
    """Return the bytes of the first header of a name; null where there is none."""
    named = F.filter(headers_of(frame), lambda header: header["key"] == name)
    return F.get(named, F.lit(0))["value"]


def _lists(found: Iterable[bytes], converter: HeaderConverter) -> dict[bytes, tuple[str, ...]]:
    """Return the names in the values of a header; without values that are something else, empty for null."""
    lists: dict[bytes, tuple[str, ...]] = {}
    for value in found:
        try:
            _, names = converter.to_value(value)
        except DataError:
            continue
        if names is None or (isinstance(names, list) and all(isinstance(one, str) for one in names)):
            lists[value] = tuple(names or ())
    return lists


def _one_of(column: Column, values: Sequence[bytes]) -> Column:
    if not values:
        return F.lit(False)
    return F.coalesce(column.isin(*(F.lit(bytearray(value)) for value in values)), F.lit(False))
