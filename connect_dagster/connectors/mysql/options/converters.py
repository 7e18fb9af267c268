"""The option ``converters``: changes of columns' types by classes of Debezium, of which two have a counterpart here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.selection.regex_lists import RegexList
from connect_dagster.connectors.mysql.selection.zero_dates import ZERO_DATE_TYPES, zero_date_value
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import Type, parse_value, under_prefix

OPTION = "converters"
_PACKAGES = ("io.debezium.connector.binlog.converters", "io.debezium.connector.mysql.converters")


class ConverterKind(Enum):
    """Classes that are known, by their simple names."""

    TINYINT_ONE = "TinyIntOneToBooleanConverter"
    ZERO_DATE = "ZeroDateFallbackConverter"
    JDBC_SINK = "JdbcSinkDataTypesConverter"


_CHECKS: Mapping[str, Callable[[str, str], object]] = {
    "selector": RegexList.parse,
    "length.checker": lambda name, value: parse_value(name, value, Type.BOOLEAN),
    "target.types": lambda name, value: _checked_types(name, value),
    **{f"fallback.{kind.lower()}": lambda name, value: _checked_fallback(name, value) for kind in ZERO_DATE_TYPES},
}
WITHOUT_EFFECT = frozenset({ConverterKind.JDBC_SINK})
_KINDS = {f"{package}.{kind.value}": kind for kind in ConverterKind for package in _PACKAGES}


@dataclass(frozen=True, slots=True)
class ColumnConverter:
    """One converter.

    Attributes:
        settings: its options without its name.
    """

    name: str
    kind: ConverterKind
    settings: Mapping[str, str]


def _checked_types(name: str, value: str) -> None:
    for kind in (part.strip().upper() for part in value.split(",")):
        if kind and kind not in ZERO_DATE_TYPES:
            raise ConfigError.invalid(name, value, f"'{kind}' is not one of {', '.join(ZERO_DATE_TYPES)}")


def _checked_fallback(name: str, value: str) -> None:
    kind = name.rpartition(".")[2].upper()
    try:
        zero_date_value(kind, value)
    except ValueError as error:
        raise ConfigError.invalid(name, value, f"It is neither NULL nor a value of the type {kind}: {error}") from error


def column_converters(properties: Mapping[str, str]) -> tuple[ColumnConverter, ...]:
    """Return the converters of a connector that have an effect.

    Raises:
        ConfigError: a converter has no class, or one that is not known.
    """
    return tuple(one for one in _converters(properties) if one.kind not in WITHOUT_EFFECT)


def wrong_converters(properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """Yield an error for each converter without a class that is known, or with a setting that is wrong."""
    for name in _names(properties):
        try:
            for setting, value in _converter(name, properties).settings.items():
                if setting in _CHECKS:
                    _CHECKS[setting](f"{name}.{setting}", value)
        except ConfigError as error:
            yield error


def unused_converters(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each converter without effect; all classes must be known."""
    for one in _converters(properties):
        if one.kind in WITHOUT_EFFECT:
            yield f"The converter {one.name} is without effect here: {one.kind.value} is not supported"


def converter_prefixes(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the names of the converters' options begin with."""
    return tuple(f"{name}." for name in _names(properties))


def _converters(properties: Mapping[str, str]) -> Iterator[ColumnConverter]:
    return (_converter(name, properties) for name in _names(properties))


def _names(properties: Mapping[str, str]) -> Sequence[str]:
    return [name for name in map(str.strip, properties.get(OPTION, "").split(",")) if name]


def _converter(name: str, properties: Mapping[str, str]) -> ColumnConverter:
    key = f"{name}.type"
    kind = _KINDS.get(properties.get(key, "").strip())
    if kind is None:
        known = " and ".join(one.value for one in ConverterKind if one not in WITHOUT_EFFECT)
        reason = f"Classes of the JVM cannot be loaded: {known} of {_PACKAGES[0]} are supported"
        raise ConfigError.invalid(key, properties.get(key), reason)
    settings = under_prefix(properties, f"{name}.")
    return ColumnConverter(name, kind, {setting: value for setting, value in settings.items() if setting != "type"})
