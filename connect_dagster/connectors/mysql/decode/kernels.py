"""How kernels are compiled, and the reads that all of them share.

A kernel is a loop over the rows of a column, in plain Python that Numba compiles: it takes and fills arrays, releases
the interpreter lock and checks each index, so that bytes which are not what they claim to be raise IndexError and
are never read beyond their end. ``NUMBA_DISABLE_JIT=1`` runs the same functions as they stand, as does a Python for
which there is no Numba: the results are equal, the speed is not.

Arrays of bytes must be writable: Numba compiles a function again for arrays that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

COMPILED = find_spec("numba") is not None
"""True where kernels run as machine code."""

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function when it is called first; the machine code is kept on disk."""
    if not COMPILED:
        return function
    compiled: F = import_module("numba").njit(cache=True, nogil=True, boundscheck=True)(function)
    return compiled


@kernel
def unsigned(buffer: Bytes, at: int, width: int) -> int:
    """Return a little-endian number of up to 8 bytes; above 2^63-1 it wraps to a negative one."""
    value = np.int64(0)
    for place in range(width):
        value |= np.int64(buffer[at + place]) << np.int64(8 * place)
    return value  # type: ignore[return-value]


@kernel
def signed(buffer: Bytes, at: int, width: int) -> int:
    """Return a little-endian number in two's complement."""
    shift = np.int64(64 - 8 * width)
    return (np.int64(unsigned(buffer, at, width)) << shift) >> shift  # type: ignore[return-value]


@kernel
def big_endian(buffer: Bytes, at: int, width: int) -> int:
    """Return a number of up to 7 bytes, the highest first."""
    value = np.int64(0)
    for place in range(width):
        value = value << np.int64(8) | np.int64(buffer[at + place])
    return value  # type: ignore[return-value]


def writable(data: bytes | bytearray | memoryview) -> Bytes:
    """Return a copy of bytes as an array that kernels take."""
    return np.frombuffer(data, np.uint8).copy()
