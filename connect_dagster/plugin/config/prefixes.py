"""Properties that share the beginning of their names (Java: ``AbstractConfig.originalsWithPrefix``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

V = TypeVar("V")


def under_prefix(properties: Mapping[str, V], prefix: str) -> dict[str, V]:
    """Return the properties under a prefix such as ``producer.override.``, without it, in their order."""
    return {
        name.removeprefix(prefix): value
        for name, value in properties.items()
        if name.startswith(prefix) and name != prefix
    }
