"""Plugins that declare themselves: by entry points of distributions, wheels, and projects.

An entry point of the group ``connect_dagster.plugins``, or of ``connect_dagster.rest_extensions``, names a class by
``module:Class``; its own name is a further alias of the class.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugin_source import PluginSource

log = logging.getLogger(__name__)

GROUP = "connect_dagster.plugins"
REST_EXTENSIONS = "connect_dagster.rest_extensions"
INSTALLED = "classpath"
"""Location of what lies in the worker's own environment, in Java's word for it."""

_OURS = "connect-dagster"
_PROJECT = "pyproject.toml"
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry point.

    Attributes:
        alias: its name.
        module: what to import.
        attribute: the class in it.
        version: of the distribution; ``None`` where that has none.
        source: where it lies; ``None`` in the worker's own environment.
    """

    alias: str
    module: str
    attribute: str
    version: str | None
    source: PluginSource | None = None

    @property
    def location(self) -> str:
        """Return the place as users see it."""
        return INSTALLED if self.source is None else str(self.source.location)

    def load(self) -> Any:
        """Import the object that the entry point names. Raises whatever its module raises."""
        module = importlib.import_module(self.module) if self.source is None else self.source.load(self.module)
        found: Any = module
        for name in self.attribute.split("."):
            found = getattr(found, name)
        return found


def installed(group: str = GROUP) -> list[Declared]:
    """Return the plugins that distributions of the worker's environment declare, first those that ship with it.

    Args:
        group: of entry points.

    Raises:
        ConnectError: the environment has no entry points of the plugins that ship with connect-dagster.
    """
    bundled, others = [], []
    points = importlib.metadata.entry_points(group=group)
    for distribution, of_one in groupby(points, key=lambda point: point.dist):
        name, version = (None, None) if distribution is None else (distribution.name, distribution.version)
        if name == _OURS:  # the classes have versions, those of the Java classes that they replace
            bundled += [_declared(point.name, point.value, None, None) for point in of_one]
        else:
            others += [_declared(point.name, point.value, version, None) for point in of_one]
    return [*(bundled or _in_checkout(group)), *others]


def _in_checkout(group: str) -> list[Declared]:
    """Return the plugins that the checkout around this package declares, where the package is not installed."""
    found = list(_in_project(_ROOT / _PROJECT, None, group)) if _our_project() else []
    if not found:
        raise ConnectError(
            f"The distribution {_OURS} has no entry points in group {group}, by which a worker finds the plugins that "
            f"ship with it. Install it again, in a checkout with `make install`."
        )
    return found


def _our_project() -> bool:
    file = _ROOT / _PROJECT
    return file.is_file() and f'name = "{_OURS}"' in file.read_text(encoding="utf-8")


def declared_in(location: Path) -> list[Declared]:
    """Return what a wheel or folder declares: wheels and distributions directly in it, and its ``pyproject.toml``."""
    source = PluginSource(location)
    file = location / _PROJECT
    return [
        one
        for group in (GROUP, REST_EXTENSIONS)
        for one in (*_in_distributions(source, group), *_in_project(file, source, group))
    ]


def _in_distributions(source: PluginSource, group: str) -> Iterator[Declared]:
    distributions: Iterable[importlib.metadata.Distribution] = importlib.metadata.distributions(path=source.paths)
    for distribution in distributions:
        for point in distribution.entry_points.select(group=group):
            yield _declared(point.name, point.value, distribution.version, source)


def _in_project(file: Path, source: PluginSource | None, group: str) -> Iterator[Declared]:
    if not file.is_file():
        return
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        for name, value in project.get("entry-points", {}).get(group, {}).items():
            yield _declared(name, value, project.get("version"), source)
    except (OSError, ValueError, AttributeError) as error:
        log.error("Could not read %s: %s", file, error)


def _declared(alias: str, value: str, version: str | None, source: PluginSource | None) -> Declared:
    module, _, attribute = value.partition("[")[0].partition(":")
    return Declared(alias, module.strip(), attribute.strip(), version, source)
