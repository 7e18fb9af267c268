"""TimestampConverter: turns points in time into text, numbers or Connect's logical types.

Example:
    transforms.day.type=org.apache.kafka.connect.transforms.TimestampConverter$Value
    transforms.day.field=created
    transforms.day.target.type=string
    transforms.day.format=yyyy-MM-dd

Without a schema, a Date, Time or Timestamp becomes the number that it would be with one: the days or milliseconds.
Java hands on a ``java.util.Date``, which none of its converters can write without a schema. The default value of a
whole struct is left out, as are points in time that Spark has none for (a Timestamp after the year 294246).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, Self

from pydantic import model_validator
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, ConnectError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.java_calls import JavaRefusalError, SimpleDateFormat, has_jvm
from connect_dagster.expressions.struct_edits import field_value, rebuilt, struct_of
from connect_dagster.expressions.text import as_java_text
from connect_dagster.expressions.value_classes import class_of_json, class_of_variant
from connect_dagster.java.iso_dates import DAY_MS
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, one_of
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import DATE, TIME, TIMESTAMP, Schema, SchemaField, SchemaType
from connect_dagster.plugin.values import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    parsed,
    replace_null_setting,
)

_LONGEST = 2**63 - 1
_LAST_TIMESTAMP_MS = _LONGEST // 1000

# Units in a millisecond, and milliseconds in a unit.
_FINER: Mapping[str, int] = {"microseconds": 1_000, "nanoseconds": 1_000_000}
_COARSER: Mapping[str, int] = {"seconds": 1_000}
_PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")
_FROM_LOGICAL: Mapping[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: F.unix_date(column).cast("long") * DAY_MS,
    TIME: lambda column: column.cast("long"),
    TIMESTAMP: F.unix_millis,
}
"""Epoch milliseconds of a column of a logical type."""
_STRING, _UNIX = "string", "unix"
_TARGETS: Mapping[str, Schema] = {
    _STRING: Schema(SchemaType.STRING),
    _UNIX: Schema(SchemaType.INT64),
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_NO_FORMAT = 'Cannot invoke "java.text.SimpleDateFormat.parse(String)" because "config.format" is null'
_TEXT_CLASS, _LONG_CLASS, _NULL_CLASS = "java.lang.String", "java.lang.Long", "null"


class TimestampConverterConfig(ConfigDef):
    """Options of the transform (Java: ``TimestampConverter.CONFIG_DEF``)."""

    field: str = config_key(
        "field",
        default="",
        importance=Importance.HIGH,
        doc="The field that holds the point in time; empty where the whole key or value is one.",
    )
    target_type: str = config_key(
        "target.type",
        importance=Importance.HIGH,
        validator=one_of(*_TARGETS),
        doc="What it becomes: string, unix, Date, Time or Timestamp.",
    )
    format: str = config_key(
        "format", default="", doc="Pattern of java.text.SimpleDateFormat for text that is read or written, in UTC."
    )
    precision: str = config_key(
        "unix.precision",
        default="milliseconds",
        importance=Importance.LOW,
        validator=one_of(*_PRECISIONS),
        doc="What numbers count since 1970. Below milliseconds, digits are lost on the way.",
    )
    replace_null: bool = replace_null_setting()

    @model_validator(mode="after")
    def _format_of_text(self) -> Self:
        if self.target_type == _STRING and not self.format.strip():
            text = "TimestampConverter requires format option to be specified when using string timestamps"
            raise ConfigError(text, name="format")
        if has_jvm():
            self.date_format()
        return self

    def date_format(self) -> SimpleDateFormat | None:
        """Return the format; ``None`` where none is given.

        Raises:
            ConfigError: it is none.
        """
        try:
            return SimpleDateFormat(self.format) if self.format.strip() else None
        except JavaRefusalError as error:
            text = "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: "
            raise ConfigError(text + self.format, name="format", value=self.format) from error


class TimestampConverter(FieldTransform):
    """Changes the form of a point in time: the whole key or value, or one field of it."""

    config_def: ClassVar[type[ConfigDef]] = TimestampConverterConfig
    purpose = "converting timestamp formats"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: the format is missing or none, or another option is wrong.
        """
        self._options = TimestampConverterConfig.parse(config)
        self._format = self._options.date_format()
        self._target = _TARGETS[self._options.target_type]

    def fits(self, schema: Schema) -> bool:
        """Return true for any schema where no field is configured."""
        return not self._options.field or schema.type is SchemaType.STRUCT

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the point in time in its new form, and with its new schema."""
        if self._options.field:
            return self._in_struct(column, schema)
        target = replace(self._target, optional=schema.optional)
        if _kind(schema) is None:
            return Change(None, None, (Wrong(F.lit(True), _unknown(schema), ConnectError),))
        made, wrong = self._converted(schema, column)
        return Change(made, target, wrong)

    def _in_struct(self, column: Column, schema: Schema) -> Change:
        fields, parts = [], []
        wrong: tuple[Wrong, ...] = ()
        for field in schema.fields:
            value = field_value(column, field, replace_null=self._options.replace_null)
            if field.name == self._options.field:
                value, wrong = self._converted(field.schema, value)
                field = SchemaField(field.name, replace(self._target, optional=field.schema.optional))
            fields.append(field)
            parts.append(value)
        made = struct_of(column, schema, [field.name for field in fields], parts)
        return Change(made, rebuilt(schema, fields, optional=schema.optional), wrong)

    def _converted(self, schema: Schema, value: Column) -> tuple[Column, tuple[Wrong, ...]]:
        kind = _kind(schema)
        if kind is None:
            nothing = F.lit(None).cast(self._target.to_spark())
            return nothing, (Wrong(F.lit(True), _unknown(schema), ConnectError),)
        read, wrong = self._milliseconds(kind, value)
        made = self._of(read)
        lost = Wrong(read.isNotNull() & made.isNull(), F.concat(read.cast("string"), F.lit(" ms is out of range")))
        return made, (*wrong, lost) if self._target in (DATE_SCHEMA, TIMESTAMP_SCHEMA) else wrong

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the point in time in its new form, as JSON."""
        if not self._options.field:
            made, wrong = self._converted_json(class_of_json(text), as_java_text(None, text), text)
            return Change(made, None, wrong)
        name = self._options.field
        value = parsed()[name]
        content = F.try_variant_get(value, "$", "string")
        made, wrong = self._converted_json(class_of_variant(value), content, content)
        member = F.concat(F.lit(json_objects.key_text(name)), F.coalesce(made, F.lit("null")))
        changed = json_objects.spliced(json_objects.text_of(json_objects.without(parsed(), [name])), [member])
        faults = (*self.not_objects(text), self.unreadable(text), *wrong)
        return Change(F.when(json_objects.is_object(text), changed), None, faults, json_objects.fields_of(text))

    def _converted_json(self, kind: Column, text: Column, number: Column) -> tuple[Column, tuple[Wrong, ...]]:
        """Return the JSON text of a value of a Java class.

        Args:
            kind: name of the class.
            text: the value where it is a string.
            number: text of the value where it is a number.
        """
        from_text, wrong = self._milliseconds(_STRING, F.when(kind == _TEXT_CLASS, text))
        from_number, _ = self._milliseconds(_UNIX, F.when(kind == _LONG_CLASS, number).try_cast("bigint"))
        read = F.when(kind == _TEXT_CLASS, from_text).when(kind == _LONG_CLASS, from_number)
        other = ~kind.isin(_TEXT_CLASS, _LONG_CLASS, _NULL_CLASS)
        message = F.concat(F.lit("TimestampConverter does not support class "), kind, F.lit(" objects as timestamps"))
        made = F.when(read.isNotNull(), json_objects.json_of(self._json_number_or_text(read)))
        return made, (*wrong, Wrong(other, message))

    def _json_number_or_text(self, milliseconds: Column) -> Column:
        if self._target == DATE_SCHEMA:
            return _days(milliseconds)
        return milliseconds if self._target == TIMESTAMP_SCHEMA else self._of(milliseconds)

    def _milliseconds(self, kind: str, value: Column) -> tuple[Column, tuple[Wrong, ...]]:
        """Return epoch milliseconds of a value of a kind, and which values have none."""
        if kind == _UNIX:
            return _from_unix(value, self._options.precision), ()
        if kind != _STRING:
            return _FROM_LOGICAL[kind](value), ()
        if self._format is None:
            missing = Wrong(value.isNotNull(), _NO_FORMAT, "java.lang.NullPointerException")
            return F.lit(None).cast("bigint"), (missing,)
        read = self._format.milliseconds(value)
        end = F.lit(f") does not match pattern ({self._options.format})")
        message = F.concat(F.lit("Could not parse timestamp: value ("), value, end)
        return read, (Wrong(value.isNotNull() & read.isNull(), message, DataError),)

    def _of(self, milliseconds: Column) -> Column:
        match self._options.target_type:
            case "unix":
                return _to_unix(milliseconds, self._options.precision)
            case "Date":
                return F.date_from_unix_date(_days(milliseconds))
            case "Time":
                return _time_of_day(milliseconds)
            case "Timestamp":
                return _to_timestamp(milliseconds)
            case _:
                assert self._format is not None
                return self._format.text(milliseconds)


def _kind(schema: Schema) -> str | None:
    """Return the kind of a schema's values (Java: ``timestampTypeFromSchema``): a logical type's name, or a word."""
    if schema.name in _FROM_LOGICAL:
        return schema.name
    return {SchemaType.STRING: _STRING, SchemaType.INT64: _UNIX}.get(schema.type)


def _unknown(schema: Schema) -> str:
    shown = schema.type.name if schema.name is None else f"{schema.name}:{schema.type.name}"
    return f"Schema Schema{{{shown}}} does not correspond to a known timestamp type format"


TimestampConverterKey, TimestampConverterValue = both_sides(
    TimestampConverter, "org.apache.kafka.connect.transforms.TimestampConverter"
)


def _from_unix(number: Column, precision: str) -> Column:
    """Return epoch milliseconds of a count of units since 1970."""
    if precision in _FINER:
        return _divided(number, _FINER[precision])
    return _multiplied(number, _COARSER[precision]) if precision in _COARSER else number


def _to_unix(milliseconds: Column, precision: str) -> Column:
    """Return the count of units since 1970 of epoch milliseconds."""
    if precision in _FINER:
        return _multiplied(milliseconds, _FINER[precision])
    return _divided(milliseconds, _COARSER[precision]) if precision in _COARSER else milliseconds


def _days(milliseconds: Column) -> Column:
    """Return the day as a number; null where it has too many digits for an int."""
    before_midnight = F.when(milliseconds % DAY_MS < 0, 1).otherwise(0)
    return (_divided(milliseconds, DAY_MS) - before_midnight).try_cast("int")


def _time_of_day(milliseconds: Column) -> Column:
    """Return milliseconds since midnight."""
    return F.pmod(milliseconds, F.lit(DAY_MS)).cast("int")


def _to_timestamp(milliseconds: Column) -> Column:
    """Return a timestamp; null beyond those that Spark has."""
    known = milliseconds.between(-_LAST_TIMESTAMP_MS, _LAST_TIMESTAMP_MS)
    return F.timestamp_millis(F.when(known, milliseconds))


def _divided(number: Column, units: int) -> Column:
    """Divide towards zero, as ``TimeUnit`` does."""
    return F.call_function("div", number, F.lit(units).cast("long"))


def _multiplied(number: Column, units: int) -> Column:
    """Return the largest number where it is too large, as ``TimeUnit`` has it."""
    limit = _LONGEST // units
    return (
        F.when(number > limit, F.lit(_LONGEST))
        .when(number < -limit, F.lit(-_LONGEST - 1))
        .otherwise(F.greatest(F.least(number, F.lit(limit)), F.lit(-limit)) * F.lit(units).cast("long"))
    )
