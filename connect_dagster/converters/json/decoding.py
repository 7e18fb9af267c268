"""JSON payloads as typed columns, by Spark expressions (Java: ``JsonConverter.convertToConnect``).

Spark's parser reads the payload into raw columns (numbers, texts), from which the logical types are made. A payload
that does not have its schema's type is an error here; Java reads such ones as zero, false or null.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.expressions import decimal_bytes
from connect_dagster.expressions import literals as spark_literal
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

_PAYLOAD = "payload"
_CORRUPT = "\N{BLACK SQUARE}corrupt"  # no field of the envelope has this name
_DAY = 24 * 60 * 60 * 1000
_LAST_TIMESTAMP = (2**63 - 1) // 1000
_OPTIONS = {"columnNameOfCorruptRecord": _CORRUPT, "mode": "PERMISSIVE"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A column out of JSON; null where it could not be read, or is null.

    ``valid`` shows which: evaluate it only where the value is null.
    """

    value: Column
    valid: Column

    def only_where(self, condition: Column) -> Decoded:
        """Return the same, but not valid where the condition is false."""
        return Decoded(F.when(condition, self.value), condition & self.valid)


def once(column: Column, use: Callable[[Column], Column]) -> Column:
    """Return an expression that uses a costly column several times and evaluates it once.

    Spark finds common subexpressions, but not those in the branches of conditions.
    """
    return F.transform(F.array(column), use)[0]


@dataclass(frozen=True, slots=True)
class JsonDecoding:
    """Options for reading JSON as values.

    Attributes:
        replace_null: read null as the default value (``replace.null.with.default``).
    """

    replace_null: bool = True

    def payload(self, schema: Schema, text: Column) -> Decoded:
        """Return the member ``payload`` of objects in a string column."""
        if schema.type is SchemaType.STRING and schema.name not in _LOGICAL:
            return self._string(schema, text)
        return _read(
            text,
            self.raw_type(schema),
            lambda raw: self.value(schema, raw),
            lambda raw: self.valid(schema, raw),
        )

    def _string(self, schema: Schema, text: Column) -> Decoded:
        """Return a payload that is a string: by way of a variant, as Spark would take any JSON for a string."""

        def string(raw: Column) -> Column:
            return F.try_variant_get(raw, "$", "string")

        def valid(raw: Column) -> Column:
            right_type = F.coalesce(F.schema_of_variant(raw).isin("STRING", "VOID"), F.lit(True))
            return right_type & self.valid(schema, string(raw))

        return _read(text, spark.VariantType(), lambda raw: self.value(schema, string(raw)), valid)

    def payload_text(self, text: Column) -> Decoded:
        """Return the member ``payload`` as JSON text; null where it is null."""
        return _read(
            text,
            spark.VariantType(),
            lambda raw: F.when(~F.is_variant_null(raw), F.to_json(raw)),
            lambda raw: F.lit(True),
        )

    def raw_type(self, schema: Schema) -> spark.DataType:
        """Return the type of the column that Spark's parser makes, which :meth:`value` and :meth:`valid` take."""
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name].raw_type
        match schema.type:
            case SchemaType.STRUCT:
                return spark.StructType([spark.StructField(f.name, self.raw_type(f.schema)) for f in schema.fields])
            case SchemaType.ARRAY:
                return spark.ArrayType(self.raw_type(schema.item))
            case SchemaType.MAP if schema.key.type is SchemaType.STRING:
                return spark.MapType(spark.StringType(), self.raw_type(schema.item))
            case SchemaType.MAP:
                return spark.ArrayType(spark.ArrayType(spark.StringType()))
            case _:
                return schema.to_spark()

    def value(self, schema: Schema, raw: Column) -> Column:
        """Return the value out of a raw column."""
        return self.defaulted(schema, self._converted(schema, _sql_null(schema, raw)))

    def defaulted(self, schema: Schema, value: Column) -> Column:
        """Return the default in place of null, where there is one that replaces it."""
        if schema.default is not None and self.replace_null:
            return F.coalesce(value, spark_literal.literal(schema, schema.default))
        return value

    def _converted(self, schema: Schema, raw: Column) -> Column:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name].value(schema, raw)
        match schema.type:
            case SchemaType.STRUCT if schema.fields:
                parts = [self.value(f.schema, raw.getField(f.name)).alias(f.name) for f in schema.fields]
                return F.when(raw.isNotNull(), F.struct(*parts))
            case SchemaType.ARRAY:
                return F.transform(raw, lambda item: self.value(schema.item, item))
            case SchemaType.MAP if schema.key.type is SchemaType.STRING:
                return F.transform_values(raw, lambda _, item: self.value(schema.item, item))
            case SchemaType.MAP:
                return self._from_pairs(schema, raw)
            case _:
                return raw

    def _from_pairs(self, schema: Schema, raw: Column) -> Column:
        """Return a map out of an array of pairs, whose parts are texts."""
        pairs = F.transform(
            raw,
            lambda pair: F.struct(
                self._from_text(schema.key, pair[0]).alias("key"), self._from_text(schema.item, pair[1]).alias("value")
            ),
        )
        return F.map_from_entries(pairs)

    def _from_text(self, schema: Schema, text: Column) -> Column:
        """Return a value out of its JSON text; strings come without their quotes."""
        if schema.type in (SchemaType.STRING, SchemaType.BYTES):
            return self.payload(schema, F.to_json(F.struct(text.alias(_PAYLOAD)))).value
        return self.payload(schema, F.concat(F.lit(f'{{"{_PAYLOAD}":'), text, F.lit("}"))).value

    def valid(self, schema: Schema, raw: Column) -> Column:
        """Return whether all parts have what their schema requires; never null."""
        raw = _sql_null(schema, raw)
        return F.when(raw.isNull(), F.lit(self.allows_null(schema))).otherwise(self._parts_valid(schema, raw))

    def allows_null(self, schema: Schema) -> bool:
        """Return whether null is a value of a schema, or becomes one."""
        return schema.optional or (schema.default is not None and self.replace_null)

    def _parts_valid(self, schema: Schema, raw: Column) -> Column:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name].value(schema, raw).isNotNull()
        match schema.type:
            case SchemaType.STRUCT:
                checks = [self.valid(f.schema, raw.getField(f.name)) for f in schema.fields if _can_be_wrong(f.schema)]
                return functools.reduce(Column.__and__, checks, F.lit(True))
            case SchemaType.ARRAY if _can_be_wrong(schema.item):
                return F.forall(raw, lambda item: self.valid(schema.item, item))
            case SchemaType.MAP if schema.key.type is not SchemaType.STRING:
                return F.forall(raw, lambda pair: self._pair_valid(schema, pair))
            case SchemaType.MAP if _can_be_wrong(schema.item):
                return F.forall(F.map_values(raw), lambda item: self.valid(schema.item, item))
            case _:
                return F.lit(True)

    def _pair_valid(self, schema: Schema, pair: Column) -> Column:
        def part(of: Schema, text: Column) -> Column:
            return (text.isNull() & F.lit(of.optional)) | self._from_text(of, text).isNotNull()

        return (F.size(pair) == 2) & part(schema.key, pair[0]) & part(schema.item, pair[1])


def _read(
    text: Column, raw_type: spark.DataType, value: Callable[[Column], Column], valid: Callable[[Column], Column]
) -> Decoded:
    fields = [spark.StructField(_PAYLOAD, raw_type), spark.StructField(_CORRUPT, spark.StringType())]
    parsed = F.from_json(text, spark.StructType(fields), _OPTIONS)

    def all_valid(found: Column) -> Column:
        return found[_CORRUPT].isNull() & valid(found[_PAYLOAD])

    return Decoded(
        once(parsed, lambda found: F.when(all_valid(found), value(found[_PAYLOAD]))),
        once(parsed, all_valid),
    )


def _sql_null(schema: Schema, raw: Column) -> Column:
    """Return SQL's null for JSON's null, which is a value in a variant."""
    return F.when(~F.is_variant_null(raw), raw) if schema.name == DECIMAL else raw


def _can_be_wrong(schema: Schema) -> bool:
    """Return whether a value that Spark's parser read can still break the schema."""
    if not schema.optional or schema.name in (DECIMAL, TIME, TIMESTAMP):
        return True
    match schema.type:
        case SchemaType.STRUCT:
            return any(_can_be_wrong(field.schema) for field in schema.fields)
        case SchemaType.ARRAY | SchemaType.MAP:
            return _can_be_wrong(schema.item) or (
                schema.key_schema is not None and schema.key.type is not SchemaType.STRING
            )
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Logical:
    """Reading of a logical type: the type of its raw column, and the value made of it."""

    raw_type: spark.DataType
    value: Callable[[Schema, Column], Column]


def _is_known(milliseconds: Column) -> Column:
    """Return whether Spark, which counts microseconds, has such a timestamp."""
    return milliseconds.between(-_LAST_TIMESTAMP, _LAST_TIMESTAMP)


def _decimal(schema: Schema, raw: Column) -> Column:
    """Return the decimal in text, as base64 or a number; ``decimal.format`` applies to writing only."""
    from_text = decimal_bytes.to_decimal(
        F.try_to_binary(F.try_variant_get(raw, "$", "string"), F.lit("base64")), schema.scale
    )
    from_number = F.try_variant_get(raw, "$", f"decimal(38,{schema.scale})")
    return F.when(F.schema_of_variant(raw) == "STRING", from_text).otherwise(from_number)


_LOGICAL: dict[str | None, _Logical] = {
    DECIMAL: _Logical(spark.VariantType(), _decimal),
    TIME: _Logical(spark.IntegerType(), lambda schema, raw: F.when(raw.between(0, _DAY), raw)),
    DATE: _Logical(spark.IntegerType(), lambda schema, raw: F.date_from_unix_date(raw)),
    TIMESTAMP: _Logical(spark.LongType(), lambda schema, raw: F.timestamp_millis(F.when(_is_known(raw), raw))),
}
