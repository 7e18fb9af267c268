"""Offsets as Kafka Connect writes them: JSON whose keys stand in the order of a Java ``HashMap``.

Java looks an offset up by the bytes of its key, ``["<connector>",{<partition>}]``, so another order of a partition's
keys would be another offset. Java: ``OffsetStorageWriter`` with a ``JsonConverter`` without schemas. Pure.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any

from connect_dagster.errors import DataError
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.java.jackson import json_text
from connect_dagster.plugin.config.values import java_double
from connect_dagster.protocol import offset_records


def key_bytes(connector: str, partition: Mapping[str, Any]) -> bytes:
    """Return the key of an offset as Java would write it.

    Raises:
        DataError: a value of the partition is none that offsets may hold.
    """
    return f"[{json_text(connector)},{_object(partition)}]".encode()


def value_bytes(offset: Mapping[str, Any]) -> bytes:
    """Return an offset as Java would write it.

    Raises:
        DataError: a value is none that offsets may hold.
    """
    return _object(offset).encode()


def parse_value(value: bytes) -> dict[str, Any]:
    """Return the offset in a value.

    Raises:
        DataError: the value is not a JSON object.
    """
    try:
        return offset_records.parse_value(value)
    except ValueError as error:
        raise DataError(str(error)) from error


def _object(entries: Mapping[str, Any]) -> str:
    for name in entries:
        if not isinstance(name, str):
            raise DataError("Offsets may only use String keys")
    written = (f"{json_text(name)}:{_scalar(name, entries[name])}" for name in hash_map_order(list(entries)))
    return "{" + ",".join(written) + "}"


def _scalar(name: str, value: Any) -> str:
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    kind = _JAVA_TYPES.get(type(value), type(value).__name__)
    raise DataError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")


def _double(value: float) -> str:
    return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'


# Words of Kafka Connect's ``Schema.Type`` for what JSON can hold beyond that.
_JAVA_TYPES: Mapping[type, str] = {dict: "MAP", list: "ARRAY"}
_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (bool, lambda value: "true" if value else "false"),
    (int, str),
    (float, _double),
    (bytes, lambda value: f'"{base64.b64encode(value).decode()}"'),
    (str, json_text),
)
