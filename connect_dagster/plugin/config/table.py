"""A configuration definition as a table of keys: parsing, and checking all of it (Java: ``ConfigDef``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from connect_dagster.errors import ConfigError, java_text
from connect_dagster.plugin.config.keys import ConfigKey, ConfigValue, Type
from connect_dagster.plugin.config.validators import UniqueValues
from connect_dagster.plugin.config.values import FindClass, parse_value

log = logging.getLogger(__name__)

Properties = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """Keys in the order in which they are defined.

    Raises:
        ConfigError: a key is defined twice, or a dependent is not defined.
    """

    keys: tuple[ConfigKey, ...]

    def __post_init__(self) -> None:
        names: set[str] = set()
        for key in self.keys:
            if key.name in names:
                raise ConfigError(f"Configuration {key.name} is defined twice.", name=key.name)
            names.add(key.name)
        missing = sorted({name for key in self.keys for name in key.dependents} - names)
        if missing:
            what = "Some configurations in are referred in the dependents, but not defined"
            raise ConfigError(f"{what}: {','.join(missing)}")

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self.keys)

    def __contains__(self, name: object) -> bool:
        return any(key.name == name for key in self.keys)

    @property
    def groups(self) -> list[str]:
        """Return the groups of the form in the order in which they first appear."""
        return list(dict.fromkeys(key.group for key in self.keys if key.group is not None))

    @property
    def passwords(self) -> frozenset[str]:
        """Return the names of the keys that hold passwords."""
        return frozenset(key.name for key in self.keys if key.type is Type.PASSWORD)

    def with_keys(self, keys: Iterable[ConfigKey]) -> ConfigTable:
        """Return the table with further keys; one of the same name replaces the old one in its place."""
        rows = {key.name: key for key in self.keys}
        rows.update((key.name, key) for key in keys)
        return ConfigTable(tuple(rows.values()))

    def parse(self, props: Properties, find_class: FindClass | None = None) -> dict[str, Any]:
        """Return the typed values of all keys, by name; unknown keys are left out.

        Raises:
            ConfigError: the first key that is missing or wrong.
        """
        return {key.name: _parse(key, props, find_class) for key in self.keys}

    def validate_all(self, props: Properties, find_class: FindClass | None = None) -> list[ConfigValue]:
        """Return the checked value of each key with all its errors, in the table's order; never raises."""
        values = [_check(key, props, find_class) for key in self.keys]
        parsed = {value.name: value.value for value in values}
        for key, value in zip(self.keys, values, strict=True):
            _recommend(key, value, parsed)
        return values


def _parse(key: ConfigKey, props: Properties, find_class: FindClass | None) -> Any:
    value = _given(key, props, find_class)
    if isinstance(key.validator, UniqueValues) and value is not None:
        value = _without_duplicates(key.name, value)
    if key.validator is not None:
        key.validator(key.name, value)
    return value


def _given(key: ConfigKey, props: Properties, find_class: FindClass | None) -> Any:
    if key.name in props:
        return parse_value(key.name, props[key.name], key.type, find_class)
    if key.required:
        raise ConfigError.missing(key.name, _mistaken_for(key.name, props))
    return key.default


def _mistaken_for(name: str, props: Properties) -> str | None:
    """Return a given key that differs from this one only in case and in the separators of its words."""
    return next((given for given in props if given != name and _words(given) == _words(name)), None)


def _words(name: str) -> str:
    return name.lower().replace("_", ".").replace("-", ".")


def _without_duplicates(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    kept = tuple(dict.fromkeys(values))
    if len(kept) != len(values):
        log.warning(
            'Configuration key "%s" contains duplicate values. Duplicates will be removed. '
            "The original value is: %s, the updated value is: %s",
            name,
            java_text(values),
            java_text(kept),
        )
    return kept


def _check(key: ConfigKey, props: Properties, find_class: FindClass | None) -> ConfigValue:
    """Like ``_parse``, but the validator also sees the null left by a missing or wrong value, as in Java."""
    result = ConfigValue(key.name)
    with _errors_to(result):
        result.value = _given(key, props, find_class)
    if key.validator is not None:
        with _errors_to(result):
            key.validator(key.name, result.value)
    return result


def _recommend(key: ConfigKey, value: ConfigValue, parsed: Mapping[str, Any]) -> None:
    if key.recommender is not None:
        with _errors_to(value):
            value.recommended_values = list(key.recommender.values(key.name, parsed))
            value.visible = key.recommender.visible(key.name, parsed)


@contextmanager
def _errors_to(value: ConfigValue) -> Iterator[None]:
    """A ConfigError within becomes an error of the value."""
    try:
        yield
    except ConfigError as error:
        value.errors.append(error.message)
