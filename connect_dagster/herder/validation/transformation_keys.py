"""Keys of the transformations and predicates that a connector names (Java: ``ConnectorConfig.enrich``).

``transforms=a,b`` brings ``transforms.a.type``, its version and, when the class is found, all keys of that class
under ``transforms.a.``; the same with ``predicates``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.herder.validation.connector_config_def import concrete_class, instantiated, version_of
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.java.maven_versions import require_version
from connect_dagster.plugin.config import (
    ConfigKey,
    ConfigTable,
    Importance,
    Recommender,
    Type,
    Validator,
    Width,
    parse_value,
    under_prefix,
)
from connect_dagster.plugin.converter import Predicate, Transform

Properties = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class _Aliased:
    """One kind of plugins that a connector names by aliases.

    Attributes:
        setting: the key with the aliases.
        group: first part of the form's groups.
        interface: Java's name of the kind.
        base: the class that they extend.
        kind: theirs in the list of plugins.
        own: keys that each of them has in addition to its own.
    """

    setting: str
    group: str
    interface: str
    base: type[Any]
    kind: Kind
    own: tuple[ConfigKey, ...] = ()


_PREDICATE = ConfigKey(
    "predicate", Type.STRING, None, documentation="Name of the predicate that decides for which records it is applied."
)
_NEGATE = ConfigKey(
    "negate", Type.BOOLEAN, False, documentation="Apply it where the predicate does not hold, instead of where it does."
)
_KINDS = (
    _Aliased("transforms", "Transforms", "Transformation", Transform, Kind.TRANSFORMATION, (_NEGATE, _PREDICATE)),
    _Aliased("predicates", "Predicates", "Predicate", Predicate, Kind.PREDICATE),
)
ALIASED = {kind.setting for kind in _KINDS}
"""Keys whose values become a part of other keys' names."""


def transformation_keys(config: Properties, plugins: Plugins) -> list[ConfigKey]:
    """Return the keys for all transformations and predicates that a configuration names."""
    return [key for kind in _KINDS for alias in _aliases(config, kind) for key in _keys(kind, alias, config, plugins)]


def _aliases(config: Properties, kind: _Aliased) -> list[str]:
    return list(dict.fromkeys(parse_value(kind.setting, config.get(kind.setting), Type.LIST) or ()))


def _keys(kind: _Aliased, alias: str, config: Properties, plugins: Plugins) -> Iterator[ConfigKey]:
    prefix, group, word = f"{kind.setting}.{alias}.", f"{kind.group}: {alias}", kind.interface.lower()
    typed, version = f"{prefix}type", f"{prefix}plugin.version"
    yield ConfigKey(
        typed,
        Type.CLASS,
        importance=Importance.HIGH,
        documentation=f"Class of the {word} {alias}.",
        validator=_type_validator(kind, prefix, config, plugins),
        group=group,
        order_in_group=0,
        width=Width.LONG,
        display_name=f"{kind.interface} type for {alias}",
        recommender=_recommended(kind, plugins),
    )
    default = version_of(plugins, config.get(typed), kind.base)
    yield ConfigKey(
        version,
        Type.STRING,
        default,
        importance=Importance.HIGH,
        documentation=f"Version of the {word} {alias}.",
        validator=_version_validator(config.get(typed), plugins),
        group=group,
        order_in_group=1,
        width=Width.LONG,
        display_name=f"{kind.interface} version for {alias}",
        recommender=Recommender(lambda name, parsed: [] if default is None else [default]),
    )
    yield from _embedded(kind, _found(kind, config.get(typed), plugins), prefix, group)


def _found(kind: _Aliased, name: str | None, plugins: Plugins) -> type[Any] | None:
    found = plugins.class_named(name) if name else None
    return found if found is not None and issubclass(found, kind.base) else None


def _embedded(kind: _Aliased, found: type[Any] | None, prefix: str, group: str) -> Iterator[ConfigKey]:
    """Keys of the plugin's own under the prefix; those that every plugin of the kind has hide its own."""
    if found is None or not hasattr(found, "config_def"):
        return
    hidden = {key.name for key in kind.own}
    table = ConfigTable((*(key for key in found.config_def.table() if key.name not in hidden), *kind.own))
    for order, key in enumerate(_sorted(table), start=2):
        yield replace(
            key,
            name=prefix + key.name,
            validator=_without(prefix, key.validator),
            group=group if key.group is None else f"{group}: {key.group}",
            order_in_group=order,
            dependents=tuple(prefix + name for name in key.dependents),
            recommender=_local(prefix, key.recommender),
        )


def _sorted(table: ConfigTable) -> list[ConfigKey]:
    """Java's order for documentation: group, place in it, required first, importance, name."""
    groups, importance = [None, *table.groups], list(Importance)
    return sorted(
        table,
        key=lambda key: (
            groups.index(key.group),
            key.order_in_group,
            not key.required,
            importance.index(key.importance),
            key.name,
        ),
    )


def _without(prefix: str, validator: Validator | None) -> Validator | None:
    """The validator sees the plugin's own name of the key."""
    if validator is None:
        return None
    return lambda name, value: validator(name.removeprefix(prefix), value)


def _local(prefix: str, recommender: Recommender | None) -> Recommender | None:
    """The recommender sees the plugin's own names and values."""
    if recommender is None:
        return None

    return Recommender(
        lambda name, parsed: recommender.values(name.removeprefix(prefix), under_prefix(parsed, prefix)),
        lambda name, parsed: recommender.visible(name.removeprefix(prefix), under_prefix(parsed, prefix)),
    )


def _type_validator(kind: _Aliased, prefix: str, config: Properties, plugins: Plugins) -> Validator:
    def check(name: str, value: Any) -> None:
        negate, predicate = f"{prefix}negate", f"{prefix}predicate"
        if kind.own and negate in config and predicate not in config:
            raise ConfigError(
                f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be "
                "negated."
            )
        if value is not None:
            instantiated(concrete_class(plugins, value, kind.base, kind.interface), name, value)

    return check


def _version_validator(plugin: str | None, plugins: Plugins) -> Validator:
    def check(name: str, value: Any) -> None:
        found = plugins.class_named(plugin, value) if plugin else None
        if found is not None and value is not None:
            require_version(class_name(found), getattr(found, "version", "undefined"), value)

    return check


def _recommended(kind: _Aliased, plugins: Plugins) -> Recommender:
    names = [one.class_name for one in plugins.all((kind.kind,))]
    return Recommender(lambda name, parsed: names)
