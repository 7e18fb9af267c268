"""JSON texts of values without a schema: by columns where dicts are alike, in two thirds of the time, else one by one.

Both ways give the same texts, those of Python's ``json`` without spaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from json import JSONEncoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # not in its stubs
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.errors import DataError

_ENCODER = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# One for all values, where json.dumps makes two for each.
_JSON_PARTS = c_make_encoder(None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False)
# Below, the columns cost more than they save.
_MANY = 20


def json_texts(values: Sequence[Any]) -> pa.Array:
    """Return the JSON text of each value; null for ``None``. Raises DataError: a value is not what JSON knows."""
    if len(values) >= _MANY:
        try:
            if (found := _of_alike(values)) is not None:
                return found
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            pass  # one by one, as the error is to name the value
    return pa.array([None if value is None else _json(value) for value in values], pa.string())


def _json(value: Any) -> str:
    try:
        return "".join(_JSON_PARTS(value, 0))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"A value without schema must be what JSON knows: {error}: {value!r}") from error


def _of_alike(values: Sequence[Any]) -> pa.Array | None:
    """Return the texts of dicts with the same names in the same order; ``None`` where they are not that simple."""
    if set(map(type, values)) != {dict}:
        return None
    names = tuple(values[0])
    if not names or set(map(type, names)) != {str} or list(map(tuple, values)).count(names) < len(values):
        return None
    parts: list[Any] = []
    separator = "{"
    for name, cells in zip(names, zip(*map(dict.values, values), strict=True), strict=True):
        kinds = set(map(type, cells))
        is_optional = type(None) in kinds
        kinds.discard(type(None))
        make = _TEXTS.get(next(iter(kinds))) if len(kinds) == 1 else None
        if make is None:
            return None
        before, texts, after = make(cells)
        if is_optional:
            texts, before, after = pc.fill_null(pc.binary_join_element_wise(before, texts, after, ""), "null"), "", ""
        parts += [f"{separator}{encode_basestring(name)}:{before}", texts]
        separator = f"{after},"
    return pc.binary_join_element_wise(*parts, f"{separator[:-1]}}}", "")


_Texts = tuple[str, pa.Array, str]
"""Texts, null for ``None``, and what stands before and behind each of them."""


def _strings(cells: Sequence[str | None]) -> _Texts:
    text = "".join(filter(None, cells))
    if text.isprintable() and '"' not in text and "\\" not in text:  # JSON escapes none of it
        return '"', pa.array(cells, pa.string()), '"'
    return "", pa.array([None if one is None else encode_basestring(one) for one in cells], pa.string()), ""


def _integers(cells: Sequence[int | None]) -> _Texts:
    return "", pa.array(cells, pa.int64()).cast(pa.string()), ""


def _booleans(cells: Sequence[bool | None]) -> _Texts:
    return "", pa.array(cells, pa.bool_()).cast(pa.string()), ""


def _floats(cells: Sequence[float | None]) -> _Texts:
    if not all(one is None or math.isfinite(one) for one in cells):
        raise ValueError("JSON knows no such number")
    return "", pa.array([None if one is None else float.__repr__(one) for one in cells], pa.string()), ""


_TEXTS: Mapping[type, Callable[[Sequence[Any]], _Texts]] = {
    str: _strings,
    int: _integers,
    bool: _booleans,
    float: _floats,
}
