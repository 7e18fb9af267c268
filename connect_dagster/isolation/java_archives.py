"""Jars and zips of Java plugins, which cannot run here: named, with their classes, and never run.

A jar's classes are those it registers as services; where it registers none, those whose names end as plugins' do.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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


def java_archive(path: Path) -> JavaArchive | None:
    """Read the plugins in a jar or zip; ``None`` when it holds none, such as a jar that plugins depend on."""
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
