"""Packages of plugins as files: wheels, installed distributions, and jars, for tests of ``plugin.path``."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

SOURCE = """
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.connector import SourceConnector, SourceTask


class {name}Task(SourceTask):
    def start(self, config): ...
    def poll(self): ...
    def stop(self): ...


class {name}Connector(SourceConnector):
    config_def = ConfigDef
    task_class = {name}Task
"""
"""A source that does nothing, to be formatted with its name."""


def distribution(
    name: str,
    version: str,
    modules: Mapping[str, str],
    plugins: Mapping[str, str],
    group: str = "connect_dagster.plugins",
) -> dict[str, str]:
    """Files of an installed distribution: its modules by path, and what tells of it.

    Args:
        name: of the distribution.
        version: of the distribution.
        modules: text by path.
        plugins: entry points, `module:Class` by name.
        group: of the entry points.
    """
    lines = "".join(f"{alias} = {value}\n" for alias, value in plugins.items())
    return {
        **modules,
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{name}-{version}.dist-info/entry_points.txt": f"[{group}]\n{lines}" if lines else "",
    }


def write_wheel(folder: Path, name: str, version: str, modules: Mapping[str, str], plugins: Mapping[str, str]) -> Path:
    """A wheel of a distribution in a folder."""
    return _zipped(folder / f"{name}-{version}-py3-none-any.whl", distribution(name, version, modules, plugins))


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Text files by their paths in a folder; answers the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_jar(path: Path, *classes: str, services: Mapping[str, str] | None = None) -> Path:
    """A jar with empty classes, and the services it registers by interface."""
    files = {f"{name.replace('.', '/')}.class": "" for name in classes}
    return _zipped(path, {**files, **{f"META-INF/services/{name}": text for name, text in (services or {}).items()}})


def _zipped(path: Path, files: Mapping[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path
