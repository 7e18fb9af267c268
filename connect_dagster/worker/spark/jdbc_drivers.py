"""JDBC drivers for Spark's JVM: those that every worker has, and the jars on ``plugin.path`` that register one.

A driver on ``plugin.path`` goes before ours of the same database.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from connect_dagster.embedded import jars

_SERVICE = "META-INF/services/java.sql.Driver"
# A jar may lie in a folder, one folder down, or where Confluent packs those of a connector.
_PLACES = ("*.jar", "*/*.jar", "*/lib/*.jar")


def driver_jars(worker: Mapping[str, str]) -> list[Path]:
    """Jars of all drivers, in the order in which they are to be found.

    Args:
        worker: the worker's properties.

    Raises:
        JarUnavailable: one of ours is missing and cannot be downloaded.
    """
    folders = (folder.strip() for folder in worker.get("plugin.path", "").split(","))
    given = [jar for folder in folders if folder for jar in _drivers_in(Path(folder))]
    return [*dict.fromkeys(given), *jars.resolve("jdbc-drivers")]


def _drivers_in(folder: Path) -> Iterator[Path]:
    for place in _PLACES:
        yield from filter(_registers_driver, sorted(folder.glob(place)))


def _registers_driver(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            return _SERVICE in archive.namelist()
    except (OSError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return False


def joined(paths: Iterable[Path], separator: str) -> str:
    """Paths as one setting."""
    return separator.join(str(path.absolute()) for path in paths)
