"""The option all converters share: what a converter is used for (Java: ``ConverterConfig``)."""

from __future__ import annotations

from typing import Any

from connect_dagster.plugin.config import Importance, Type, config_key, one_of


def converter_type() -> Any:
    """Return the config key ``converter.type``; the worker sets it."""
    return config_key(
        "converter.type",
        type=Type.STRING,
        importance=Importance.LOW,
        validator=one_of("key", "value", "header"),
        doc="What the converter is used for.",
        display_name="converter.type",
    )


def type_name(*, is_key: bool) -> str:
    """Return the value of ``converter.type`` for a key or a value."""
    return "key" if is_key else "value"
