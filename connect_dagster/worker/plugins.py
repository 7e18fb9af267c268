"""Finds plugins: the bundled ones, those on ``plugin.path``, and any importable class; and the names they go by.

A plugin is known by Java's class name where it takes over Java's configurations, and by the aliases that Kafka Connect
gives it (Java: ``PluginUtils.computeAliases``): the simple name, and that name without its kind.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from connect_dagster.connectors.file.sink import FileStreamSinkConnector
from connect_dagster.connectors.file.source import FileStreamSourceConnector
from connect_dagster.converters.byte_array_converter import ByteArrayConverter
from connect_dagster.converters.json_converter import JsonConverter
from connect_dagster.converters.string_converter import StringConverter
from connect_dagster.plugin.connector import Connector, SinkConnector, SourceConnector
from connect_dagster.plugin.converter import Converter, Transform
from connect_dagster.plugin.errors import ConnectError

log = logging.getLogger(__name__)

Plugin = Connector | Converter | Transform
P = TypeVar("P", bound=Plugin, covariant=True)

_BUNDLED: tuple[type[Plugin], ...] = (
    FileStreamSinkConnector,
    FileStreamSourceConnector,
    ByteArrayConverter,
    JsonConverter,
    StringConverter,
)


class Kind(Enum):
    """Kinds of plugins; the value is Java's word for them in ``GET /connector-plugins``."""

    SINK = "sink"
    SOURCE = "source"
    CONVERTER = "converter"
    TRANSFORMATION = "transformation"


_BASES: dict[Kind, type[Any]] = {
    Kind.SINK: SinkConnector,
    Kind.SOURCE: SourceConnector,
    Kind.CONVERTER: Converter,
    Kind.TRANSFORMATION: Transform,
}
_SUFFIXES = {
    Kind.SINK: "Connector",
    Kind.SOURCE: "Connector",
    Kind.CONVERTER: "Converter",
    Kind.TRANSFORMATION: "",
}


@dataclass(frozen=True, slots=True)
class PluginDescription(Generic[P]):
    """One plugin with the names it goes by."""

    plugin: type[P]
    kind: Kind
    class_name: str
    version: str
    location: str

    @property
    def aliases(self) -> tuple[str, str]:
        """Simple name, and that without the word for its kind."""
        simple = self.class_name.rpartition(".")[2]
        return simple, simple.removesuffix(_SUFFIXES[self.kind]) or simple

    def __str__(self) -> str:
        return (
            f"PluginDesc{{klass=class {self.class_name}, name='{self.class_name}', version='{self.version}', "
            f"encodedVersion={self.version}, type={self.kind.value}, typeName='{self.kind.value}', "
            f"location='{self.location}'}}"
        )


class Plugins:
    """All plugins of a worker.

    Args:
        path: folders of ``plugin.path``; each holds modules and packages. Folders without any, such as those of
            Java's plugins, are passed over.
    """

    def __init__(self, path: Sequence[str] = ()) -> None:
        self._broken: dict[str, str] = {}
        found = [_described(plugin, "classpath") for plugin in _BUNDLED]
        for folder in path:
            found.extend(self._on_path(Path(folder.strip())))
        self._all = sorted(found, key=lambda one: (list(Kind).index(one.kind), one.class_name))

    def all(self, kinds: Iterable[Kind] = tuple(Kind)) -> list[PluginDescription[Any]]:
        """Plugins of these kinds: sinks, sources, converters, transformations, each by class name."""
        wanted = set(kinds)
        return [one for one in self._all if one.kind in wanted]

    def connector(self, name: str) -> PluginDescription[Connector]:
        """A connector by class name or alias.

        Raises:
            ConnectError: there is none, or its module on ``plugin.path`` could not be imported.
        """
        return self._find(name, (Kind.SINK, Kind.SOURCE), "Connector")

    def converter(self, name: str) -> PluginDescription[Converter]:
        """A converter by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.CONVERTER,), "Converter")

    def transformation(self, name: str) -> PluginDescription[Transform]:
        """A transformation by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.TRANSFORMATION,), "Transformation")

    def _find(self, name: str, kinds: Sequence[Kind], what: str) -> PluginDescription[Any]:
        known = self.all(kinds)
        for matches in (lambda one: one.class_name == name, lambda one: name in one.aliases):
            fitting = [one for one in known if matches(one)]
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                raise ConnectError(
                    f"More than one {what.lower()} matches alias {name}. "
                    "Please use full package and class name instead. "
                    f"Classes found: {', '.join(map(str, fitting))}"
                )
        return self._importable(name, kinds) or self._unknown(name, known, what)

    def _importable(self, name: str, kinds: Sequence[Kind]) -> PluginDescription[Any] | None:
        module, _, attribute = name.rpartition(".")
        if not module or module in self._broken or not _exists(module):
            return None
        try:
            plugin = getattr(importlib.import_module(module), attribute, None)
        except Exception as error:
            self._broken[module] = f"{type(error).__name__}: {error}"
            return None
        return _described(plugin, "classpath") if any(_is_plugin(plugin, _BASES[kind]) for kind in kinds) else None

    def _unknown(self, name: str, known: Sequence[PluginDescription[Any]], what: str) -> PluginDescription[Any]:
        broken = [(module, why) for module, why in self._broken.items() if name.split(".")[0] == module.split(".")[0]]
        if broken:
            module, why = broken[0]
            raise ConnectError(f"Failed to load {what.lower()} {name}: module {module} cannot be imported: {why}")
        hint = "".join(
            f" Module {module} on plugin.path cannot be imported: {why}." for module, why in self._broken.items()
        )
        raise ConnectError(
            f"Failed to find any class that implements {what} and which name matches {name}, "
            f"available {what.lower()}s are: {', '.join(map(str, known))}" + (f".{hint}" if hint else "")
        )

    def _on_path(self, folder: Path) -> Iterator[PluginDescription[Any]]:
        if not folder.is_dir():
            log.error("Could not get listing for plugin path: %s. Ignoring.", folder)
            return
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        for entry in sorted(folder.iterdir()):
            if entry.suffix == ".py" or (entry / "__init__.py").is_file():
                yield from self._in_module(entry)

    def _in_module(self, entry: Path) -> Iterator[PluginDescription[Any]]:
        try:
            module = importlib.import_module(entry.stem)
        except Exception as error:
            log.error("Could not import plugin module %s: %s: %s", entry, type(error).__name__, error)
            self._broken[entry.stem] = f"{type(error).__name__}: {error}"
            return
        for plugin in _plugins_of(module):
            log.info("Added plugin '%s' from %s", plugin.__qualname__, entry)
            yield _described(plugin, str(entry))


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _plugins_of(module: ModuleType) -> Iterator[type[Any]]:
    for _, member in inspect.getmembers(module, inspect.isclass):
        own = member.__module__ == module.__name__ or member.__module__.startswith(f"{module.__name__}.")
        if own and any(_is_plugin(member, base) for base in _BASES.values()):
            yield member


def _is_plugin(candidate: Any, base: type[Any]) -> bool:
    return inspect.isclass(candidate) and issubclass(candidate, base) and not inspect.isabstract(candidate)


def _described(plugin: Any, location: str) -> PluginDescription[Any]:
    kind = next(kind for kind, base in _BASES.items() if issubclass(plugin, base))
    name = plugin.java_class or f"{plugin.__module__}.{plugin.__qualname__}"
    return PluginDescription(plugin, kind, name, plugin.version, location)
