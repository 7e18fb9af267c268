"""Checks of parsed values, raising ConfigError with Kafka's texts (Java: ``ConfigDef.Validator``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.plugin.config.keys import Validator


def non_empty_string(name: str, value: Any) -> None:
    """Refuse an empty string."""
    if value == "":
        raise ConfigError.invalid(name, value, "String must be non-empty")


def no_control_characters(name: str, value: Any) -> None:
    """Refuse an empty string and ISO control characters (used for connector names)."""
    if value is None:
        return
    if value == "":
        raise ConfigError.invalid(name, value, "String may not be empty")
    found = [str(ord(char)) for char in value if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
    if found:
        listed = ", ".join(found)
        reason = f"String may not contain control sequences but had the following ASCII chars: {listed}"
        raise ConfigError.invalid(name, value, reason)


def non_null(name: str, value: Any) -> None:
    """Refuse null."""
    if value is None:
        raise ConfigError.invalid(name, value, "entry must be non null")


def at_least(minimum: float) -> Validator:
    """Return the check for a number not below ``minimum``."""
    return between(minimum, None)


def between(minimum: float | None, maximum: float | None) -> Validator:
    """Return the check for a number within both limits."""

    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.invalid(name, value, "Value must be non-null")
        if minimum is not None and value < minimum:
            raise ConfigError.invalid(name, value, f"Value must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise ConfigError.invalid(name, value, f"Value must be no more than {maximum}")

    return check


def one_of(*allowed: str) -> Validator:
    """Return the check for one of these strings."""

    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise ConfigError.invalid(name, value, f"String must be one of: {', '.join(allowed)}")

    return check


def one_of_ignoring_case(*allowed: str) -> Validator:
    """Return the check for one of these strings in any case."""
    upper = hash_map_order(word.upper() for word in allowed)

    def check(name: str, value: Any) -> None:
        if value is None or value.upper() not in upper:
            reason = f"String must be one of (case insensitive): {', '.join(upper)}"
            raise ConfigError.invalid(name, value, reason)

    return check


@dataclass(frozen=True, slots=True)
class UniqueValues:
    """Check for a list of non-empty strings without duplicates (Java: ``ConfigDef.ValidList``).

    Parsing drops duplicates with a warning; validation reports them as an error.

    Attributes:
        empty: whether the list may be empty.
        null: whether there may be no list.
        allowed: the strings that it may hold; without them, any.
    """

    empty: bool = True
    null: bool = False
    allowed: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> None:
        """Check a value."""
        for wrong, what in self._faults(value):
            if wrong:
                raise ConfigError(f"Configuration '{name}' {what}", name=name, value=value)
        for one in value or ():
            if self.allowed:
                one_of(*self.allowed)(name, one)

    def _faults(self, value: Any) -> Iterator[tuple[bool, str]]:
        if value is None:
            yield not self.null, "values must not be null."
            return
        allowed = f"[{', '.join(self.allowed)}]" if self.allowed else "any non-empty value"
        yield not self.empty and not value, f"must not be empty. Valid values include: {allowed}"
        yield len(set(value)) != len(value), "values must not be duplicated."
        yield "" in value, "values must not be empty."


def all_of(*validators: Validator) -> Validator:
    """Return a check that runs all of these checks, in their order."""

    def check(name: str, value: Any) -> None:
        for validator in validators:
            validator(name, value)

    return check
