"""Keys and values of the offset topic's records (Java: ``OffsetStorageReader``)."""

from __future__ import annotations

from typing import Any

from connect_dagster.java.jackson import from_json


def parse_key(key: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return connector and partition of a key, ``None`` for any other key."""
    try:
        parsed = from_json(key)
    except ValueError:
        return None
    match parsed:
        case [str(connector), dict(partition)]:
            return connector, partition
    return None


def parse_value(value: bytes) -> dict[str, Any]:
    """Return the offset in a value.

    Raises:
        ValueError: the value is not a JSON object.
    """
    try:
        parsed = from_json(value)
    except ValueError as error:
        raise ValueError(f"Offset {value!r} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError(f"Offset {value!r} is not a JSON object")
    return parsed
