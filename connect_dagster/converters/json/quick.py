"""Quick reading of JSON without Spark's parser: strings, and objects without arrays and maps.

In a string no more than quotes and backslashes may be escaped. The guess is checked by writing it again: a text equal
to what Jackson writes for the guessed value is its JSON, whatever is in it. Jackson reads objects as it does for Java's
converter, without copies of the text, and only members with the type of their field are taken. All other texts are left
to the parser.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.decoding import JsonDecoding
from connect_dagster.expressions.java_calls import JavaText, JsonNode, has_java_text, has_json_nodes
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaType

_NAME = "payload"
# More make code that Java does not compile.
_MOST_FIELDS, _TOO_MANY = 50, 1000
# Spark reads blanks, and groups without padding, where Jackson refuses them.
_BASE64 = r"^[A-Za-z0-9+/]*+={0,2}$"


def quick_string(value: Column, beginning: str) -> Column:
    """Return the string after ``beginning`` and before a closing brace; null where a record is not so simple.

    Args:
        value: a binary column of objects.
        beginning: text up to the string, ending in ``"payload":``.
    """
    return _only_where(*_guessed_string(value, beginning.encode(), b"}"))


def is_plain_string(value: Column) -> Column:
    """Return whether a binary column is a JSON string that needs no parser to be found valid; never null."""
    _, right = _guessed_string(value, b"", b"")
    return F.coalesce(right, F.lit(False))


def _guessed_string(value: Column, start: bytes, end: bytes) -> tuple[Column, Column]:
    """Return the string that seems to stand between ``start`` and ``end``, and whether it does, null where null is."""
    opening, closing = start + b'"', b'"' + end
    around = len(opening) + len(closing)
    inner = F.substring(value, F.lit(len(opening) + 1), F.octet_length(value) - F.lit(around))
    framed = (
        value.startswith(F.lit(bytearray(opening)))
        & value.endswith(F.lit(bytearray(closing)))
        & (F.octet_length(value) >= around)
    )
    guess, again = _written_again(inner)
    return guess, framed & (again == inner)


def _written_again(inner: Column) -> tuple[Column, Column]:
    """Return the guessed string of the bytes between its quotes, and the bytes that Jackson writes for it."""
    if not has_java_text():
        return _written_by_spark(inner)
    guess = JavaText.of(inner.cast("string")).replaced('\\"', '"').replaced("\\\\", "\\")
    return guess.column(), guess.json_characters()


def _written_by_spark(inner: Column) -> tuple[Column, Column]:
    guess = _without_escapes(inner.cast("string"))
    member = F.to_json(F.struct(guess.alias(_NAME))).cast("binary")
    around = len(f'{{"{_NAME}":""}}')
    return guess, F.substring(member, F.lit(around - 1), F.octet_length(member) - F.lit(around))


def _without_escapes(text: Column) -> Column:
    quotes = F.replace(text, F.lit('\\"'), F.lit('"'))
    # Few texts contain a backslash, and looking for one is quicker than replacing none.
    return F.when(text.contains("\\\\"), F.replace(quotes, F.lit("\\\\"), F.lit("\\"))).otherwise(quotes)


def is_quick(schema: Schema) -> bool:
    """Return whether it is a struct with fields, not too many, and no array or map within."""
    return schema.type is SchemaType.STRUCT and 0 < _count(schema) <= _MOST_FIELDS and has_json_nodes()


def _count(schema: Schema) -> int:
    """Return the number of fields, those of fields included; far too many where one is an array, a map or empty."""
    if schema.type in (SchemaType.ARRAY, SchemaType.MAP):
        return _TOO_MANY
    if schema.type is not SchemaType.STRUCT:
        return 1
    return sum(_count(field.schema) for field in schema.fields) or _TOO_MANY


def quick_struct(decoding: JsonDecoding, schema: Schema, value: Column, beginning: str) -> Column:
    """Return the object after ``beginning`` and before a closing brace; null where a record is not so simple.

    Args:
        decoding: makes values of what is read.
        schema: a struct that :func:`is_quick`.
        value: a binary column of objects.
        beginning: text up to the object.
    """
    known = beginning.encode()
    # An object that begins without blanks: Jackson guesses the encoding by the first bytes.
    framed = value.startswith(F.lit(bytearray(known + b'{"'))) & value.endswith(F.lit(bytearray(b"}")))
    payload = JsonNode.read(value, len(known), F.octet_length(value) - F.lit(len(known) + 1))
    read = _read(decoding, schema, payload)
    return _only_where(read.value, framed & read.found & read.valid)


def _only_where(guess: Column, right: Column) -> Column:
    # An element of an array, not a branch: Spark evaluates the guess once only outside of branches.
    return F.get(F.array(guess), F.when(right, F.lit(0)))


@dataclass(frozen=True, slots=True)
class _Read:
    """Expressions over a node, none of which has another one in it: those of a struct grow with its fields alone.

    Attributes:
        value: made of it.
        found: whether it is what Spark's parser would read; never null.
        valid: whether it has what its schema requires, where it is found; never null.
    """

    value: Column
    found: Column
    valid: Column


def _read(decoding: JsonDecoding, schema: Schema, node: JsonNode) -> _Read:
    if schema.type is not SchemaType.STRUCT:
        raw = _raw(decoding, schema, node)
        found = raw.isNotNull() | node.is_nothing()
        return _Read(decoding.value(schema, raw), found, decoding.valid(schema, raw))
    is_object = F.coalesce(node.is_object(), F.lit(False))
    fields = {field.name: _read(decoding, field.schema, node.member(field.name)) for field in schema.fields}
    value = F.when(is_object, F.struct(*(one.value.alias(name) for name, one in fields.items())))
    found = functools.reduce(operator.and_, (one.found for one in fields.values()))
    valid = functools.reduce(operator.and_, (one.valid for one in fields.values()))
    return _Read(
        decoding.defaulted(schema, value),
        node.is_nothing() | (is_object & found),
        F.when(is_object, valid).otherwise(F.lit(decoding.allows_null(schema))),
    )


def _raw(decoding: JsonDecoding, schema: Schema, node: JsonNode) -> Column:
    """Return the raw value of a node; null where it is another one, or the parser has to read it."""
    if schema.name == DECIMAL:  # numbers have more digits in the text
        return F.try_parse_json(F.concat(F.lit('"'), node.string(), F.lit('"')))
    raw_type = decoding.raw_type(schema)
    match raw_type.typeName():
        case "string":
            return node.string()
        case "binary":
            text = node.string()
            is_strict = text.rlike(_BASE64) & (F.octet_length(text) % 4 == 0)
            return F.when(is_strict, F.try_to_binary(text, F.lit("base64")))
        case "boolean":
            return node.boolean()
        case "double":
            return node.double()
        case "float":
            # A double that is rounded may be off by one from the float in the text, but not where floats are written.
            rounded = node.double().cast(raw_type)
            return F.when(rounded.cast("string").cast("double") == node.double(), rounded)
        case _:
            return node.long().try_cast(raw_type)
