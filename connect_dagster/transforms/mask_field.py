"""MaskField: hides the values of fields behind zero, false, the empty text, or a replacement.

Example:
    transforms.hide.type=org.apache.kafka.connect.transforms.MaskField$Value
    transforms.hide.fields=email,phone
    transforms.hide.replacement=***

A masked decimal has its schema's scale; Java makes one of another scale, which its converters refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.casts import logical
from connect_dagster.expressions.literals import literal
from connect_dagster.expressions.struct_edits import field_value, struct_of
from connect_dagster.expressions.value_classes import class_of, class_of_variant
from connect_dagster.java.hashes import hash_set_order
from connect_dagster.java.numbers import big_decimal, low_bits
from connect_dagster.plugin.config import ConfigDef, Importance, UniqueValues, config_key, non_empty_string
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    kinds,
    parsed,
    replace_null_setting,
)

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_DATES = (DATE, TIME, TIMESTAMP)
_EMPTY: dict[SchemaType, Any] = {
    SchemaType.BOOLEAN: False,
    SchemaType.INT8: 0,
    SchemaType.INT16: 0,
    SchemaType.INT32: 0,
    SchemaType.INT64: 0,
    SchemaType.FLOAT32: 0.0,
    SchemaType.FLOAT64: 0.0,
    SchemaType.STRING: "",
    SchemaType.ARRAY: (),
    SchemaType.MAP: {},
}
_STRING, _LONG, _DOUBLE = "java.lang.String", "java.lang.Long", "java.lang.Double"
# Replacements of JSON values by Java class.
_EMPTY_JSON = {
    _STRING: '""',
    _LONG: "0",
    _DOUBLE: "0.0",
    "java.lang.Boolean": "false",
    "java.util.ArrayList": "[]",
    "java.util.HashMap": "{}",
}


class MaskFieldConfig(ConfigDef):
    """Options of the transform (Java: ``MaskField.CONFIG_DEF``)."""

    fields_: tuple[str, ...] = config_key(
        "fields", importance=Importance.HIGH, validator=UniqueValues(empty=False), doc="Names of the fields to hide."
    )
    replacement: str | None = config_key(
        "replacement",
        default=None,
        importance=Importance.LOW,
        validator=non_empty_string,
        doc="What numbers and texts are replaced by, instead of zero and the empty text.",
    )
    replace_null: bool = replace_null_setting()


class MaskField(FieldTransform):
    """Hides fields of structs or JSON objects; nulls in them stay, a null in place of them is wrong."""

    config_def: ClassVar[type[ConfigDef]] = MaskFieldConfig
    purpose = "mask fields"
    nulls = "wrong"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options."""
        options = MaskFieldConfig.parse(config)
        self._fields, self._replacement = options.fields_, options.replacement
        self._replace_null = options.replace_null

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the struct with other values in some fields."""
        wrong, parts = list(self.null_structs(column, schema)), []
        for field in schema.fields:
            value = field_value(column, field, replace_null=self._replace_null)
            if field.name in self._fields:
                try:
                    value = F.when(value.isNotNull(), self._mask(field.schema))
                except DataError as error:
                    wrong.append(Wrong(value.isNotNull(), str(error)))
            parts.append(value)
        names = [field.name for field in schema.fields]
        return Change(struct_of(column, schema, names, parts), schema, tuple(wrong))

    def _mask(self, schema: Schema) -> Column:
        """Return the replacement of values of a schema. Raises DataError: there is none."""
        return _empty(schema) if self._replacement is None else _replacement(schema, self._replacement)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the object with other values in some fields; those that are absent become null."""
        fields = parsed()
        wrong, members = [*self.not_objects(text), self.unreadable(text)], []
        names = hash_set_order(self._fields)
        masks, faults = self._json_masks()
        for i, name in enumerate(names):
            kind = kinds()[i]
            mask = F.create_map(*(F.lit(word) for pair in masks.items() for word in pair))[kind]
            members.append(F.concat(F.lit(json_objects.key_text(name)), F.coalesce(mask, F.lit("null"))))
            for refused_kinds, message in faults:
                wrong.append(Wrong(kind.isin(*refused_kinds), message(kind)))
        kept = json_objects.text_of(json_objects.without(fields, self._fields))
        changed = json_objects.spliced(kept, members)
        classes = F.array(*(class_of_variant(fields[name]) for name in names))
        return Change(changed, None, tuple(wrong), json_objects.fields_of(text), classes)

    def _json_masks(self) -> tuple[dict[str, str], list[tuple[tuple[str, ...], Callable[[Column], Column]]]]:
        """Return the replacements of JSON values by class, and errors by class."""
        if self._replacement is None:
            return _EMPTY_JSON, []
        masks = {_STRING: json_objects.string_text(self._replacement)}
        number = big_decimal(self._replacement)
        others = tuple(kind for kind in _EMPTY_JSON if kind not in (_STRING, _LONG, _DOUBLE))
        faults = [(others, lambda kind: F.concat(F.lit("Cannot mask value of type class "), kind, F.lit(_CUSTOM)))]
        if number is None:
            faults.append(((_LONG, _DOUBLE), lambda _: F.lit(_no_number(self._replacement or ""))))
            return masks, faults
        return {**masks, _LONG: str(low_bits(number, 64)), _DOUBLE: json_objects.number_text(float(number))}, faults


_CUSTOM = " with custom replacement."


def _empty(schema: Schema) -> Column:
    if schema.name in _DATES:
        return logical(schema, F.lit(0))
    if schema.name == DECIMAL:
        return literal(schema, Decimal(0))
    if schema.type not in _EMPTY:
        raise DataError(f"Cannot mask value of type: class {class_of(schema)}")
    return literal(schema, _EMPTY[schema.type])


def _replacement(schema: Schema, text: str) -> Column:
    if schema.name in _DATES:
        raise DataError(f"Cannot mask value of type class {class_of(schema)}{_CUSTOM}")
    if schema.name == DECIMAL:
        return _decimal(schema, text)
    if schema.type is SchemaType.STRING:
        return F.lit(text)
    if schema.type not in _BITS and schema.type not in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        raise DataError(f"Cannot mask value of type class {class_of(schema)}{_CUSTOM}")
    number = big_decimal(text)
    if number is None:
        raise DataError(_no_number(text))
    if schema.type in _BITS:
        return literal(schema, low_bits(number, _BITS[schema.type]))
    return F.lit(float(number)).cast(schema.to_spark())


def _decimal(schema: Schema, text: str) -> Column:
    number = big_decimal(text)
    if number is None:
        raise DataError(f"Unable to convert {text} (class java.lang.String) to number")
    if -int(number.as_tuple().exponent) > schema.scale or number.adjusted() + schema.scale >= 38:
        raise DataError("BigDecimal has mismatching scale value for given Decimal schema")
    return literal(schema, number)


def _no_number(text: str) -> str:
    return f"Unable to convert {text} (class java.lang.String) to a number"


MaskFieldKey, MaskFieldValue = both_sides(MaskField, "org.apache.kafka.connect.transforms.MaskField")
