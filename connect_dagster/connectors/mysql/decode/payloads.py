"""Compressed events: MySQL's TRANSACTION_PAYLOAD, and MariaDB's events under ``log_bin_compress``.

Their content goes into another buffer, and from there the way of all events.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import Bytes, writable
from connect_dagster.connectors.mysql.decode.scan import Events, scan_events
from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.protocol.wire import MalformedBytes

_END, _SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE = range(4)
_ZSTD, _NONE = 0, 255
_COMPRESSED_MARK, _ALGORITHM, _LENGTH_SIZE = 0x80, 0x70, 0x07
_ROW_TYPES = {
    EventType.WRITE_ROWS_COMPRESSED_V1: EventType.WRITE_ROWS_V1,
    EventType.UPDATE_ROWS_COMPRESSED_V1: EventType.UPDATE_ROWS_V1,
    EventType.DELETE_ROWS_COMPRESSED_V1: EventType.DELETE_ROWS_V1,
    EventType.WRITE_ROWS_COMPRESSED: EventType.WRITE_ROWS,
    EventType.UPDATE_ROWS_COMPRESSED: EventType.UPDATE_ROWS,
    EventType.DELETE_ROWS_COMPRESSED: EventType.DELETE_ROWS,
}
_TWO_IMAGES = {EventType.UPDATE_ROWS_V1, EventType.UPDATE_ROWS}
_HEADER = 8


def transaction_events(body: bytes, end_position: int) -> tuple[Bytes, Events]:
    """Return the events of a TRANSACTION_PAYLOAD: a buffer, and where each is in it.

    Args:
        body: of the payload's event.
        end_position: of the payload, which becomes that of all events in it, as they are in no file themselves.

    Raises:
        MalformedBytes: it is not compressed by zstd, or not what it claims to be.
    """
    read, fields = Reader(body), {_COMPRESSION: _NONE, _UNCOMPRESSED_SIZE: 0}
    while (field := read.length()) != _END:
        value = Reader(read.take(read.length()))
        fields[field] = value.length()
    content = read.rest()
    if fields[_COMPRESSION] == _ZSTD:
        content = _unzstd(content, fields[_UNCOMPRESSED_SIZE])
    elif fields[_COMPRESSION] != _NONE:
        raise read.malformed(f"a transaction compressed by algorithm {fields[_COMPRESSION]}, known is {_ZSTD} (zstd)")
    buffer = writable(content)
    return buffer, scan_events(buffer).replaced(end_position=end_position)


def _unzstd(content: bytes, size: int) -> bytes:
    try:
        found: bytes = pa.decompress(content, decompressed_size=size, codec="zstd", asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise MalformedBytes(f"a transaction that zstd does not decompress: {error}", 0, len(content)) from error
    return found


def decompress_rows(buffer: Bytes, events: Events) -> Bytes:
    """Let MariaDB's compressed row events stand for what they contain; return the buffer that has it all.

    Raises:
        MalformedBytes: an event is not what it claims to be.
    """
    compressed = np.flatnonzero(np.isin(events.type, list(_ROW_TYPES)))
    if not len(compressed):
        return buffer
    parts, end = [buffer], len(buffer)
    for index in compressed.tolist():
        kind = _ROW_TYPES[EventType(int(events.type[index]))]
        body = writable(_uncompressed_rows(events.body_bytes(buffer, index), kind))
        events.unpacked(index, body=end, length=len(body), event_type=kind)
        parts.append(body)
        end += len(body)
    return np.concatenate(parts)


def _uncompressed_rows(body: bytes, kind: EventType) -> bytes:
    read = Reader(body)
    read.take(_HEADER)
    if kind >= EventType.WRITE_ROWS:
        read.take(read.unsigned(2) - 2)
    bitmap = (read.length() + 7) // 8
    read.take(2 * bitmap if kind in _TWO_IMAGES else bitmap)
    start = read.position
    return body[:start] + uncompressed(body[start:])


def uncompressed_query(body: bytes) -> bytes:
    """Return the body of a QUERY event for that of a QUERY_COMPRESSED event."""
    read = Reader(body)
    read.take(8)
    schema, _, variables = read.unsigned(1), read.unsigned(2), read.unsigned(2)
    read.take(variables + schema + 1)
    start = read.position
    return body[:start] + uncompressed(body[start:])


def uncompressed(record: bytes) -> bytes:
    """Return what MariaDB compressed (``binlog_buf_compress``): a mark, the length in big-endian, zlib.

    Raises:
        MalformedBytes: it is something else.
    """
    read = Reader(record)
    mark = read.unsigned(1)
    if not mark & _COMPRESSED_MARK or mark & _ALGORITHM:
        raise MalformedBytes(f"a compressed event that begins with {mark:#x}", 0, len(record))
    size = read.big_endian(mark & _LENGTH_SIZE)
    try:
        content = zlib.decompress(read.rest(), bufsize=max(size, 1))
    except zlib.error as error:
        raise read.malformed(f"an event that zlib does not decompress: {error}") from error
    if len(content) != size:
        raise read.malformed(f"{len(content)} bytes where the event says {size}")
    return content
