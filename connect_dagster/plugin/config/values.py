"""Text to value and back, as Java does it (Java: ``ConfigDef.parseType``, ``ConfigDef.convertToString``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.config.keys import Password, Type

FindClass = Callable[[str], str | None]
"""Returns the full class name of a name or alias, ``None`` when the class does not exist; raises ConnectError where it
may not be looked for."""

_JAVA_WHITESPACE = "".join(map(chr, range(0x21)))  # what String.trim takes away
_BLANKS = " \t\n\v\f\r"  # \s of Java's expressions
# Python converts no longer text.
_INTEGER = re.compile(r"[+-]?\d{1,4000}")
_DECIMAL = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_BITS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
_WRONG_TYPE = {
    Type.BOOLEAN: "Expected value to be either true or false",
    Type.STRING: "Expected value to be a string, but it was a {}",
    Type.PASSWORD: "Expected value to be a string, but it was a {}",
    Type.SHORT: "Expected value to be a 16-bit integer (short), but it was a {}",
    Type.INT: "Expected value to be a 32-bit integer, but it was a {}",
    Type.LONG: "Expected value to be a 64-bit integer (long), but it was a {}",
    Type.DOUBLE: "Expected value to be a double, but it was a {}",
    Type.LIST: "Expected a comma separated list.",
    Type.CLASS: "Expected a Class instance or class name.",
}


def parse_value(name: str, value: Any, kind: Type, find_class: FindClass | None = None) -> Any:
    """Return a value of the given type from its text; a value that has the type is returned as it is.

    Args:
        name: the key, for the error.
        value: text, a value of the type, or ``None``, which stays ``None``.
        kind: the type of the result.
        find_class: finds classes for ``Type.CLASS``; without it a class name is only trimmed.

    Raises:
        ConfigError: the text is not of that type, with Kafka's text.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _from_text(name, value, kind, find_class)
    if not _fits(value, kind):
        shown = Password(str(value)) if kind is Type.PASSWORD else value
        raise ConfigError.invalid(name, shown, _WRONG_TYPE[kind].format(type(value).__name__))
    return tuple(value) if kind is Type.LIST else float(value) if kind is Type.DOUBLE else value


def _from_text(name: str, text: str, kind: Type, find_class: FindClass | None) -> Any:
    trimmed = text.strip(_JAVA_WHITESPACE)
    match kind:
        case Type.STRING:
            return trimmed
        case Type.PASSWORD:
            return Password(trimmed)
        case Type.LIST:
            return tuple(part.strip(_BLANKS) for part in trimmed.split(",")) if trimmed else ()
        case Type.BOOLEAN:
            return _boolean(name, text, trimmed)
        case Type.CLASS:
            return _class_name(name, text, trimmed, find_class)
        case _:
            return _number(name, text, trimmed, kind)


def _boolean(name: str, text: str, trimmed: str) -> bool:
    if trimmed.lower() not in ("true", "false"):
        raise ConfigError.invalid(name, text, _WRONG_TYPE[Type.BOOLEAN])
    return trimmed.lower() == "true"


def _number(name: str, text: str, trimmed: str, kind: Type) -> int | float:
    if kind is Type.DOUBLE and _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if kind in _BITS and _INTEGER.fullmatch(trimmed) and _in_range(int(trimmed), kind):
        return int(trimmed)
    raise ConfigError.invalid(name, text, f"Not a number of type {kind.value}")


def _class_name(name: str, text: str, trimmed: str, find_class: FindClass | None) -> str:
    try:
        found = find_class(trimmed) if find_class else trimmed
    except ConnectError as error:
        raise ConfigError.invalid(name, text, str(error)) from error
    if found is None:
        raise ConfigError.invalid(name, text, f"Class {text} could not be found.")
    return found


def _fits(value: Any, kind: Type) -> bool:
    if kind is Type.BOOLEAN:
        return isinstance(value, bool)
    if kind in _BITS:
        return isinstance(value, int) and not isinstance(value, bool) and _in_range(value, kind)
    if kind is Type.DOUBLE:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is Type.LIST:
        return isinstance(value, list | tuple)
    return kind is Type.PASSWORD and isinstance(value, Password)


def _in_range(value: int, kind: Type) -> bool:
    limit = 1 << (_BITS[kind] - 1)
    return -limit <= value < limit


def to_text(value: Any, kind: Type | None) -> str | None:
    """Return a parsed value as Java shows it in ConfigInfos: lists joined by commas, passwords hidden."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, list | tuple):
        items = [to_text(item, None) or "" for item in value]
        return ",".join(items) if kind is Type.LIST else f"[{', '.join(items)}]"
    return str(value)


def java_double(value: float) -> str:
    """Return a double as ``Double.toString`` writes it: ``1.0E10`` where Python has ``10000000000.0``."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    precision = next(digits for digits in range(1, 18) if float(f"{value:.{digits}e}") == value)
    mantissa, exponent = f"{value:.{precision}e}".split("e")
    return f"{mantissa}E{int(exponent)}"
