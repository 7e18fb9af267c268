"""Offsets as Kafka Connect writes them: JSON whose keys stand in the order of a Java ``HashMap``.

Java looks an offset up by the bytes of its key, ``["<connector>",{<partition>}]``, so another order of a partition's
keys would be another offset. Java: ``OffsetStorageWriter`` with a ``JsonConverter`` without schemas. Pure.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from connect_dagster.plugin.config.values import java_double
from connect_dagster.plugin.errors import DataError
from connect_dagster.plugin.java_hash import hash_map_order

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\U00010000-\U0010ffff]')


def key_bytes(connector: str, partition: Mapping[str, Any]) -> bytes:
    """Key of an offset as Java would write it.

    Raises:
        DataError: a value of the partition is none that offsets may hold.
    """
    return f"[{_string(connector)},{_object(partition)}]".encode()


def value_bytes(offset: Mapping[str, Any]) -> bytes:
    """An offset as Java would write it.

    Raises:
        DataError: a value is none that offsets may hold.
    """
    return _object(offset).encode()


def parse_key(key: bytes) -> tuple[str, dict[str, Any]] | None:
    """Connector and partition of a key, ``None`` when it is no such key."""
    try:
        parsed = json.loads(key)
    except ValueError:
        return None
    match parsed:
        case [str(connector), dict(partition)]:
            return connector, partition
    return None


def parse_value(value: bytes) -> dict[str, Any]:
    """The offset in a value.

    Raises:
        DataError: the value is no JSON object.
    """
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise DataError(f"Offset {value!r} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise DataError(f"Offset {value!r} is not a JSON object")
    return parsed


def _object(entries: Mapping[str, Any]) -> str:
    for name in entries:
        if not isinstance(name, str):
            raise DataError("Offsets may only use String keys")
    written = (f"{_string(name)}:{_scalar(name, entries[name])}" for name in hash_map_order(list(entries)))
    return "{" + ",".join(written) + "}"


def _scalar(name: str, value: Any) -> str:
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    kind = type(value).__name__
    raise DataError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")


def _double(value: float) -> str:
    return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'


def _string(text: str) -> str:
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    """As Jackson escapes: also what is outside the basic plane, in two halves, with digits in upper case."""
    units = found[0].encode("utf-16-be").hex().upper()
    return _ESCAPES.get(found[0]) or "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (bool, lambda value: "true" if value else "false"),
    (int, str),
    (float, _double),
    (bytes, lambda value: f'"{base64.b64encode(value).decode()}"'),
    (str, _string),
)
