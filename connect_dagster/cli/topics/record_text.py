"""Format a record for ``connect-dagster topic read``: its value alone, or all of it as one line of JSON. Pure."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE, Message

ENCODING_SUFFIX = "_encoding"
_TIMESTAMP_KINDS = {
    TIMESTAMP_NOT_AVAILABLE: "unknown",
    TIMESTAMP_CREATE_TIME: "create",
    TIMESTAMP_LOG_APPEND_TIME: "logappend",
}


def as_line(message: Message) -> bytes:
    """Return the value's bytes; ``null`` for a tombstone, as Kafka's console consumer has it."""
    value = message.value()
    return b"null" if value is None else bytes(value)


def as_json(message: Message) -> bytes:
    """Return the record as JSON, with kcat's keys, but for headers, which are objects.

    Bytes that are not UTF-8 are in base64, and ``<field>_encoding`` beside them says so.
    """
    kind, timestamp = message.timestamp()
    record = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "tstype": _TIMESTAMP_KINDS[kind],
        "ts": None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        **bytes_field("key", message.key()),
        **bytes_field("payload", message.value()),
        # A list: names of headers may repeat, and their order counts.
        "headers": [{"key": name, **bytes_field("value", value)} for name, value in _headers(message)],
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    # The client takes a dictionary too, but always gives a list.
    return cast("list[tuple[str, bytes | None]]", message.headers() or [])


def bytes_field(name: str, data: bytes | str | None) -> dict[str, Any]:
    """Return bytes under a name: text, or base64 and a field that says so."""
    if data is None or isinstance(data, str):
        return {name: data}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name: base64.b64encode(data).decode(), name + ENCODING_SUFFIX: "base64"}
