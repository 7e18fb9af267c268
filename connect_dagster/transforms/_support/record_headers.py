"""Headers of the records in a frame, as the transforms that change them see them.

They are bytes in the wire form of the connector's header converter already, so what is added is written by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.header_converter import HeaderConverter

_TYPE = "array<struct<key: string, value: binary>>"


def with_headers(frame: Frame, added: Iterable[tuple[str, Column]]) -> Frame:
    """Return the frame with more headers after those it has: names, and values as bytes."""
    return frame.with_column("headers", F.concat(headers_of(frame), headers(added)))


def headers(added: Iterable[tuple[str, Column]]) -> Column:
    """Return headers of these names, and values as bytes."""
    new = [F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in added]
    return F.array(*new).cast(_TYPE)


def headers_of(frame: RecordFrame) -> Column:
    """Return the headers; an empty array where there are none."""
    none = F.array().cast(_TYPE)
    return F.coalesce(frame.column("headers").cast(_TYPE), none) if frame.has("headers") else none


def header_bytes(data: bytes | None) -> Column:
    """Return the bytes as a column."""
    value: Any = None if data is None else bytearray(data)
    return F.lit(value).cast("binary")


def converter_of(frame: RecordFrame) -> HeaderConverter:
    """Return the header converter of the frame.

    Raises:
        ConnectError: the frame has none, being outside a worker.
    """
    if frame.header_converter is None:
        raise ConnectError("Headers can be added only where a worker has given the frame a header converter")
    return frame.header_converter
