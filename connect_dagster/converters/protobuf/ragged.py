"""Columns of bytes of different lengths as NumPy arrays: one array of all bytes and where each value lies in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]

_MOST_BYTES = 10


def binary(data: Bytes, lengths: Longs) -> pa.BinaryArray:
    """Return a column of values that lie one after the other."""
    return pa.Array.from_buffers(
        pa.binary(), len(lengths), [None, pa.py_buffer(_offsets(lengths)), pa.py_buffer(np.ascontiguousarray(data))]
    )


def parts(column: pa.BinaryArray) -> tuple[Bytes, Longs, Longs]:
    """Return all bytes of a column, and the place and length of each value; null is empty.

    One byte more than there is follows, so that a place after the end may be looked at.
    """
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset).astype(np.int64)
    buffer = column.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
    lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    return np.append(data, np.uint8(0)), offsets[:-1], lengths


def gathered(data: Bytes, starts: Longs, lengths: Longs) -> Bytes:
    """Return the bytes of values that lie anywhere, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: Longs = np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
    return data[places]


def varints(values: Unsigned) -> pa.BinaryArray:
    """Return the numbers as seven bits to a byte, the lowest first."""
    if not len(values) or int(values.max()) < 1 << 7:
        return binary(values.astype(np.uint8), np.ones(len(values), np.int64))
    lengths = np.ones(len(values), np.int64)
    for bits in range(7, 7 * _MOST_BYTES, 7):
        lengths += values >= np.uint64(1 << bits)
    most = int(lengths.max())
    table = ((values[:, None] >> (np.arange(most, dtype=np.uint64) * np.uint64(7))) & np.uint64(0x7F)).astype(np.uint8)
    places = np.arange(most)
    table |= np.where(places < (lengths - 1)[:, None], 0x80, 0).astype(np.uint8)
    return binary(table[places < lengths[:, None]], lengths)


def read_varints(data: Bytes, places: Longs, ends: Longs) -> tuple[Unsigned, Longs, npt.NDArray[np.bool_]]:
    """Return one number at each place, the places after them, and which of them end where they should."""
    values = np.zeros(len(places), np.uint64)
    places = places.copy()
    done = np.zeros(len(places), np.bool_)
    for shift in range(0, 7 * _MOST_BYTES, 7):
        going = ~done & (places < ends)
        if not going.any():
            break
        found = data[np.minimum(places, len(data) - 1)]
        bits = (found & np.uint8(0x7F)).astype(np.uint64) << np.uint64(shift)
        values |= np.where(going, bits, np.uint64(0))
        places += going
        done |= going & (found < 0x80)
    return values, places, done


def joined(*columns: pa.BinaryArray | pa.Scalar) -> pa.BinaryArray:
    """Return the values of columns beside each other as one; null where one is null."""
    return pc.binary_join_element_wise(*columns, pa.scalar(b"", pa.binary()))


def joined_there(*columns: pa.BinaryArray) -> pa.BinaryArray:
    """Join byte strings of rows; null counts as empty."""
    empty = pa.scalar(b"", pa.binary())
    return pc.binary_join_element_wise(*columns, empty, null_handling="replace", null_replacement=b"")


def joined_lists(values: pa.BinaryArray, counts: Longs) -> pa.BinaryArray:
    """Join values, as many for each row as ``counts`` has."""
    lists = pa.ListArray.from_arrays(pa.array(_offsets(counts)), values)
    return pc.binary_join(lists, pa.scalar(b"", pa.binary()))


def with_length(values: pa.BinaryArray) -> pa.BinaryArray:
    """Return the values with their lengths before them; null stays null."""
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    return joined(varints(lengths.astype(np.uint64)), values)


def lists(values: Any, counts: Longs, type_: pa.DataType) -> pa.Array:
    """Return a column of lists out of the values of all."""
    return pa.ListArray.from_arrays(pa.array(_offsets(counts)), values, type=type_)


def _offsets(lengths: Longs) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
