"""Realms: each place on ``plugin.path`` has its own copies of what lies there, as with Java's ``PluginClassLoader``.

The modules of a place live below a package of this one, named after the place: ``yaml`` in ``/opt/a`` is
``connect_dagster.isolation.realm.at_2fopt_2fa.yaml``. A module of a realm looks for its imports in its realm
first, then among the worker's modules; the worker's own modules never see a realm. The name holds the whole path, so
any process of this machine can import such a module again: Spark's Python workers do.

Decision and limits: docs/decisions/0011-realms-of-plugins.md
"""

from __future__ import annotations

import builtins
import importlib
import importlib.metadata
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

PREFIX = f"{__name__}."
_SHARED = frozenset(
    {
        *sys.stdlib_module_names,
        # What plugins and the worker hand each other must be of the same classes.
        "connect_dagster",
        "numpy",
        "pandas",
        "py4j",
        "pyarrow",
        "pydantic",
        "pydantic_core",
        "pyspark",
    }
)
_UNSAFE = re.compile(rb"[^A-Za-z0-9]")
_ESCAPE = re.compile(rb"_([0-9a-f]{2})")
_PREFIXED = re.compile(re.escape(PREFIX) + r"\w+\.?")


@dataclass(frozen=True, slots=True)
class Realm:
    """One place on ``plugin.path``.

    Attributes:
        location: a wheel, or a folder that holds packages or wheels.
        loose: whether the folder just lies on the path, with more in it than one plugin and what that needs.
    """

    location: Path
    loose: bool = False

    @property
    def package(self) -> str:
        """Name of the package that the realm's modules live in."""
        escaped = _UNSAFE.sub(lambda found: b"_%02x" % found[0][0], str(self.location).encode())
        return f"{PREFIX}{'in' if self.loose else 'at'}{escaped.decode()}"

    @classmethod
    def of(cls, module: str) -> Realm | None:
        """The realm of a module, by its full name; ``None`` for the worker's own."""
        return _realm(module.removeprefix(PREFIX).partition(".")[0]) if module.startswith(PREFIX) else None

    @property
    def paths(self) -> list[str]:
        """Where its modules are looked for, in this order."""
        if self.loose or self.location.is_file():
            return [str(self.location)]
        wheels = sorted(self.location.glob("*.whl"))
        return [str(path) for path in (*wheels, self.location / "src", self.location) if path.exists()]

    def load(self, module: str) -> ModuleType:
        """Import a module of the realm by the name that it has in there. Raises whatever the module raises."""
        return importlib.import_module(f"{self.package}.{module}")

    def has(self, name: str) -> bool:
        """Whether it has a top-level module or package of its own of this name, for what imports from within."""
        return name not in _SHARED and _spec(self, name) is not None


def shown(name: str) -> str:
    """A name or a text with names, as users know them: without the realms."""
    return _PREFIXED.sub("", name)


def class_path(found: type[Any]) -> str:
    """Module and name of a class, as users know them."""
    return shown(f"{found.__module__}.{found.__qualname__}")


@cache
def _realm(encoded: str) -> Realm:
    location = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), encoded[2:].encode())
    return Realm(Path(location.decode()), loose=encoded.startswith("in"))


@cache
def _spec(realm: Realm, name: str) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name, realm.paths)
    # Any folder is a namespace package: among loose modules that means nothing.
    return None if spec is not None and spec.origin is None and realm.loose else spec


class _RealmFinder(MetaPathFinder):
    """Makes the packages of the realms, and answers what distributions are there to those within one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX) or "." in fullname.removeprefix(PREFIX):
            return None
        _look_at_importers()
        spec = ModuleSpec(fullname, None, is_package=True)
        realm = Realm.of(fullname)
        spec.submodule_search_locations = realm.paths if realm is not None else []
        return spec

    def invalidate_caches(self) -> None:
        _spec.cache_clear()

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        realm = Realm.of(_calling_module(sys._getframe(1)))
        if realm is None or (context is not None and "path" in vars(context)):
            return []
        named = importlib.metadata.DistributionFinder.Context(name=context.name if context else None, path=realm.paths)
        return importlib.metadata.MetadataPathFinder.find_distributions(named)


@cache
def _look_at_importers() -> None:
    """Have imports look at who imports, from the first realm on."""
    builtins.__import__ = _import
    importlib.import_module = _import_module


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    if level == 0:
        importer = (sys._getframe(1).f_globals if globals is None else globals).get("__name__")
        if isinstance(importer, str) and importer.startswith(PREFIX):
            realm, top = Realm.of(importer), name.partition(".")[0]
            if realm is not None and realm.has(top):
                module = _original_import(f"{realm.package}.{name}", globals, locals, fromlist or ("__name__",), 0)
                return module if fromlist else sys.modules[f"{realm.package}.{top}"]
    return _original_import(name, globals, locals, fromlist or (), level)


def _import_module(name: str, package: str | None = None) -> ModuleType:
    if not name.startswith("."):
        realm = Realm.of(_calling_module(sys._getframe(1)))
        if realm is not None and realm.has(name.partition(".")[0]):
            name = f"{realm.package}.{name}"
    return _original_import_module(name, package)


def _calling_module(frame: FrameType | None) -> str:
    """Who asks ``importlib``, be it through another module of that."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.partition(".")[0] not in ("importlib", "_frozen_importlib", "_frozen_importlib_external") and (
            name != __name__
        ):
            return name
        frame = frame.f_back
    return ""


_original_import = builtins.__import__
_original_import_module = importlib.import_module
sys.meta_path.insert(0, _RealmFinder())
