"""Quick reading of JSON without a parser: strings, and flat objects whose members are as Jackson writes them.

In a string no more than quotes and backslashes may be escaped; an object's text is cut where its members seem to begin.
The guess is checked by writing it again: a text equal to what Jackson writes for the guessed values is these values'
JSON, whatever is in it. All other texts are left to the parser.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.decoding import Decoded, JsonDecoding
from connect_dagster.expressions.java_calls import JavaText, has_java_text
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaField, SchemaType

_NAME = "payload"
_TO_THE_END = 2**31 - 1
_KEEP_NULLS = {"ignoreNullFields": "false"}
_NESTED = (SchemaType.STRUCT, SchemaType.ARRAY, SchemaType.MAP)
# More make code that Java does not compile.
_MOST_FIELDS = 50


def quick_string(value: Column, beginning: str, otherwise: Decoded) -> Decoded:
    """Return the string after ``beginning`` and before a closing brace.

    Args:
        value: a binary column of objects.
        beginning: text up to the string, ending in ``"payload":``.
        otherwise: how to read records that are not so simple.
    """
    guess, right = _guessed_string(value, beginning.encode(), b"}")
    # An element of an array, not a branch: Spark evaluates the guess once only outside of branches.
    quickly = F.get(F.array(guess), F.when(right, F.lit(0)))
    return Decoded(F.coalesce(quickly, otherwise.value), otherwise.valid)


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


def is_flat(schema: Schema) -> bool:
    """Return whether it has fields, not too many, and none within another."""
    return 0 < len(schema.fields) <= _MOST_FIELDS and all(field.schema.type not in _NESTED for field in schema.fields)


def quick_struct(decoding: JsonDecoding, schema: Schema, value: Column, beginning: str, otherwise: Decoded) -> Decoded:
    """Return the object after ``beginning`` and before a closing brace.

    Args:
        decoding: makes values of what is read.
        schema: a flat struct.
        value: a binary column of objects.
        beginning: text up to the object.
        otherwise: how to read records that are not so simple.
    """
    known = beginning.encode()
    start = len(known)
    members = F.substring(value, F.lit(start + 3), F.octet_length(value) - F.lit(start + 4)).cast("string")
    raw = F.struct(*(_guess(decoding, field, members, number) for number, field in enumerate(schema.fields, 1)))
    payload = F.substring(value, F.lit(start + 1), F.octet_length(value) - F.lit(start + 1)).cast("string")
    right = (
        value.startswith(F.lit(bytearray(known)))
        & value.endswith(F.lit(bytearray(b"}")))
        & (payload == F.to_json(raw, _KEEP_NULLS))
        & decoding.valid(schema, raw)
    )
    # An element of an array, not a branch: Spark evaluates the guess once only outside of branches.
    quickly = F.get(F.array(decoding.value(schema, raw)), F.when(right, F.lit(0)))
    return Decoded(F.coalesce(quickly, otherwise.value), otherwise.valid)


def _guess(decoding: JsonDecoding, field: SchemaField, members: Column, number: int) -> Column:
    """Return the raw value of a field, null where its text is none."""
    member = F.split_part(members, F.lit(',"'), F.lit(number))
    text = F.substring(member, len(field.name) + 3, _TO_THE_END)
    return _raw(decoding, field.schema, text).alias(field.name)


def _raw(decoding: JsonDecoding, schema: Schema, text: Column) -> Column:
    if schema.name == DECIMAL:
        return F.try_parse_json(text)
    raw_type = decoding.raw_type(schema)
    quoted = F.when(text != "null", F.substring(text, F.lit(2), F.length(text) - F.lit(2)))
    match raw_type.typeName():
        case "string":
            return quoted
        case "binary":
            return F.try_to_binary(quoted, F.lit("base64"))
        case _:
            return text.try_cast(raw_type)
