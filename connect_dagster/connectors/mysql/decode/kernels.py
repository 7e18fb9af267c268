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
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
OffsetMatrix = Annotated[Offsets, 2]
LongMatrix = Annotated[Longs, 2]
"""With their number of dimensions, by which kernels are compiled before they are called."""

COMPILED = find_spec("numba") is not None
"""True where kernels run as machine code."""

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function when it is called first; the machine code is kept on disk."""
    if not COMPILED:
        return function
    compiled: F = import_module("numba").njit(cache=True, nogil=True, boundscheck=True)(function)
    _KERNELS.append(compiled)
    return compiled


_KERNELS: list[Any] = []


def compile_kernels() -> int:
    """Compile the kernels that were imported, for the types of their annotations; return how many were not on disk."""
    compiled = [one for one in _KERNELS if hasattr(one, "compile")]  # none with NUMBA_DISABLE_JIT
    for one in compiled:
        one.compile(_signature(one.py_func))
    return sum(sum(one.stats.cache_misses.values()) for one in compiled)


def _signature(function: Callable[..., Any]) -> tuple[Any, ...]:
    hints = get_type_hints(function, include_extras=True)
    return tuple(_numba_type(hint) for name, hint in hints.items() if name != "return")


def _numba_type(hint: Any) -> Any:
    types = import_module("numba.core.types")
    plain = {int: types.int64, bool: types.boolean, np.uint64: types.uint64}
    if hint in plain:
        return plain[hint]
    array, dimensions = get_args(hint) if get_origin(hint) is Annotated else (hint, 1)
    (element,) = get_args(get_args(array)[1])
    numbers = {np.uint8: types.uint8, np.int32: types.int32, np.int64: types.int64, np.bool_: types.boolean}
    return types.Array(numbers[element], dimensions, "C")


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
