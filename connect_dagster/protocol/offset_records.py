"""Keys and values of the offset topic's records (Java: ``OffsetStorageReader``)."""

from __future__ import annotations

import json
from typing import Any


def parse_key(key: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return connector and partition of a key, ``None`` for any other key."""
    try:
        parsed = json.loads(key)
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
        parsed = json.loads(value)
    except ValueError as error:
        raise ValueError(f"Offset {value!r} is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError(f"Offset {value!r} is not a JSON object")
    return parsed
