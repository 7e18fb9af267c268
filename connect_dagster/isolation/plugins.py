"""Finds plugins: the bundled ones, those that distributions declare, those on ``plugin.path``, and by their class names
those in the packages of such plugins or of ``plugin.packages``. No other module is imported, whatever a client names.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation import plugin_source
from connect_dagster.isolation.declarations import INSTALLED, Declared, installed
from connect_dagster.isolation.descriptions import BASES, LISTED, Kind, PluginDescription, described
from connect_dagster.isolation.plugin_source import PluginSource, class_name, plain_names
from connect_dagster.isolation.scan import JavaArchive, scan
from connect_dagster.java.maven_versions import fitting_version
from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.plugin.config_provider import ConfigProvider
from connect_dagster.plugin.connector import Connector
from connect_dagster.plugin.converter import Converter, Predicate, Transform
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.rest_extension import RestExtension

__all__ = ["LISTED", "Kind", "PluginDescription", "Plugins"]

log = logging.getLogger(__name__)

PATH = "plugin.path"
PACKAGES = "plugin.packages"

_NO_VERSION = "undefined"
_OURS = "connect_dagster"
# Of this distribution, beside the plugins that it declares: what authors test theirs with.
_TESTING = "connect_dagster.testing"
_PROGRAM = "__main__"


class Plugins:
    """All plugins of a worker.

    Args:
        path: folders of ``plugin.path``, each with wheels, installed distributions, projects, or modules that use the
            plugin API. Nothing else in them is run, so that any folder may be named.
        packages: importable packages and modules whose classes configurations may name, although no distribution
            declares them.
    """

    def __init__(self, path: Sequence[str] = (), packages: Iterable[str] = ()) -> None:
        importlib.invalidate_caches()
        plugin_source.invalidate_caches()
        self._broken: dict[str, str] = {}
        self._packages = {_TESTING, *_named(packages)}
        self._loose: dict[str, PluginSource] = {}
        self._java: list[JavaArchive] = []
        found = [one for point in installed() for one in self._declared(point)]
        for folder in dict.fromkeys(name.strip() for name in path):
            if folder:
                found += self._on_path(Path(folder).absolute())
        self._all = sorted(found, key=lambda one: (list(Kind).index(one.kind), one.class_name))
        # First by class name, then by alias: a status is asked of a hundred connectors at once.
        self._by_name = (
            _by_name(self._all, lambda one: (one.class_name,)),
            _by_name(self._all, lambda one: one.aliases),
        )

    @classmethod
    def of(cls, worker: Mapping[str, str]) -> Self:
        """Return the plugins of a worker with these properties."""
        path, packages = (parse_value(name, worker.get(name), Type.LIST) or () for name in (PATH, PACKAGES))
        return cls([folder for folder in path if folder], [package for package in packages if package])

    @property
    def java(self) -> Sequence[JavaArchive]:
        """Return the jars and zips on the path that hold plugins for Java, which cannot run here."""
        return tuple(self._java)

    def all(self, kinds: Iterable[Kind] = LISTED) -> list[PluginDescription[Any]]:
        """Return plugins of these kinds in the kinds' order, each by class name."""
        wanted = set(kinds)
        return [one for one in self._all if one.kind in wanted]

    def connector(self, name: str, version: str | None = None) -> PluginDescription[Connector]:
        """Return a connector by class name or alias; of several versions, the latest within the range, or the latest
        there is.

        Raises:
            ConnectError: there is none, or its module on ``plugin.path`` could not be imported.
        """
        return self._find(name, (Kind.SINK, Kind.SOURCE), "Connector", version)

    def converter(self, name: str, version: str | None = None) -> PluginDescription[Converter]:
        """Return a converter by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.CONVERTER,), "Converter", version)

    def header_converter(self, name: str, version: str | None = None) -> PluginDescription[HeaderConverter]:
        """Return a header converter by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.HEADER_CONVERTER,), "HeaderConverter", version)

    def transformation(self, name: str, version: str | None = None) -> PluginDescription[Transform]:
        """Return a transformation by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.TRANSFORMATION,), "Transformation", version)

    def predicate(self, name: str, version: str | None = None) -> PluginDescription[Predicate]:
        """Return a predicate by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.PREDICATE,), "Predicate", version)

    def config_provider(self, name: str) -> PluginDescription[ConfigProvider]:
        """Return a config provider by class name or alias. Raises ConnectError."""
        return self._find(name, (Kind.CONFIG_PROVIDER,), "ConfigProvider")

    def rest_extension(self, name: str) -> type[RestExtension] | None:
        """Return an extension of the REST API by class name or alias; ``None`` where nothing has the name.

        Raises:
            ConnectError: its module cannot be imported, or is not to be imported by name.
            ConfigError: the class of that name is not an extension, or is not complete.
        """
        for by_name in self._by_name:
            if found := [one for one in by_name.get(name, ()) if one.kind is Kind.REST_EXTENSION]:
                return _of_version(found, None).plugin
        found_class = self.class_named(name)
        module = next((one for one in self._broken if name == one or name.startswith(f"{one}.")), None)
        if module is not None:
            raise ConnectError(f"The REST extension {name} cannot be loaded: {self._broken[module]}")
        if found_class is None:
            if why := self._refusal(name):
                raise ConnectError(f"The REST extension {name} cannot be loaded: {why}")
            return None
        if not issubclass(found_class, RestExtension):
            raise ConfigError(f"The REST extension {name} is not a subclass of RestExtension")
        if missing := sorted(getattr(found_class, "__abstractmethods__", ())):
            raise ConfigError(f"The REST extension {name} lacks {', '.join(missing)}")
        return found_class

    def class_named(self, name: str, version: str | None = None) -> type[Any] | None:
        """Return a plugin of any kind by class name or alias, else the class of that name in a permitted package, else
        ``None``.
        """
        for by_name in self._by_name:
            if fitting := by_name.get(name):
                named = [one for one in fitting if one.class_name == fitting[0].class_name]
                return _of_version(named, version).plugin
        found = self._attribute(name)
        return found if inspect.isclass(found) else None

    def find_class(self, name: str) -> str | None:
        """Return the full name of a class by name or alias, for configuration keys that hold one (``FindClass``).

        Raises:
            ConnectError: its module exists, but is not imported by name; names ``plugin.packages``.
        """
        found = self.class_named(name)
        if found is None and (why := self._refusal(name)):
            raise ConnectError(f"Class {name} could not be found: {why}.")
        return None if found is None else class_name(found)

    def load_class(self, name: str) -> type[Any]:
        """Return a class as :meth:`class_named`. Raises ConnectError: it cannot be found, and why."""
        found = self.class_named(name)
        if found is None:
            why = self._refusal(name) or "no plugin has this name, and no module that can be imported has the class"
            raise ConnectError(f"Class {name} could not be found: {why}.")
        return found

    def _find(self, name: str, kinds: Sequence[Kind], what: str, version: str | None = None) -> PluginDescription[Any]:
        for by_name in self._by_name:
            fitting = [one for one in by_name.get(name, ()) if one.kind in kinds]
            if len({one.class_name for one in fitting}) == 1:
                return _usable(_of_version(fitting, version))
            if fitting:
                raise ConnectError(
                    f"More than one {what.lower()} matches alias {name}. "
                    "Please use full package and class name instead. "
                    f"Classes found: {', '.join(map(str, fitting))}"
                )
        return _usable(self._importable(name, kinds) or self._unknown(name, self.all(kinds), what))

    def _importable(self, name: str, kinds: Sequence[Kind]) -> PluginDescription[Any] | None:
        plugin = self._attribute(name)
        found = described(plugin, INSTALLED) if inspect.isclass(plugin) and not inspect.isabstract(plugin) else []
        return next((one for one in found if one.kind in kinds), None)

    def _attribute(self, name: str) -> Any:
        module, _, attribute = name.rpartition(".")
        top = module.split(".")[0]
        if top in self._broken or not self._permits(module):
            return None
        source = self._loose.get(top)
        try:
            return getattr(importlib.import_module(module) if source is None else source.load(module), attribute, None)
        except (Exception, SystemExit) as error:
            missing = plain_names(error.name or "") if isinstance(error, ModuleNotFoundError) else None
            if missing is None or not f"{module}.".startswith(f"{missing}."):
                self._broken[module] = _why(error)
            return None

    def _permits(self, module: str) -> bool:
        """Return whether the module may be imported because a configuration names it; an import runs code."""
        names = module.split(".")
        if _PROGRAM in names:
            return False
        return names[0] in self._loose or not self._packages.isdisjoint(_with_parents(module))

    def _refusal(self, name: str) -> str | None:
        """Return why a module that exists is not looked into; ``None`` for any other."""
        module = name.rpartition(".")[0]
        if self._permits(module) or not _exists(module):
            return None
        if _PROGRAM in module.split("."):
            return f"module {module} is a program, which is not imported"
        return (
            f"module {module} is not imported, as it is neither in the package of a declared plugin, nor on {PATH}, "
            f"nor in a package that the worker's {PACKAGES} names"
        )

    def _unknown(self, name: str, known: Sequence[PluginDescription[Any]], what: str) -> PluginDescription[Any]:
        broken = [(module, why) for module, why in self._broken.items() if name.split(".")[0] == module.split(".")[0]]
        if broken:
            module, why = broken[0]
            raise ConnectError(f"Failed to load {what.lower()} {name}: module {module} cannot be imported: {why}")
        missing = f"Failed to find any class that implements {what} and which name matches {name}, "
        jars = [str(one.path) for one in self._java if one.has(name)]
        if jars:
            raise ConnectError(
                f"{missing}there is only a Java plugin of that name, in {', '.join(jars)}, and Java plugins cannot run "
                f"in this worker. Available {what.lower()}s are: {', '.join(map(str, known))}"
            )
        if refusal := self._refusal(name):
            raise ConnectError(
                f"{missing}because {refusal}. Available {what.lower()}s are: {', '.join(map(str, known))}"
            )
        hint = "".join(
            f" Module {module} on plugin.path cannot be imported: {why}." for module, why in self._broken.items()
        )
        raise ConnectError(
            f"{missing}available {what.lower()}s are: {', '.join(map(str, known))}" + (f".{hint}" if hint else "")
        )

    def _on_path(self, folder: Path) -> Iterator[PluginDescription[Any]]:
        try:
            found = scan(folder)
        except OSError:
            log.error("Could not get listing for plugin path: %s. Ignoring.", folder)
            return
        for wheel, why in found.unreadable:
            log.error("Could not read %s on the plugin path: %s", wheel, why)
        for point in found.declared:
            yield from self._declared(point)
        for archive in found.java:
            self._java.append(archive)
            log.warning("%s", _java_text(archive))
        if found.loose:
            source = PluginSource(folder, loose=True)
            for entry in found.loose:
                self._loose.setdefault(entry.stem, source)
                yield from self._loose_module(source, entry)

    def _declared(self, point: Declared) -> Iterator[PluginDescription[Any]]:
        try:
            plugin = point.load()
            _require_plugin(plugin)
        except (Exception, SystemExit) as error:
            why = _why(error)
            log.error(
                "Could not load plugin '%s' (%s:%s) from %s: %s",
                point.alias,
                point.module,
                point.attribute,
                point.location,
                why,
            )
            self._broken[point.module] = why
            return
        if point.source is None:
            self._packages.add(_package_of(point.module))
        if plugin.version == _NO_VERSION and point.version is not None:
            plugin.version = point.version
        yield from _added(plugin, point.location, point.alias)

    def _loose_module(self, source: PluginSource, entry: Path) -> Iterator[PluginDescription[Any]]:
        try:
            module = source.load(entry.stem)
        except (Exception, SystemExit) as error:
            log.error("Could not import plugin module %s: %s", entry, _why(error))
            self._broken[entry.stem] = _why(error)
            return
        for plugin in _plugins_of(module):
            yield from _added(plugin, str(entry))


def _added(plugin: type[Any], location: str, declared_as: str | None = None) -> list[PluginDescription[Any]]:
    log.info("Added plugin '%s' from %s", class_name(plugin), location)
    return described(plugin, location, declared_as)


def _by_name(
    plugins: Iterable[PluginDescription[Any]], names: Callable[[PluginDescription[Any]], Iterable[str]]
) -> Mapping[str, Sequence[PluginDescription[Any]]]:
    """Return the plugins of each name, in their order."""
    found: dict[str, list[PluginDescription[Any]]] = {}
    for one in plugins:
        for name in dict.fromkeys(names(one)):
            found.setdefault(name, []).append(one)
    return found


def _named(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        if _exists(package):
            yield package
        else:
            log.error("Could not find package %s of %s. Ignoring.", package, PACKAGES)


def _package_of(module: str) -> str:
    """Return the package that belongs to the plugin of a module: the topmost that is not a namespace of several
    distributions; of this distribution the module alone.
    """
    own = next((name for name in _with_parents(module) if getattr(sys.modules.get(name), "__file__", None)), module)
    return module if own == _OURS else own


def _with_parents(module: str) -> Iterator[str]:
    """Return ``a``, ``a.b``, ``a.b.c`` for ``a.b.c``."""
    return accumulate(module.split("."), "{}.{}".format)


def _exists(module: str) -> bool:
    """Return whether the worker's environment has the module; nothing is imported for it, not even its package."""
    top, *others = _with_parents(module)
    try:
        spec = importlib.util.find_spec(top) if top.isidentifier() else None
    except ValueError:  # a module without a spec, as __main__
        return not others
    for name in others:
        if spec is None or spec.submodule_search_locations is None:
            return False
        try:
            spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
        except KeyError:  # a namespace within a namespace, which Python looks into only when that is imported
            return True
    return spec is not None


def _java_text(archive: JavaArchive) -> str:
    if not archive.classes:
        return f"{archive.path} cannot be read as a jar; Java plugins could not run here anyway"
    classes = ", ".join(archive.classes)
    if archive.packed:
        return (
            f"{archive.path} is an archive of Java plugins, which cannot run in this worker: {classes}. "
            "A Java worker would want it extracted"
        )
    return f"{archive.path} holds Java plugins, which cannot run in this worker: {classes}"


def _require_plugin(found: Any) -> None:
    """Raise TypeError unless it is a class that a worker can use."""
    if not inspect.isclass(found) or not issubclass(found, tuple(BASES.values())):
        raise TypeError("it is not a class of a plugin")
    if inspect.isabstract(found):
        raise TypeError(f"it lacks {', '.join(sorted(getattr(found, '__abstractmethods__', ())))}")


def _why(error: BaseException) -> str:
    return plain_names(f"{type(error).__name__}: {error}")


def _of_version(candidates: Sequence[PluginDescription[Any]], spec: str | None) -> PluginDescription[Any]:
    """Return one of the versions of a class (KIP-891); of equal ones the first on the path."""
    if spec is None and len(candidates) == 1:
        return candidates[0]
    wanted = fitting_version([one.version for one in candidates], spec)
    return next(one for one in candidates if one.version == wanted)


def _usable(found: PluginDescription[Any]) -> PluginDescription[Any]:
    if not hasattr(found.plugin, "config_def"):
        raise ConnectError(f"Plugin {found.class_name} has no config_def: the ConfigDef class of its configuration")
    return found


def _plugins_of(module: ModuleType) -> Iterator[type[Any]]:
    for _, member in inspect.getmembers(module, inspect.isclass):
        own = member.__module__ == module.__name__ or member.__module__.startswith(f"{module.__name__}.")
        if own and any(_is_plugin(member, base) for base in BASES.values()):
            yield member


def _is_plugin(candidate: Any, base: type[Any]) -> bool:
    return inspect.isclass(candidate) and issubclass(candidate, base) and not inspect.isabstract(candidate)
