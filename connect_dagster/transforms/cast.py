"""Cast: other types for some fields, or for whole keys or values.

Example:
    transforms.types.type=org.apache.kafka.connect.transforms.Cast$Value
    transforms.types.spec=id:int64,price:float64

A whole logical value (a date, a decimal) loses its schema's name; Java keeps it, and its converters refuse the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.casts import OUTPUTS, CastColumn, cast_column, listed, unsupported
from connect_dagster.expressions.literals import literal
from connect_dagster.expressions.struct_edits import field_value, struct_of
from connect_dagster.expressions.value_classes import class_of_variant
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    kinds,
    parsed,
    refused,
    replace_null_setting,
)
from connect_dagster.transforms.replace_field import split_pair

_LOGICAL = (DATE, DECIMAL, TIME, TIMESTAMP)
_WHOLE = None
"""In place of a field's name: the whole value."""

# Types of JSON values by their Java class.
_JSON_TYPES = {
    "java.lang.String": SchemaType.STRING,
    "java.lang.Long": SchemaType.INT64,
    "java.lang.Double": SchemaType.FLOAT64,
    "java.lang.Boolean": SchemaType.BOOLEAN,
    "java.util.ArrayList": SchemaType.ARRAY,
    "java.util.HashMap": SchemaType.MAP,
}


def _casts(mappings: Sequence[str]) -> dict[str | None, SchemaType]:
    """Return the type for each field, or for the whole value. Raises ConfigError, in Java's words."""
    found: dict[str | None, SchemaType] = {}
    for mapping in mappings:
        parts = split_pair(mapping)
        if len(parts) > 2:
            raise ConfigError.invalid("renames", mappings, f"Invalid rename mapping: {mapping}")
        found[parts[0].strip() if len(parts) == 2 else _WHOLE] = _output(parts[-1].strip())
    if _WHOLE in found and len(mappings) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    return found


def _output(word: str) -> SchemaType:
    name = word.upper()
    if name not in SchemaType.__members__:
        unknown = (
            f"java.lang.IllegalArgumentException: No enum constant org.apache.kafka.connect.data.Schema.Type.{name}"
        )
        raise ConfigError.invalid(f"Invalid type found in casting spec: {word}", unknown)
    if SchemaType[name] not in OUTPUTS:
        supported = f"supported types are {listed(OUTPUTS)}"
        raise ConfigError(f"Cast transformation does not support casting to {name}; {supported}")
    return SchemaType[name]


def _valid_spec(name: str, value: Any) -> None:
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    _casts(value)


class CastConfig(ConfigDef):
    """Options of the transform (Java: ``Cast.CONFIG_DEF``)."""

    spec: tuple[str, ...] = config_key(
        "spec",
        importance=Importance.HIGH,
        validator=_valid_spec,
        doc="Fields and their new types, such as a:int64,b:string; or one type for the whole. Types are int8, int16, "
        "int32, int64, float32, float64, boolean and string; bytes become nothing but strings, in base64.",
    )
    replace_null: bool = replace_null_setting()


class Cast(FieldTransform):
    """Casts fields of structs or JSON objects, or whole data; nulls stay."""

    config_def: ClassVar[type[ConfigDef]] = CastConfig
    purpose = "cast types"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: the spec is wrong, in Java's words.
        """
        options = CastConfig.parse(config)
        self._replace_null = options.replace_null
        casts = _casts(options.spec)
        self._whole = casts.get(_WHOLE)
        self._casts = {name: target for name, target in casts.items() if name is not None}

    def fits(self, schema: Schema) -> bool:
        """Return true for structs, and for any schema when the whole value is cast."""
        return self._whole is not None or schema.type is SchemaType.STRUCT

    def unfit(self, column: Column, schema: Schema) -> Change:
        """Return the error of data without fields."""
        return refused(column.isNotNull(), "Cannot list fields on non-struct type")

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the struct with other types, or the value itself with another."""
        try:
            if self._whole is not None:
                return _change(cast_column(schema, column, self._whole), _whole_schema(schema, self._whole, frame))
            if schema.default is not None:
                raise DataError(unsupported(schema.type))
            return self._struct(column, schema, frame)
        except DataError as error:
            return refused(column.isNotNull(), str(error))

    def _struct(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        fields, parts, errors = [], [], []
        for field in schema.fields:
            target = self._casts.get(field.name)
            value = field_value(column, field, replace_null=self._replace_null)
            if target is None:
                done, of = CastColumn(value), field.schema
            else:
                done, of = cast_column(field.schema, value, target), _cast_schema(field.schema, target, frame)
            fields.append(SchemaField(field.name, of))
            parts.append(done.value)
            if done.error is not None:
                errors.append(done.error)
        made = struct_of(column, schema, [field.name for field in fields], parts)
        return _change(CastColumn(made, F.coalesce(*errors) if errors else None), replace(schema, fields=tuple(fields)))

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the object with other values in some fields, null in those that are absent; or other JSON text."""
        if self._whole is not None:
            done = _cast_json(parsed(), kinds(), self._whole)
            changed = F.when(json_objects.is_null(text), text).otherwise(done.value)
            return Change(changed, None, _wrong(done), F.try_parse_json(text), class_of_variant(parsed()))
        wrong, members = [*self.not_objects(text), self.unreadable(text)], []
        names = hash_map_order(self._casts)
        for i, name in enumerate(names):
            done = _cast_json(parsed()[name], kinds()[i], self._casts[name])
            members.append(F.concat(F.lit(json_objects.key_text(name)), F.coalesce(done.value, F.lit("null"))))
            wrong += _wrong(done)
        kept = json_objects.text_of(json_objects.without(parsed(), self._casts))
        changed = F.when(json_objects.is_object(text), json_objects.spliced(kept, members)).otherwise(text)
        classes = F.array(*(class_of_variant(parsed()[name]) for name in names))
        return Change(changed, None, tuple(wrong), json_objects.fields_of(text), classes)


def _change(done: CastColumn, schema: Schema) -> Change:
    return Change(done.value, schema, _wrong(done))


def _wrong(done: CastColumn) -> tuple[Wrong, ...]:
    return () if done.error is None else (Wrong(done.error.isNotNull(), done.error),)


def _cast_schema(schema: Schema, target: SchemaType, frame: RecordFrame) -> Schema:
    """Return a field's new schema: type, optionality, default. Raises DataError: the default cannot be cast."""
    return Schema(target, optional=schema.optional, default=_cast_default(schema, target, frame))


def _whole_schema(schema: Schema, target: SchemaType, frame: RecordFrame) -> Schema:
    """Return the new schema of the whole, under the old name. Raises DataError: the default cannot be cast."""
    logical = schema.name in _LOGICAL
    return Schema(
        target,
        optional=schema.optional,
        name=None if logical else schema.name,
        version=None if logical else schema.version,
        doc=schema.doc,
        parameters=() if logical else schema.parameters,
        default=_cast_default(schema, target, frame),
    )


def _cast_default(schema: Schema, target: SchemaType, frame: RecordFrame) -> Any:
    if schema.default is None:
        return None
    if schema.type is SchemaType.STRUCT:
        raise DataError(unsupported(schema.type))
    done = cast_column(schema, literal(schema, schema.default), target)
    error = F.lit(None) if done.error is None else done.error
    row = frame.df.sparkSession.range(1).select(done.value.alias("value"), error.alias("error")).first()
    if row is None or row["error"] is not None:
        raise DataError("The default cannot be cast" if row is None else row["error"])
    return row["value"]


def _cast_json(variant: Column, kind: Column, target: SchemaType) -> CastColumn:
    """Return a variant of a Java class cast to the JSON text of another type."""
    values, errors = F.lit(None).cast("string"), F.lit(None).cast("string")
    for name, source in _JSON_TYPES.items():
        typed = F.lit(True) if source in (SchemaType.ARRAY, SchemaType.MAP) else _typed(variant, source)
        done = cast_column(Schema(source), typed, target)
        values = F.when(kind == name, json_objects.json_of(done.value)).otherwise(values)
        if done.error is not None:
            errors = F.when(kind == name, done.error).otherwise(errors)
    return CastColumn(values, errors)


def _typed(variant: Column, source: SchemaType) -> Column:
    return F.try_variant_get(variant, "$", Schema(source).to_spark().simpleString())


CastKey, CastValue = both_sides(Cast, "org.apache.kafka.connect.transforms.Cast")
