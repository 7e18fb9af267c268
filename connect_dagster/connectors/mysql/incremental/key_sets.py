"""Which keys are among others: whole columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs


def found_in(keys: pa.StructArray, others: pa.StructArray) -> Flags:
    """Return which keys are among others, whose fields are the same. A null equals a null, as in Java."""
    columns = list(zip(_leaves(keys), _leaves(others), strict=True))
    if len(columns) == 1 and pa.types.is_integer(keys.field(0).type) and not sum(one.null_count for one in columns[0]):
        mine, theirs = (np.asarray(one) for one in columns[0])
        return _flags(np.isin(mine, theirs))
    numbers = np.zeros(len(keys) + len(others), np.int64)
    for mine, theirs in columns:
        encoded = pa.concat_arrays([mine, theirs.cast(mine.type)]).dictionary_encode(null_encoding="encode")
        numbers = _joined(numbers, np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary))
    return _flags(np.isin(numbers[: len(keys)], numbers[len(keys) :]))


def _flags(found: Any) -> Flags:
    return np.asarray(found, np.bool_)


def _joined(numbers: Longs, codes: Longs, count: int) -> Longs:
    """Return a number for each pair, below the number of different pairs, so that none grows too large."""
    _, joined = np.unique(numbers * max(count, 1) + codes, return_inverse=True)
    return np.asarray(joined, np.int64)


def _leaves(values: pa.Array) -> list[pa.Array]:
    if not pa.types.is_struct(values.type):
        return [values]
    return [leaf for field in values.flatten() for leaf in _leaves(field)]
