"""Quick reading of JSON strings: without a parser, where no more than quotes and backslashes are escaped.

The guess is checked by writing it again: a text equal to what Jackson writes for the guessed value is that value's
JSON, whatever is in it. All other texts are left to the parser.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.decoding import Decoded

_TO_THE_END = 2**31 - 1
_NAME = "payload"


def quick(value: Column, beginning: str, otherwise: Decoded) -> Decoded:
    """Return the string after ``beginning`` and before a closing brace.

    Args:
        value: a binary column of objects.
        beginning: text up to the string, ending in ``"payload":``.
        otherwise: how to read records that are not so simple.
    """
    start = beginning.encode()
    inner = F.substring(value, F.lit(len(start) + 2), F.length(value) - F.lit(len(start) + 3))
    guess = _without_escapes(inner.cast("string"))
    known = start.removesuffix(f'"{_NAME}":'.encode())
    again = F.concat(F.lit(bytearray(known)), _member(guess))
    # An element of an array, not a branch: Spark evaluates the guess once only outside of branches.
    quickly = F.get(F.array(guess), F.when(value == again, F.lit(0)))
    return Decoded(F.coalesce(quickly, otherwise.value), otherwise.valid)


def is_plain(value: Column) -> Column:
    """Return whether a binary column is a JSON string that needs no parser to be found valid; never null."""
    guess = _without_escapes(F.substring(value, F.lit(2), F.length(value) - F.lit(2)).cast("string"))
    again = F.concat(F.lit(bytearray(f'"{_NAME}":'.encode())), value, F.lit(bytearray(b"}")))
    return F.coalesce(_member(guess) == again, F.lit(False))


def _without_escapes(text: Column) -> Column:
    quotes = F.replace(text, F.lit('\\"'), F.lit('"'))
    # Few texts contain a backslash, and looking for one is quicker than replacing none.
    return F.when(text.contains("\\\\"), F.replace(quotes, F.lit("\\\\"), F.lit("\\"))).otherwise(quotes)


def _member(text: Column) -> Column:
    return F.substring(F.to_json(F.struct(text.alias(_NAME))).cast("binary"), 2, _TO_THE_END)
