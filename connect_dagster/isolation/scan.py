"""Looks through a folder of ``plugin.path`` and its subfolders, one level down.

Modules and packages that lie directly in it and declare nothing are plugins when they import the plugin API. Jars and
zips of Java plugins cannot run here: named, with their classes, and never run.
"""

from __future__ import annotations

import ast
import logging
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO

from connect_dagster.isolation.declarations import Declared, declared_in

log = logging.getLogger(__name__)

_API = "connect_dagster.plugin"
# A folder may hold anything: beyond this number of files, only declared plugins are found.
_MOST_FILES = 2000
_DECLARING = (".dist-info", ".whl", "pyproject.toml")
_FILES = (".jar", ".py", ".whl", ".zip", "pyproject.toml")
_SERVICES = tuple(
    f"META-INF/services/org.apache.kafka.{interface}"
    for interface in (
        "connect.sink.SinkConnector",
        "connect.source.SourceConnector",
        "connect.storage.Converter",
        "connect.storage.HeaderConverter",
        "connect.transforms.Transformation",
        "connect.transforms.predicates.Predicate",
        "common.config.provider.ConfigProvider",
    )
)
_BY_NAME = re.compile(r"(?:[\w$]+/)*(?!Abstract|Base)\w+(?:Connector|Converter)\.class")


@dataclass(frozen=True, slots=True)
class JavaArchive:
    """A file with plugins for Java.

    Attributes:
        path: the jar or zip.
        classes: full names of its plugins, sorted; empty when it cannot be read.
    """

    path: Path
    classes: tuple[str, ...]

    @property
    def packed(self) -> bool:
        """Return whether it is an archive of jars, which Java would not look into either."""
        return self.path.suffix == ".zip"

    def has(self, name: str) -> bool:
        """Return whether a class or the simple name of one is in it, with or without the word ``Connector``."""
        return any(name in (one, *_aliases(one)) for one in self.classes)


@dataclass(frozen=True, slots=True)
class Found:
    """Plugins and archives in a folder.

    Attributes:
        declared: plugins by their entry points.
        loose: modules and packages that use the plugin API without declaring anything.
        java: jars and zips for Java.
        unreadable: files that are not wheels, with the reason.
    """

    declared: list[Declared]
    loose: list[Path]
    java: list[JavaArchive]
    unreadable: list[tuple[Path, str]]


def scan(folder: Path) -> Found:
    """Find plugins in a folder. Raises OSError when it cannot be listed."""
    files, folders = _entries(folder)
    wheels = [file for file in files if file.suffix == ".whl"]
    readable = [wheel for wheel in wheels if zipfile.is_zipfile(wheel)]
    declared = [one for wheel in readable for one in declared_in(wheel)]
    own = _declared_by_folder(folder, [*files, *folders], declared)
    declared += own
    java = list(_java(files))
    for place in folders:
        names = _listing(place)
        if any(name.endswith(_DECLARING) for name in names):
            declared += declared_in(place)
        java += _java(place / name for name in names)
        if "lib" in names:  # as Confluent packs connectors
            java += _java(place / "lib" / name for name in _listing(place / "lib"))
    known = {one.source.location for one in declared if one.source is not None}
    modules = sorted({*(file for file in files if file.suffix == ".py"), *folders} - known)
    # Other modules in a folder with distributions belong to these.
    loose = [] if own else list(_loose_modules(folder, modules))
    broken = [(wheel, "it is not a wheel: not a zip file") for wheel in wheels if wheel not in readable]
    return Found(declared, loose, java, broken)


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return files that plugins may be in, and all folders, both sorted; hidden entries are left out."""
    with os.scandir(folder) as listing:
        entries = [entry for entry in listing if not entry.name.startswith(".")]
    files = [Path(one.path) for one in entries if one.name.endswith(_FILES) and one.is_file()]
    folders = [Path(one.path) for one in entries if one.is_dir()]
    return sorted(files), sorted(folders)


def _declared_by_folder(folder: Path, entries: Sequence[Path], by_wheels: Sequence[Declared]) -> list[Declared]:
    """Return what the folder itself declares; each wheel directly in it is a separate source."""
    if not any(entry.name.endswith(_DECLARING) and entry.suffix != ".whl" for entry in entries):
        return []
    known = {(one.module, one.attribute, one.version) for one in by_wheels}
    return [one for one in declared_in(folder) if (one.module, one.attribute, one.version) not in known]


def _listing(entry: Path) -> list[str]:
    try:
        return sorted(child.name for child in entry.iterdir())
    except OSError:
        return []


def _java(files: Iterable[Path]) -> Iterator[JavaArchive]:
    for file in files:
        if file.suffix in (".jar", ".zip") and (found := _java_archive(file)) is not None:
            yield found


def _java_archive(path: Path) -> JavaArchive | None:
    """Read the plugins in a jar or zip; ``None`` when it holds none, such as a jar that plugins depend on.

    A jar's classes are those it registers as services; where it registers none, those whose names end as plugins' do.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            classes = set(_in_zip(archive) if path.suffix == ".zip" else _in_jar(archive))
    except (OSError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return JavaArchive(path, ()) if path.suffix == ".jar" else None
    return JavaArchive(path, tuple(sorted(classes))) if classes else None


def _in_zip(archive: zipfile.ZipFile) -> Iterator[str]:
    for name in archive.namelist():
        if name.endswith(".jar"):
            with archive.open(name) as file:
                yield from _in_nested(file)


def _in_nested(file: IO[bytes]) -> set[str]:
    try:
        with zipfile.ZipFile(file) as jar:
            return set(_in_jar(jar))
    except zipfile.BadZipFile:
        return set()


def _in_jar(jar: zipfile.ZipFile) -> Iterator[str]:
    names = jar.namelist()
    services = [name for name in _SERVICES if name in names]
    for service in services:
        lines = jar.read(service).decode("utf-8", "replace").splitlines()
        yield from filter(None, (line.partition("#")[0].strip() for line in lines))
    if not services:
        found = (name for name in names if _BY_NAME.fullmatch(name))
        yield from (name.removesuffix(".class").replace("/", ".") for name in found)


def _aliases(class_name: str) -> tuple[str, str]:
    simple = class_name.rpartition(".")[2]
    return simple, simple.removesuffix("Connector") or simple


def _loose_modules(folder: Path, entries: Sequence[Path]) -> Iterator[Path]:
    """Return those of a folder's entries that use the plugin API: modules as files, packages as folders.

    Only their text is looked at.
    """
    looked_at = 0
    for entry in entries:
        files = list(islice(_files_of(entry), _MOST_FILES - looked_at + 1))
        looked_at += len(files)
        if looked_at > _MOST_FILES:
            log.warning(
                "%s holds more than %d Python files: from %s on, only plugins that declare themselves are found there",
                folder,
                _MOST_FILES,
                entry.name,
            )
            return
        if any(map(_uses_plugin_api, files)):
            yield entry


def _files_of(entry: Path) -> Iterator[Path]:
    if entry.suffix == ".py":
        if entry.is_file():
            yield entry
    elif (entry / "__init__.py").is_file():
        yield from entry.rglob("*.py")


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
        return True  # the import reports the error
    imported = chain.from_iterable(_imported(node) for node in nodes)
    return any(name == _API or name.startswith(f"{_API}.") for name in imported)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []
