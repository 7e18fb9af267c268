"""Quick reading of flat JSON objects: without a parser, where the members are as Jackson writes them by their schema.

The text is cut where its members seem to begin, which is a guess. It is checked by writing it again: a text equal to
what Jackson writes for the guessed values is these values' JSON. All other texts are left to the parser.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.decoding import Decoded, JsonDecoding
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaField, SchemaType

_TO_THE_END = 2**31 - 1
_KEEP_NULLS = {"ignoreNullFields": "false"}
_NESTED = (SchemaType.STRUCT, SchemaType.ARRAY, SchemaType.MAP)
# More make code that Java does not compile.
_MOST_FIELDS = 50


def is_flat(schema: Schema) -> bool:
    """Return whether it has fields, not too many, and none within another."""
    return 0 < len(schema.fields) <= _MOST_FIELDS and all(field.schema.type not in _NESTED for field in schema.fields)


def quick(decoding: JsonDecoding, schema: Schema, value: Column, beginning: str, otherwise: Decoded) -> Decoded:
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
