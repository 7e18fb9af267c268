"""Plugin sources: places on ``plugin.path`` whose plugins share modules (Java: ``PluginSource``).

The modules of a source live in a separate package below ``connect_dagster.isolation.modules``: ``yaml`` in ``/opt/a``
is ``connect_dagster.isolation.modules.at_2fopt_2fa.yaml``. The name holds the whole path, so each process of this
machine can import the module again by its name: Spark's Python workers do. ``module_loader`` imports them.

Decision and limits: docs/decisions/0011-plugins-have-separate-modules.md
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PREFIX = "connect_dagster.isolation.modules."
_SHARED = frozenset(
    {
        *sys.stdlib_module_names,
        # Plugins and the worker pass each other objects of these: both need the same classes.
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
class PluginSource:
    """One place on ``plugin.path``.

    Attributes:
        location: a wheel, or a folder that holds packages or wheels.
        loose: the folder holds single modules, among files that do not belong to plugins.
    """

    location: Path
    loose: bool = False

    @property
    def package(self) -> str:
        """Name of the package that holds the source's modules."""
        escaped = _UNSAFE.sub(lambda found: b"_%02x" % found[0][0], str(self.location).encode())
        return f"{PREFIX}{'in' if self.loose else 'at'}{escaped.decode()}"

    @classmethod
    def of(cls, module: str) -> PluginSource | None:
        """Return the source of a module by the module's full name; ``None`` for the worker's own modules."""
        return _source(module.removeprefix(PREFIX).partition(".")[0]) if module.startswith(PREFIX) else None

    @property
    def paths(self) -> list[str]:
        """Return the search path of the source's modules."""
        if self.loose or self.location.is_file():
            return [str(self.location)]
        wheels = sorted(self.location.glob("*.whl"))
        return [str(path) for path in (*wheels, self.location / "src", self.location) if path.exists()]

    def load(self, module: str) -> ModuleType:
        """Import a module of the source by its plain name. Raises whatever the module raises."""
        return importlib.import_module(f"{self.package}.{module}")

    def has(self, name: str) -> bool:
        """Return whether the source has a top-level module or package of this name that its plugins import."""
        return name not in _SHARED and _spec(self, name) is not None


def plain_names(text: str) -> str:
    """Remove the packages of plugin sources from the module names in a text."""
    return _PREFIXED.sub("", text)


def class_path(found: type[Any]) -> str:
    """Return module and name of a class, without the package of its plugin source."""
    return plain_names(f"{found.__module__}.{found.__qualname__}")


def class_name(found: type[Any]) -> str:
    """Return the name that a class goes by: Java's where it takes over Java's configurations."""
    return getattr(found, "java_class", None) or class_path(found)


def invalidate_caches() -> None:
    """Look for modules again, such as those of files written since the last import."""
    _spec.cache_clear()


@cache
def _source(encoded: str) -> PluginSource:
    location = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), encoded[2:].encode())
    return PluginSource(Path(location.decode()), loose=encoded.startswith("in"))


@cache
def _spec(source: PluginSource, name: str) -> ModuleSpec | None:
    spec = PathFinder.find_spec(name, source.paths)
    # Each folder is a namespace package: among loose modules most folders hold no modules.
    return None if spec is not None and spec.origin is None and source.loose else spec
