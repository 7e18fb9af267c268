"""One row of the tables: a setting as Java defines it, and its translation to librdkafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connect_dagster.plugin.config import ConfigKey, Importance, Type, to_text

Turn = Callable[[Any], str]
"""Makes librdkafka's text of a value that was parsed to Java's type."""

_MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Taken:
    """librdkafka has the same setting under these names."""

    names: tuple[str, ...]
    turn: Turn


@dataclass(frozen=True, slots=True)
class Together:
    """Is read together with others, or by another module: ``reader`` names it."""

    reader: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """Has no effect here. A value other than the default is named in the log, unless that is harmless.

    Attributes:
        reason: why it has no effect.
        harmless: whether its purpose is met without it.
    """

    reason: str
    harmless: bool = False


Target = Taken | Together | Ignored


@dataclass(frozen=True, slots=True)
class Row:
    """A setting of a Java client.

    Attributes:
        key: its definition, as validation returns it.
        target: what becomes of it.
    """

    key: ConfigKey
    target: Target

    @property
    def name(self) -> str:
        """Return the setting's name."""
        return self.key.name


def row(
    name: str,
    type: Type,
    default: Any,
    importance: Importance,
    target: Target,
    documentation: str,
    group: str | None = None,
) -> Row:
    """Return a row; a default of ``NO_DEFAULT`` makes the setting required."""
    return Row(ConfigKey(name, type, default, importance, documentation, group=group), target)


def _text(value: Any) -> str:
    return to_text(value, Type.LIST) or ""


def same(*names: str, turn: Turn = _text) -> Taken:
    """Return the target of a setting that librdkafka has under these names."""
    return Taken(names, turn)


def between(least: int, most: int = _MAX_INT) -> Turn:
    """Return a conversion to the nearest number that librdkafka accepts."""
    return lambda value: str(max(least, min(most, value)))


def lower(value: str) -> str:
    """Return the lower case of a value that Java accepts in any case."""
    return value.lower()
