"""Kernels for values with a length before them: texts and bytes."""

from __future__ import annotations

from connect_dagster.connectors.mysql.decode.kernels import Bytes, Offsets, kernel, unsigned


@kernel
def measure(buffer: Bytes, offsets: Offsets, prefix: int, starts: Offsets) -> int:
    """Fill in where each value begins when they follow each other; return their bytes in total."""
    to = 0
    for row in range(offsets.shape[0]):
        starts[row] = to
        if offsets[row] >= 0:
            to += unsigned(buffer, offsets[row], prefix)
    starts[offsets.shape[0]] = to
    return to


@kernel
def gather(buffer: Bytes, offsets: Offsets, prefix: int, starts: Offsets, out: Bytes) -> bool:
    """Copy the values to where ``measure`` put them; return whether all bytes are ASCII."""
    bits = 0
    for row in range(offsets.shape[0]):
        if offsets[row] < 0:
            continue
        at = offsets[row] + prefix
        to = starts[row]
        for place in range(starts[row + 1] - to):
            byte = buffer[at + place]
            out[to + place] = byte
            bits |= byte
    return bits < 128


@kernel
def gather_padded(buffer: Bytes, offsets: Offsets, prefix: int, width: int, out: Bytes) -> None:
    """Copy values of at most ``width`` bytes, the rest of each filled with zeros (BINARY)."""
    for row in range(offsets.shape[0]):
        size = unsigned(buffer, offsets[row], prefix) if offsets[row] >= 0 else 0
        for place in range(width):
            out[row * width + place] = buffer[offsets[row] + prefix + place] if place < size else 0
