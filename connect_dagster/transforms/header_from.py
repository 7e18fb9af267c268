"""HeaderFrom: moves or copies fields into headers.

Example:
    transforms.trace.type=org.apache.kafka.connect.transforms.HeaderFrom$Value
    transforms.trace.fields=trace_id,span_id
    transforms.trace.headers=trace,span
    transforms.trace.operation=move
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import model_validator
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.java_patterns import non_empty_list
from connect_dagster.expressions.struct_edits import field_value, fields_by_name, rebuilt, struct_of
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, one_of
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    parsed,
    replace_null_setting,
)
from connect_dagster.transforms._support.record_headers import converter_of, with_headers

_MOVE, _COPY = "move", "copy"
_NO_FIELD = (
    'Cannot invoke "org.apache.kafka.connect.data.Field.schema()" because the return value of '
    '"org.apache.kafka.connect.data.Schema.field(String)" is null'
)


class HeaderFromConfig(ConfigDef):
    """Options of the transform (Java: ``HeaderFrom.CONFIG_DEF``)."""

    fields_: tuple[str, ...] = config_key(
        "fields", importance=Importance.HIGH, validator=non_empty_list, doc="Names of the fields that become headers."
    )
    headers: tuple[str, ...] = config_key(
        "headers",
        importance=Importance.HIGH,
        validator=non_empty_list,
        doc="Names of the headers, in the order of the fields.",
    )
    operation: str = config_key(
        "operation",
        importance=Importance.HIGH,
        validator=one_of(_MOVE, _COPY),
        doc="Whether the fields stay where they are as well (copy) or not (move).",
    )
    replace_null: bool = replace_null_setting()

    @model_validator(mode="after")
    def _one_header_for_each_field(self) -> Self:
        if len(self.fields_) != len(self.headers):
            raise ConfigError(
                "'fields' config must have the same number of elements as 'headers' config.", name="fields"
            )
        return self


@dataclass(frozen=True, slots=True)
class _HeaderChange(Change):
    """A change with headers, of columns as they were."""

    headers: tuple[tuple[str, Column], ...] = ()


class HeaderFrom(FieldTransform):
    """Adds a header for each field; a null in place of a struct or an object is wrong."""

    config_def: ClassVar[type[ConfigDef]] = HeaderFromConfig
    nulls = "wrong"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: there are more fields than headers or fewer, or another option is wrong.
        """
        options = HeaderFromConfig.parse(config)
        self._fields, self._headers = options.fields_, options.headers
        self._moves = options.operation == _MOVE
        self._replace_null = options.replace_null
        self.purpose = f"header {options.operation}"

    def facts(self, frame: RecordFrame) -> object:
        """Return the header converter."""
        return frame.header_converter

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with more headers."""
        change: Any = self._change(frame)
        return FieldTransform.apply(self, with_headers(frame, getattr(change, "headers", ())))

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the fields of a struct as headers; with ``move``, a struct of the others."""
        fields, nulls = fields_by_name(schema), self.null_structs(column, schema)
        if not all(name in fields for name in self._fields):
            missing = Wrong(F.lit(True), _NO_FIELD, "java.lang.NullPointerException")
            return Change(None, None, (*nulls, missing))
        converter = converter_of(frame)
        values = []
        for name in self._fields:
            value = field_value(column, fields[name], replace_null=self._replace_null)
            # Records whose struct is null have failed: what is required of its fields is not asked of them.
            values.append(F.when(column.isNotNull(), converter.encode_header(fields[name].schema, value)))
        headers = tuple(zip(self._headers, values, strict=True))
        if not self._moves:
            return _HeaderChange(column, schema, nulls, headers=headers)
        kept = [field for field in schema.fields if field.name not in self._fields]
        parts = [field_value(column, field, replace_null=self._replace_null) for field in kept]
        changed = struct_of(column, schema, [field.name for field in kept], parts)
        return _HeaderChange(changed, rebuilt(schema, kept, optional=False), nulls, headers=headers)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the fields of an object as headers; one that is absent is a header without a value."""
        converter = converter_of(frame)
        values = [converter.encode_header(None, _present(json_objects.field(text, name))) for name in self._fields]
        headers = tuple(zip(self._headers, values, strict=True))
        if not self._moves:
            return _HeaderChange(text, None, self.not_objects(text), headers=headers)
        wrong = (*self.not_objects(text), self.unreadable(text))
        changed = json_objects.text_of(json_objects.without(parsed(), self._fields))
        return _HeaderChange(changed, None, wrong, parsed=json_objects.fields_of(text), headers=headers)


def _present(variant: Column) -> Column:
    """Return the JSON text of a variant; SQL's null where it is null."""
    text = F.to_json(variant)
    return F.when(text != "null", text)


HeaderFromKey, HeaderFromValue = both_sides(HeaderFrom, "org.apache.kafka.connect.transforms.HeaderFrom")
