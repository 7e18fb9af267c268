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
_PLAIN_TYPES = {
    EventType.QUERY_COMPRESSED: EventType.QUERY,
    EventType.WRITE_ROWS_COMPRESSED_V1: EventType.WRITE_ROWS_V1,
    EventType.UPDATE_ROWS_COMPRESSED_V1: EventType.UPDATE_ROWS_V1,
    EventType.DELETE_ROWS_COMPRESSED_V1: EventType.DELETE_ROWS_V1,
    EventType.WRITE_ROWS_COMPRESSED: EventType.WRITE_ROWS,
    EventType.UPDATE_ROWS_COMPRESSED: EventType.UPDATE_ROWS,
    EventType.DELETE_ROWS_COMPRESSED: EventType.DELETE_ROWS,
}
_COMPRESSED = [EventType.TRANSACTION_PAYLOAD, *_PLAIN_TYPES]
_TWO_IMAGES = {EventType.UPDATE_ROWS_V1, EventType.UPDATE_ROWS}
_HEADER = 8


def expanded(buffer: Bytes, events: Events) -> tuple[Bytes, Events]:
    """Return events with what compressed ones contain in their place, and the buffer that has it all.

    The events of a TRANSACTION_PAYLOAD, which are in no file themselves, have the payload's position.

    Raises:
        MalformedBytes: an event is not what it claims to be.
    """
    compressed = np.flatnonzero(np.isin(events.type, _COMPRESSED))
    if not len(compressed):
        return buffer, events
    buffers, size, parts, after = [buffer], len(buffer), [], 0
    for index in compressed.tolist():
        kind, body = EventType(int(events.type[index])), events.body_bytes(buffer, index)
        if kind is EventType.TRANSACTION_PAYLOAD:
            content = writable(transaction_content(body))
            inner = scan_events(content).placed(int(events.position[index]), int(events.end_position[index]))
            parts += [events.between(after, index), inner.shifted(size)]
            after = index + 1
        else:
            content = writable(_uncompressed_body(body, kind))
            events.unpacked(index, body=size, length=len(content), event_type=_PLAIN_TYPES[kind])
        buffers.append(content)
        size += len(content)
    return np.concatenate(buffers), Events.joined([*parts, events.between(after, len(events))])


def transaction_content(body: bytes) -> bytes:
    """Return the events, one after the other, of a TRANSACTION_PAYLOAD.

    Raises:
        MalformedBytes: it is not compressed by zstd, or not what it claims to be.
    """
    read, fields = Reader(body), {_COMPRESSION: _NONE, _UNCOMPRESSED_SIZE: 0}
    while (field := read.length()) != _END:
        value = Reader(read.take(read.length()))
        fields[field] = value.length()
    content = read.rest()
    if fields[_COMPRESSION] == _ZSTD:
        return _unzstd(content, fields[_UNCOMPRESSED_SIZE])
    if fields[_COMPRESSION] != _NONE:
        raise read.malformed(f"a transaction compressed by algorithm {fields[_COMPRESSION]}, known is {_ZSTD} (zstd)")
    return content


def _unzstd(content: bytes, size: int) -> bytes:
    try:
        found: bytes = pa.decompress(content, decompressed_size=size, codec="zstd", asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise MalformedBytes(f"a transaction that zstd does not decompress: {error}", 0, len(content)) from error
    return found


def _uncompressed_body(body: bytes, kind: EventType) -> bytes:
    if kind is EventType.QUERY_COMPRESSED:
        return uncompressed_query(body)
    return _uncompressed_rows(body, _PLAIN_TYPES[kind])


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
