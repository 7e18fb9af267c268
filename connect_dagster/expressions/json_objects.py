"""Objects in columns of JSON text, edited by Spark expressions.

Only the outermost level is taken apart: into a map whose values are variants. Variants are as lossy as Java's maps:
numbers lose trailing zeros and their spelling. The order of the fields stays.
"""

from __future__ import annotations

import functools
import json
import math
import operator
from collections.abc import Collection, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

FIELDS = "map<string,variant>"
"""Type of an object that was taken apart."""

_NULL = "null"


def is_null(text: Column) -> Column:
    """Return whether a value is null, without a value or as JSON has it; never null."""
    return text.isNull() | _begun(text).startswith(_NULL)


def is_object(text: Column) -> Column:
    """Return whether JSON text is an object; false for null."""
    return F.coalesce(_begun(text).startswith("{"), F.lit(False))


def _begun(text: Column) -> Column:
    """Remove blanks before a JSON value, whose first character then shows its kind."""
    return F.ltrim(text, F.lit(" \t\r\n"))


def fields_of(text: Column) -> Column:
    """Return the fields of an object; null for other JSON, or for an object with a field twice deep inside."""
    return F.from_json(text, FIELDS)


def text_of(fields: Column) -> Column:
    """Return an object of fields as JSON text."""
    return F.to_json(fields)


def field(text: Column, name: str) -> Column:
    """Return one field of an object as a variant; null where it is absent."""
    return F.from_json(text, spark.StructType([spark.StructField(name, spark.VariantType())]))[name]


def field_within(variant: Column, name: str) -> Column:
    """Return one field of an object in a variant; null where it is absent."""
    return F.try_variant_get(variant, "$", FIELDS)[name]


def chosen(text: Column, names: Sequence[str]) -> Column:
    """Return an object of these fields alone, as JSON text; null for those that are absent."""
    parts = spark.StructType([spark.StructField(name, spark.VariantType()) for name in names])
    return F.to_json(F.from_json(text, parts), {"ignoreNullFields": "false"})


def json_of(column: Column) -> Column:
    """Return the JSON text of a scalar column, ``null`` where it is null."""
    listed = F.to_json(F.array(column))
    return F.substring(listed, F.lit(2), F.length(listed) - F.lit(2))


def string_text(text: str) -> str:
    """Return a string as JSON."""
    return json.dumps(text, ensure_ascii=False)


def number_text(number: float) -> str:
    """Return a number as JSON; as a string where JSON has no such number."""
    return json.dumps(number) if math.isfinite(number) else json.dumps("Infinity" if number > 0 else "-Infinity")


def key_text(name: str) -> str:
    """Return a field's name as JSON has it before its value."""
    return string_text(name) + ":"


def mentions(text: Column, names: Collection[str]) -> Column:
    """Return whether JSON text may have a field of one of these names at any depth."""
    found = [text.contains(string_text(name)) for name in names]
    return functools.reduce(operator.or_, found, text.contains("\\"))


def without(fields: Column, names: Collection[str]) -> Column:
    """Return the fields but those of these names."""
    return F.map_filter(fields, lambda key, _: ~key.isin(*names))


def ready_for(text: Column, names: Collection[str]) -> Column:
    """Return whether members of these names can be spliced into an object's text as it is; never null."""
    plain = text.startswith('{"') & text.endswith("}") & ~mentions(text, names)
    return F.coalesce(plain, F.lit(False))


def spliced(text: Column, members: Sequence[Column]) -> Column:
    """Return a compact object's JSON text with members added at its end.

    Args:
        text: begins with a brace, and ends with one; has none of the members' names.
        members: text of name and value; empty where there is nothing to add.
    """
    # On bytes Spark copies; on a string it would count characters.
    open_end = F.substring(text.cast("binary"), F.lit(1), F.octet_length(text) - F.lit(1))
    added = F.concat_ws(",", *(F.when(member != "", member) for member in members))
    between = F.when((text == "{}") | (added == ""), "").otherwise(",")
    return F.concat(open_end, F.concat(between, added, F.lit("}")).cast("binary")).cast("string")
