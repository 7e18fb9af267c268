"""Checks of settings that Java's own classes make: patterns."""

from __future__ import annotations

from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.expressions.java_calls import JavaRefusalError, Regex, has_jvm


def regex(name: str, value: Any) -> None:
    """Check a regular expression (Java: ``RegexValidator``); does nothing where no JVM runs, such as in a command."""
    if not has_jvm():
        return
    if value is None:
        reason = 'Cannot invoke "String.length()" because "this.pattern" is null'
        raise ConfigError.invalid(name, value, f"Invalid regex: {reason}")
    try:
        Regex(value)
    except JavaRefusalError as error:
        raise ConfigError.invalid(name, value, f"Invalid regex: {error.message}") from error


def non_empty_list(name: str, value: Any) -> None:
    """Check that a list has an item (Java: ``NonEmptyListValidator``)."""
    if not value:
        raise ConfigError.invalid(name, value, "Empty list")
