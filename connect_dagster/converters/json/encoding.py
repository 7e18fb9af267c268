"""Typed columns as JSON text, by Spark expressions (Java: ``JsonConverter.convertToJson``).

Spark writes JSON with the same library as Java Connect, so most schemas need one ``to_json`` for the whole value. What
Spark cannot write, maps whose keys are not strings, is composed of texts. A string alone is quoted by a method of that
library (:class:`JavaText`), where this Spark has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import text as json_text
from connect_dagster.expressions import decimal_bytes
from connect_dagster.expressions import literals as spark_literal
from connect_dagster.expressions.java_calls import JavaText, has_java_text
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaType

REQUIRED_IS_NULL = "Conversion error: null value for field that is required and has no default value"

# Characters beyond 16 bits: Jackson writes two escaped surrogates, Spark the character.
_WIDE = r"[\x{10000}-\x{10FFFF}]"
_CUT = "\x01"  # JSON text has no raw control characters
_KEEP_NULLS = {"ignoreNullFields": "false"}
_WRAPPED = '{"p":'
_TO_THE_END = 2**31 - 1


@dataclass(frozen=True, slots=True)
class JsonEncoding:
    """Options for writing values as JSON.

    Attributes:
        numeric_decimals: write decimals as numbers instead of base64 (``decimal.format``).
        replace_null: write the default value in place of null (``replace.null.with.default``).
        ascii: all text is ASCII: nothing needs Java's escapes.
    """

    numeric_decimals: bool = False
    replace_null: bool = True
    ascii: bool = False

    def breaks(self, schema: Schema, column: Column) -> Column | None:
        """Return whether a value has null where the schema allows none; never null, and ``None`` where no value can."""
        replaced = schema.default is not None and self.replace_null
        null_allowed = replaced or schema.optional
        parts = self._parts_break(schema, column)
        if null_allowed:
            return None if parts is None else column.isNotNull() & parts
        return column.isNull() if parts is None else column.isNull() | parts

    def _parts_break(self, schema: Schema, column: Column) -> Column | None:
        if schema.name in _LOGICAL:
            return None
        match schema.type:
            case SchemaType.STRUCT:
                checks = [self.breaks(field.schema, column.getField(field.name)) for field in schema.fields]
                return _any(checks)
            case SchemaType.ARRAY:
                return self._any_breaks(schema.item, column)
            case SchemaType.MAP:
                keys = self._any_breaks(schema.key, F.map_keys(column)) if schema.key.fields else None
                return _any([keys, self._any_breaks(schema.item, F.map_values(column))])
            case _:
                return None

    def _any_breaks(self, schema: Schema, items: Column) -> Column | None:
        if self.breaks(schema, F.lit(None)) is None:
            return None
        return F.exists(items, lambda item: _checked(self.breaks(schema, item)))

    def fields(self, name: str, schema: Schema, column: Column) -> Column:
        """Return the bytes of ``"name":value}``, the end of an object whose last field this is."""
        if _has_pairs(schema):
            return F.concat(F.lit(f'"{name}":'), self.text(schema, column), F.lit("}")).cast("binary")
        if _is_text(schema) and has_java_text():
            return self._quoted(schema, column, _key(name), "}", lambda: self._fields_by_spark(name, schema, column))
        return self._fields_by_spark(name, schema, column)

    def _fields_by_spark(self, name: str, schema: Schema, column: Column) -> Column:
        text = F.to_json(F.struct(self._plain(schema, column).alias(name)), _KEEP_NULLS)
        text = self._escaped(schema, column, text)
        # On bytes Spark copies; on a string it would count characters.
        return F.substring(text.cast("binary"), 2, _TO_THE_END)

    def _quoted(self, schema: Schema, column: Column, start: str, end: str, otherwise: Callable[[], Column]) -> Column:
        """Return the bytes of a string between others, without the writer that ``to_json`` makes for each record.

        Args:
            schema: of a string.
            column: its values.
            start: stands before them.
            end: stands after them.
            otherwise: returns the same bytes, for texts that Java escapes in another way.
        """
        text = JavaText.of(self._filled(schema, column))
        opening, closing, null = (F.lit(bytearray(t.encode())) for t in (f'{start}"', f'"{end}', f"{start}null{end}"))
        quoted = F.coalesce(F.concat(opening, text.json_characters(), closing), null)
        return quoted if self.ascii else F.when(text.has_supplementary(), otherwise()).otherwise(quoted)

    def _escaped(self, schema: Schema, column: Column, text: Column) -> Column:
        """Return the text of a value with Java's escapes."""
        wide = None if self.ascii else self._has_wide(schema, column)
        return text if wide is None else F.when(wide, _escaped_surrogates(text)).otherwise(text)

    def _has_wide(self, schema: Schema, column: Column) -> Column | None:
        """Return whether a text in a value is to be escaped, perhaps null; ``None`` where it never is."""
        column = self._defaulted(schema, column)
        match schema.type:
            case SchemaType.STRING:
                return _is_wide(column)
            case SchemaType.STRUCT if any(_has_wide_character(field.name) for field in schema.fields):
                return F.lit(True)
            case SchemaType.STRUCT:
                return _any([self._has_wide(field.schema, column.getField(field.name)) for field in schema.fields])
            case SchemaType.ARRAY:
                return self._any_wide(schema.item, column)
            case SchemaType.MAP:
                keys = self._any_wide(schema.key, F.map_keys(column))
                return _any([keys, self._any_wide(schema.item, F.map_values(column))])
            case _:
                return None

    def _any_wide(self, schema: Schema, items: Column) -> Column | None:
        if self._has_wide(schema, F.lit(None)) is None:
            return None
        return F.exists(items, lambda item: _checked(self._has_wide(schema, item)))

    def text(self, schema: Schema, column: Column) -> Column:
        """Return the value alone as a string column; ``null`` where it is null and may be."""
        if _is_text(schema) and has_java_text():
            return self._quoted(
                schema, column, "", "", lambda: self._text_by_spark(schema, column).cast("binary")
            ).cast("string")
        if not _has_pairs(schema):
            return self._text_by_spark(schema, column)
        filled = self._filled(schema, column)
        return F.coalesce(self._assembled(schema, filled), F.lit("null"))

    def _text_by_spark(self, schema: Schema, column: Column) -> Column:
        if schema.type is SchemaType.STRUCT and schema.fields and schema.name not in _LOGICAL:
            text = F.to_json(self._plain(schema, column), _KEEP_NULLS)
            return F.coalesce(self._escaped(schema, column, text), F.lit("null"))
        raw = F.to_json(F.struct(self._plain(schema, column).alias("p")), _KEEP_NULLS)
        text = self._escaped(schema, column, raw)
        return F.substring(text, F.lit(len(_WRAPPED) + 1), F.length(text) - F.lit(len(_WRAPPED) + 1))

    def _plain(self, schema: Schema, column: Column) -> Column:
        """Return a column of which ``to_json`` writes what Java writes."""
        return self._converted(schema, self._filled(schema, column))

    def _filled(self, schema: Schema, column: Column) -> Column:
        if not schema.optional and schema.default is None:
            return F.coalesce(column, F.raise_error(REQUIRED_IS_NULL).cast(schema.to_spark()))
        return self._defaulted(schema, column)

    def _defaulted(self, schema: Schema, column: Column) -> Column:
        if schema.default is None or not self.replace_null:
            return column
        return F.coalesce(column, spark_literal.literal(schema, schema.default))

    def _converted(self, schema: Schema, column: Column) -> Column:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name](schema, column, self)
        match schema.type:
            case SchemaType.STRUCT if schema.fields:
                parts = [
                    self._plain(field.schema, column.getField(field.name)).alias(field.name) for field in schema.fields
                ]
                return F.when(column.isNotNull(), F.struct(*parts))
            case SchemaType.ARRAY:
                return F.transform(column, lambda item: self._plain(schema.item, item))
            case SchemaType.MAP:
                return F.transform_values(column, lambda _, value: self._plain(schema.item, value))
            case _:
                return column

    def _assembled(self, schema: Schema, column: Column) -> Column:
        """Return the text of a value that is not null, or null."""
        match schema.type:
            case SchemaType.STRUCT:
                parts = [
                    F.concat(F.lit(_key(field.name)), self.text(field.schema, column.getField(field.name)))
                    for field in schema.fields
                ]
                return F.when(column.isNotNull(), _joined(F.array(*parts), "{", "}"))
            case SchemaType.ARRAY:
                return _joined(F.transform(column, lambda item: self.text(schema.item, item)), "[", "]")
            case _:
                return self._assembled_map(schema, column)

    def _assembled_map(self, schema: Schema, column: Column) -> Column:
        as_object = schema.key.type is SchemaType.STRING
        start, separator, end = ("", ":", "") if as_object else ("[", ",", "]")

        def entry(pair: Column) -> Column:
            key, value = self.text(schema.key, pair["key"]), self.text(schema.item, pair["value"])
            return F.concat(F.lit(start), key, F.lit(separator), value, F.lit(end))

        brackets = ("{", "}") if as_object else ("[", "]")
        return _joined(F.transform(F.map_entries(column), entry), *brackets)


def _checked(check: Column | None) -> Column:
    return F.lit(False) if check is None else check


def _any(checks: Sequence[Column | None]) -> Column | None:
    there = [check for check in checks if check is not None]
    return functools.reduce(Column.__or__, there) if there else None


def _has_pairs(schema: Schema) -> bool:
    """Return whether a part of it is a map that Java writes as an array of pairs."""
    match schema.type:
        case SchemaType.MAP:
            return schema.key.type is not SchemaType.STRING or _has_pairs(schema.item)
        case SchemaType.ARRAY:
            return _has_pairs(schema.item)
        case SchemaType.STRUCT:
            return any(_has_pairs(field.schema) for field in schema.fields)
        case _:
            return False


def _is_text(schema: Schema) -> bool:
    return schema.type is SchemaType.STRING and schema.name not in _LOGICAL


def _joined(texts: Column, start: str, end: str) -> Column:
    return F.concat(F.lit(start), F.array_join(texts, ","), F.lit(end))


def _key(name: str) -> str:
    return json_text.dumps(name) + ":"


def _decimal(schema: Schema, column: Column, encoding: JsonEncoding) -> Column:
    if encoding.numeric_decimals:
        return decimal_bytes.scaled(schema, column)
    return decimal_bytes.written(schema, column)


_LOGICAL: dict[str | None, Callable[[Schema, Column, JsonEncoding], Column]] = {
    DECIMAL: _decimal,
    DATE: lambda schema, column, encoding: F.unix_date(column),
    TIMESTAMP: lambda schema, column, encoding: F.unix_millis(column),
}


def _is_wide(text: Column) -> Column:
    """Return whether a string column has one; null where it is null. Lengths differ for all but ASCII: a cheap test
    first.
    """
    return (F.octet_length(text) != F.char_length(text)) & text.rlike(_WIDE)


def _has_wide_character(text: str) -> bool:
    """Return whether a text of Python's has one."""
    return max(text, default="") > "\uffff"


def _escaped_surrogates(text: Column) -> Column:
    r"""Return a text that has such characters with each as ``\uD83D\uDE00``."""
    pieces = F.split(F.regexp_replace(text, f"({_WIDE})", f"{_CUT}$1{_CUT}"), _CUT, -1)
    return F.array_join(F.transform(pieces, _escaped_if_wide), "")


def _escaped_if_wide(piece: Column) -> Column:
    digits = F.hex(F.encode(piece, "UTF-16BE"))
    pair = F.concat(F.lit("\\u"), F.substring(digits, 1, 4), F.lit("\\u"), F.substring(digits, 5, 4))
    return F.when((F.char_length(piece) == 1) & (F.octet_length(piece) == 4), pair).otherwise(piece)
