"""Imports modules of plugin sources, and what those import (Java: ``PluginClassLoader``).

A module of a plugin source gets its own ``__builtins__``, whose ``__import__`` looks in the source first and then among
the worker's modules. Imports at the top of the module, in its functions and methods and in code that it executes use
it, as Python reads ``__import__`` from the builtins of the running function. The interpreter's ``__import__`` and
``importlib`` stay as they are: inside plugins, ``import importlib`` returns a module with functions for the source.

Decision and limits: docs/decisions/0011-plugins-have-separate-modules.md
"""

from __future__ import annotations

import builtins
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from connect_dagster.isolation import plugin_source
from connect_dagster.isolation.plugin_source import PluginSource

_RESOURCE_FUNCTIONS = (
    "contents",
    "files",
    "is_resource",
    "open_binary",
    "open_text",
    "path",
    "read_binary",
    "read_text",
)


def install() -> None:
    """Make the modules of plugin sources importable, and their functions picklable for Spark's Python workers."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        _pickle_functions_with_source()


@cache
def builtins_of(source: PluginSource) -> dict[str, Any]:
    """Return the builtins of the source's modules."""
    return {**vars(builtins), "__import__": _import_of(source)}


class _Finder(MetaPathFinder):
    """Finds the modules of plugin sources, and the distributions of a source for code that runs in it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = PluginSource.of(fullname)
        if source is None:
            return None
        if fullname == source.package:
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = source.paths
            return spec
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, source)
        return found

    def invalidate_caches(self) -> None:
        plugin_source.invalidate_caches()

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        source = PluginSource.of(_calling_module(sys._getframe(1)))
        if source is None or (context is not None and "path" in vars(context)):
            return []
        named = importlib.metadata.DistributionFinder.Context(name=context.name if context else None, path=source.paths)
        return importlib.metadata.MetadataPathFinder.find_distributions(named)


class _Loader(Loader):
    """Gives a module the builtins of its source before its code runs."""

    def __init__(self, loader: Loader, source: PluginSource) -> None:
        self._loader = loader
        self._source = source

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # importlib.resources, pkgutil and inspect look for methods of the loader that read the files.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        vars(module)["__builtins__"] = builtins_of(self._source)
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _import_of(source: PluginSource) -> Callable[..., ModuleType]:
    def isolated_import(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level == 0 and source.has(top):
            full_name = f"{source.package}.{name}"
            module = builtins.__import__(full_name, globals, locals, fromlist or ("__name__",), 0)
            return module if fromlist else sys.modules[f"{source.package}.{top}"]
        return _seen_from(source, builtins.__import__(name, globals, locals, fromlist or (), level))

    return isolated_import


def _seen_from(source: PluginSource, module: ModuleType) -> ModuleType:
    return _importlib_of(source, module.__name__) if module.__name__ in _FUNCTIONS else module


@cache
def _importlib_of(source: PluginSource, name: str) -> ModuleType:
    """Return ``importlib`` or a module of it with functions that find the modules of the source by plain names."""
    original = sys.modules[name]

    def attribute(attribute_name: str) -> Any:
        found = getattr(original, attribute_name)
        return _seen_from(source, found) if isinstance(found, ModuleType) else found

    module = ModuleType(name, original.__doc__)
    own = {attribute: function(source) for attribute, function in _FUNCTIONS[name].items()}
    special = {key: value for key, value in vars(original).items() if key.startswith("__")}
    vars(module).update({**special, "__getattr__": attribute, "__dir__": lambda: dir(original), **own})
    return module


def _import_module_of(source: PluginSource) -> Callable[..., ModuleType]:
    def import_module(name: str, package: str | None = None) -> ModuleType:
        return _seen_from(source, importlib.import_module(_full_name(source, name), package))

    return import_module


def _find_spec_of(source: PluginSource) -> Callable[..., ModuleSpec | None]:
    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return importlib.util.find_spec(_full_name(source, name), package)

    return find_spec


def _resource_function(name: str) -> Callable[[PluginSource], Callable[..., Any]]:
    original = getattr(importlib.resources, name)

    def of(source: PluginSource) -> Callable[..., Any]:
        def function(*arguments: Any, **named: Any) -> Any:
            if not arguments and not named:  # the package of the caller, from Python 3.12 on
                arguments = (sys._getframe(1).f_globals["__name__"],)
            full_names = [_full_name(source, argument) for argument in arguments[:1]]
            named.update({key: _full_name(source, named[key]) for key in _ANCHORS if key in named})
            return original(*full_names, *arguments[1:], **named)

        return function

    return of


def _full_name(source: PluginSource, name: Any) -> Any:
    """Return the full name of a module of the source; any other name or object as it is."""
    own = isinstance(name, str) and not name.startswith(".") and source.has(name.partition(".")[0])
    return f"{source.package}.{name}" if own else name


_ANCHORS = ("anchor", "package")
_FUNCTIONS: Mapping[str, Mapping[str, Callable[[PluginSource], Callable[..., Any]]]] = {
    "importlib": {"import_module": _import_module_of},
    "importlib.resources": {
        name: _resource_function(name) for name in _RESOURCE_FUNCTIONS if hasattr(importlib.resources, name)
    },
    "importlib.util": {"find_spec": _find_spec_of},
}
"""Functions of ``importlib`` that take plain names of modules."""


def _calling_module(frame: FrameType | None) -> str:
    """Return the module that called ``importlib``, be it through another module of ``importlib``."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] not in ("importlib", "_frozen_importlib", "_frozen_importlib_external"):
            return name
        frame = frame.f_back
    return ""


def _pickle_functions_with_source() -> None:
    """Make PySpark's pickler record the source of functions that it pickles by value, such as lambdas.

    Spark's Python workers make such functions again; without this they get the worker's builtins there.
    """
    pickler: Any = _cloudpickle().CloudPickler
    reduce_by_value = pickler._dynamic_function_reduce

    def reduce_with_source(self: Any, function: FunctionType) -> tuple[Any, ...]:
        reduced: tuple[Any, ...] = reduce_by_value(self, function)
        source = PluginSource.of(str(function.__globals__.get("__name__")))
        if source is None:
            return reduced
        _, arguments, *state, _ = reduced
        return _make_function, (source.package, *arguments), *state, _set_function_state

    pickler._dynamic_function_reduce = reduce_with_source


def _make_function(package: str, code: CodeType, globals: dict[str, Any], *others: Any) -> FunctionType:
    _set_builtins(package, globals)
    return FunctionType(code, globals, *others)


def _set_function_state(function: FunctionType, state: Any) -> None:
    _cloudpickle()._function_setstate(function, state)
    _set_builtins(function.__globals__["__name__"], function.__globals__)


def _set_builtins(module: str, globals: dict[str, Any]) -> None:
    source = PluginSource.of(module)
    if source is not None:
        globals["__builtins__"] = builtins_of(source)


def _cloudpickle() -> Any:
    return importlib.import_module("pyspark.cloudpickle.cloudpickle")
