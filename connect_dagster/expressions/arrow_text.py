"""Text that Spark has made, as the bytes that Arrow has of it, and into files: no work for each line."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa


def text_bytes(texts: pa.ChunkedArray) -> Iterator[pa.Buffer]:
    """Return all texts, one after another: Arrow lays them end to end."""
    return (_characters(chunk) for chunk in texts.chunks)


def write_all(descriptor: int, data: memoryview) -> None:
    """Write all of some bytes, however many a call takes."""
    while data:
        data = data[os.write(descriptor, data) :]


def _characters(texts: pa.StringArray) -> pa.Buffer:
    _, offsets, data = texts.buffers()
    if data is None:
        return pa.py_buffer(b"")
    width = 8 if pa.types.is_large_string(texts.type) else 4
    ends = memoryview(offsets).cast("q" if width == 8 else "i")
    return data[ends[texts.offset] : ends[texts.offset + len(texts)]]
