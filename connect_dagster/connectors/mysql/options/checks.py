"""Checks of values that options of several groups have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from connect_dagster.connectors.mysql.records.topics import LONGEST_TOPIC
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigKey, Recommender, Validator

E = TypeVar("E", bound=Enum)

_TOPIC = re.compile(r"[a-zA-Z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """Check for one of some values, in any case.

    Attributes:
        values: those.
        refused: values that Debezium has, with the reason why they are refused.
    """

    values: tuple[str, ...]
    refused: Mapping[str, str]

    def __call__(self, name: str, value: Any) -> None:
        text = (value or "").lower()
        if text in self.refused:
            raise ConfigError.invalid(name, value, f"{self.refused[text]}; it can be {', '.join(self.values)}")
        if text not in (one.lower() for one in self.values):
            raise ConfigError.invalid(name, value, f"It must be one of {', '.join(self.values)}")


def choice(allowed: type[Enum] | tuple[Enum, ...], refused: Mapping[str, str] | None = None) -> Choice:
    """Return the check for a value of an enum.

    Args:
        allowed: the values.
        refused: see :class:`Choice`.
    """
    return Choice(tuple(one.value for one in allowed), refused or {})


def with_recommended_values(key: ConfigKey) -> ConfigKey:
    """Return a key that recommends the values of its :class:`Choice`, if it has one."""
    if not isinstance(key.validator, Choice):
        return key
    values = key.validator.values
    return replace(key, recommender=Recommender(lambda name, parsed: values))


def chosen(of: type[E], value: str) -> E:
    """Return the member of an enum for a value that was checked."""
    return next(one for one in of if one.value.lower() == value.lower())


def class_named(allowed: tuple[str, ...], instead: str) -> Validator:
    """Return the check for a Java class of which only some have a counterpart here.

    Args:
        allowed: full names.
        instead: what to do about others.
    """

    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise ConfigError.invalid(name, value, f"Classes of the JVM cannot be loaded: {instead}")

    return check


def topic_characters(name: str, value: str | None) -> None:
    """Refuse characters that no name of a topic has, and too many of them."""
    if value is None:
        return
    if not _TOPIC.fullmatch(value):
        reason = "Only letters and digits of ASCII, dots, hyphens and underscores are allowed"
        raise ConfigError.invalid(name, value, reason)
    if len(value) > LONGEST_TOPIC:
        raise ConfigError.invalid(name, value, f"A topic's name has at most {LONGEST_TOPIC} characters")


def topic_characters_or_empty(name: str, value: str | None) -> None:
    """Do the same for an option that may be empty."""
    if value:
        topic_characters(name, value)
