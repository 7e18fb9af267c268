"""Kinds of plugins, and the names that one goes by.

A plugin is known by Java's class name where it takes over Java's configurations, and by the aliases that Kafka Connect
gives it (Java: ``PluginUtils.computeAliases``): the simple name, and that name without its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.config_provider import ConfigProvider
from connect_dagster.plugin.connector import Connector, SinkConnector, SourceConnector
from connect_dagster.plugin.converter import Converter, Predicate, Transform
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.rest_extension import RestExtension

Plugin = Connector | Converter | HeaderConverter | Transform | Predicate | ConfigProvider | RestExtension
P = TypeVar("P", bound=Plugin, covariant=True)


class Kind(Enum):
    """Kinds of plugins; the value is Java's word for them in ``GET /connector-plugins``."""

    SINK = "sink"
    SOURCE = "source"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "configprovider"
    REST_EXTENSION = "rest_extension"


LISTED = (
    Kind.SINK,
    Kind.SOURCE,
    Kind.CONVERTER,
    Kind.HEADER_CONVERTER,
    Kind.TRANSFORMATION,
    Kind.PREDICATE,
)
"""Kinds that ``GET /connector-plugins`` lists, in this order: all but config providers and REST extensions."""


BASES: dict[Kind, type[Any]] = {
    Kind.SINK: SinkConnector,
    Kind.SOURCE: SourceConnector,
    Kind.CONVERTER: Converter,
    Kind.HEADER_CONVERTER: HeaderConverter,
    Kind.TRANSFORMATION: Transform,
    Kind.PREDICATE: Predicate,
    Kind.CONFIG_PROVIDER: ConfigProvider,
    Kind.REST_EXTENSION: RestExtension,
}
"""Base classes of the kinds."""

_SUFFIXES = {
    Kind.SINK: "Connector",
    Kind.SOURCE: "Connector",
    Kind.CONVERTER: "Converter",
    Kind.HEADER_CONVERTER: "HeaderConverter",
    Kind.TRANSFORMATION: "",
    Kind.PREDICATE: "",
    Kind.CONFIG_PROVIDER: "ConfigProvider",
    Kind.REST_EXTENSION: "RestExtension",
}


@dataclass(frozen=True, slots=True)
class PluginDescription(Generic[P]):
    """One plugin with the names it goes by.

    Attributes:
        declared_as: name of its entry point, which is an alias too; ``None`` for one without.
    """

    plugin: type[P]
    kind: Kind
    class_name: str
    version: str
    location: str
    declared_as: str | None = None

    @property
    def aliases(self) -> tuple[str, ...]:
        """Simple name, that without the word for its kind, names of like classes, and the name of its entry point."""
        simple = self.class_name.rpartition(".")[2]
        others: tuple[str, ...] = getattr(self.plugin, "other_java_classes", ())
        names = (simple, simple.removesuffix(_SUFFIXES[self.kind]) or simple, *others)
        declared = self.declared_as
        return names if declared is None or declared in (self.class_name, *names) else (*names, declared)

    def __str__(self) -> str:
        return (
            f"PluginDesc{{klass=class {self.class_name}, name='{self.class_name}', version='{self.version}', "
            f"encodedVersion={self.version}, type={self.kind.value}, typeName='{self.kind.value}', "
            f"location='{self.location}'}}"
        )


def described(plugin: Any, location: str, declared_as: str | None = None) -> list[PluginDescription[Any]]:
    """Return one description for each kind of plugin that a class is."""
    kinds = [kind for kind, base in BASES.items() if issubclass(plugin, base)]
    return [
        PluginDescription(plugin, kind, class_name(plugin), plugin.version, location, declared_as) for kind in kinds
    ]
