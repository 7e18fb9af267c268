"""Finds plugins: the bundled ones, those on ``plugin.path``, and any importable class; and the names they go by.

A plugin is known by Java's class name where it takes over Java's configurations, and by the aliases that Kafka Connect
gives it (Java: ``PluginUtils.computeAliases``): the simple name, and that name without its kind.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from connect_dagster.plugin.config_provider import ConfigProvider
from connect_dagster.plugin.connector import Connector, SinkConnector, SourceConnector
from connect_dagster.plugin.converter import Converter, Predicate, Transform
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.worker.bundled_plugins import BUNDLED

log = logging.getLogger(__name__)

Plugin = Connector | Converter | HeaderConverter | Transform | Predicate | ConfigProvider
P = TypeVar("P", bound=Plugin, covariant=True)

_API = "connect_dagster.plugin"


class Kind(Enum):
    """Kinds of plugins; the value is Java's word for them in ``GET /connector-plugins``."""

    SINK = "sink"
    SOURCE = "source"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONFIG_PROVIDER = "configprovider"


LISTED = (
    Kind.SINK,
    Kind.SOURCE,
    Kind.CONVERTER,
    Kind.HEADER_CONVERTER,
    Kind.TRANSFORMATION,
    Kind.PREDICATE,
)
"""What ``GET /connector-plugins`` lists, in this order: all but config providers."""


_BASES: dict[Kind, type[Any]] = {
    Kind.SINK: SinkConnector,
    Kind.SOURCE: SourceConnector,
    Kind.CONVERTER: Converter,
    Kind.HEADER_CONVERTER: HeaderConverter,
    Kind.TRANSFORMATION: Transform,
    Kind.PREDICATE: Predicate,
    Kind.CONFIG_PROVIDER: ConfigProvider,
}
_SUFFIXES = {
    Kind.SINK: "Connector",
    Kind.SOURCE: "Connector",
    Kind.CONVERTER: "Converter",
    Kind.HEADER_CONVERTER: "HeaderConverter",
    Kind.TRANSFORMATION: "",
    Kind.PREDICATE: "",
    Kind.CONFIG_PROVIDER: "ConfigProvider",
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
        path: folders of ``plugin.path``; each holds modules and packages. Those that do not use the plugin API are
            not imported, so that any folder may be named.
    """

    def __init__(self, path: Sequence[str] = ()) -> None:
        self._broken: dict[str, str] = {}
        found = [one for plugin in BUNDLED for one in _described(plugin, "classpath")]
        for folder in path:
            found.extend(self._on_path(Path(folder.strip())))
        self._all = sorted(found, key=lambda one: (list(Kind).index(one.kind), one.class_name))

    def all(self, kinds: Iterable[Kind] = LISTED) -> list[PluginDescription[Any]]:
        """Plugins of these kinds in the kinds' order, each by class name."""
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

    def header_converter(self, name: str) -> PluginDescription[HeaderConverter]:
        """A header converter by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.HEADER_CONVERTER,), "HeaderConverter")

    def transformation(self, name: str) -> PluginDescription[Transform]:
        """A transformation by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.TRANSFORMATION,), "Transformation")

    def predicate(self, name: str) -> PluginDescription[Predicate]:
        """A predicate by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.PREDICATE,), "Predicate")

    def config_provider(self, name: str) -> PluginDescription[ConfigProvider]:
        """A config provider by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.CONFIG_PROVIDER,), "ConfigProvider")

    def class_named(self, name: str) -> type[Any] | None:
        """A plugin of any kind by class name or alias, else the importable class of that name; ``None`` for none."""
        for matches in (lambda one: one.class_name == name, lambda one: name in one.aliases):
            for one in filter(matches, self._all):
                return one.plugin
        found = self._attribute(name)
        return found if inspect.isclass(found) else None

    def find_class(self, name: str) -> str | None:
        """Full name of a class by name or alias, for configuration keys that hold one (``FindClass``)."""
        found = self.class_named(name)
        return None if found is None else class_name(found)

    def _find(self, name: str, kinds: Sequence[Kind], what: str) -> PluginDescription[Any]:
        known = self.all(kinds)
        for matches in (lambda one: one.class_name == name, lambda one: name in one.aliases):
            fitting = [one for one in known if matches(one)]
            if len(fitting) == 1:
                return _usable(fitting[0])
            if fitting:
                raise ConnectError(
                    f"More than one {what.lower()} matches alias {name}. "
                    "Please use full package and class name instead. "
                    f"Classes found: {', '.join(map(str, fitting))}"
                )
        return _usable(self._importable(name, kinds) or self._unknown(name, known, what))

    def _importable(self, name: str, kinds: Sequence[Kind]) -> PluginDescription[Any] | None:
        plugin = self._attribute(name)
        found = _described(plugin, "classpath") if inspect.isclass(plugin) and not inspect.isabstract(plugin) else []
        return next((one for one in found if one.kind in kinds), None)

    def _attribute(self, name: str) -> Any:
        module, _, attribute = name.rpartition(".")
        if not module or module.split(".")[0] in self._broken:
            return None
        try:
            return getattr(importlib.import_module(module), attribute, None)
        except (Exception, SystemExit) as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is None or not f"{module}.".startswith(f"{missing}."):
                self._broken[module] = _why(error)
            return None

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
        # What plugins import from each other; they themselves are loaded by their place, whatever else has their name.
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        for entry in sorted(folder.iterdir()):
            if _declares_plugins(entry):
                yield from self._in_module(entry)

    def _in_module(self, entry: Path) -> Iterator[PluginDescription[Any]]:
        try:
            module = _load(entry)
        except (Exception, SystemExit) as error:
            log.error("Could not import plugin module %s: %s", entry, _why(error))
            self._broken[entry.stem] = _why(error)
            return
        for plugin in _plugins_of(module):
            log.info("Added plugin '%s' from %s", plugin.__qualname__, entry)
            yield from _described(plugin, str(entry))


def class_name(found: type[Any]) -> str:
    """The name that a class goes by: Java's where it takes over Java's configurations."""
    return getattr(found, "java_class", None) or f"{found.__module__}.{found.__qualname__}"


def _declares_plugins(entry: Path) -> bool:
    """Whether a module or package uses the plugin API, by its text: what does not is never imported, only looked at."""
    if entry.suffix == ".py":
        return entry.is_file() and _uses_plugin_api(entry)
    return (entry / "__init__.py").is_file() and any(map(_uses_plugin_api, entry.rglob("*.py")))


def _uses_plugin_api(file: Path) -> bool:
    try:
        text = file.read_bytes()
    except OSError:
        return False
    if _API.encode() not in text:
        return False
    try:
        nodes = ast.walk(ast.parse(text))
    except (SyntaxError, ValueError):
        return True  # importing it tells what is wrong
    imported = chain.from_iterable(_imported(node) for node in nodes)
    return any(name == _API or name.startswith(f"{_API}.") for name in imported)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _load(entry: Path) -> ModuleType:
    """Import a module or package from this very place.

    Raises:
        ImportError: another module of that name is loaded already.
        Exception: whatever the module raises.
    """
    name, file = entry.stem, entry if entry.suffix else entry / "__init__.py"
    loaded = sys.modules.get(name)
    if loaded is not None:
        if loaded.__file__ is not None and Path(loaded.__file__).resolve() == file.resolve():
            return loaded
        raise ImportError(f"another module named {name} is loaded already: {loaded.__file__ or 'a part of Python'}")
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _why(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _usable(found: PluginDescription[Any]) -> PluginDescription[Any]:
    if not hasattr(found.plugin, "config_def"):
        raise ConnectError(f"Plugin {found.class_name} has no config_def: the ConfigDef class of its configuration")
    return found


def _plugins_of(module: ModuleType) -> Iterator[type[Any]]:
    for _, member in inspect.getmembers(module, inspect.isclass):
        own = member.__module__ == module.__name__ or member.__module__.startswith(f"{module.__name__}.")
        if own and any(_is_plugin(member, base) for base in _BASES.values()):
            yield member


def _is_plugin(candidate: Any, base: type[Any]) -> bool:
    return inspect.isclass(candidate) and issubclass(candidate, base) and not inspect.isabstract(candidate)


def _described(plugin: Any, location: str) -> list[PluginDescription[Any]]:
    """One description for each kind of plugin that a class is."""
    kinds = [kind for kind, base in _BASES.items() if issubclass(plugin, base)]
    return [PluginDescription(plugin, kind, class_name(plugin), plugin.version, location) for kind in kinds]
