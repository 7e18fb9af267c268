"""Write the example project of ``connect-dagster plugin new``. Its files are the templates beside this module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from connect_dagster.errors import ConnectError

_TEMPLATES = Path(__file__).with_name("templates")
_SUFFIX = ".tmpl"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@dataclass(frozen=True, slots=True)
class PluginKind:
    """Kind of a project.

    Attributes:
        class_suffix: what the plugin's name ends with.
        connector: class of the connector that its Dagster definitions declare; ``None`` for the plugin itself.
        config: the connector's configuration.
    """

    class_suffix: str
    connector: str | None
    config: Callable[[Mapping[str, str]], dict[str, str]]


KINDS: Mapping[str, PluginKind] = {
    "source": PluginKind("Connector", None, lambda words: {"topic": words["name"]}),
    "sink": PluginKind(
        "Connector", None, lambda words: {"topics": words["name"], "file": f"{words['folder']}/{words['name']}.jsonl"}
    ),
    "transform": PluginKind(
        "",
        _FILE_SOURCE,
        lambda words: {
            "file": f"{words['folder']}/README.md",
            "topic": words["name"],
            "transforms": words["alias"],
            f"transforms.{words['alias']}.type": f"{words['package']}.plugin.{words['plugin']}",
        },
    ),
}


def write_project(name: str, kind: str, parent: Path) -> Path:
    """Write a project into a new folder of its name; return the folder.

    Raises:
        ConnectError: the name cannot be a project's, or the folder exists.
    """
    if not _NAME.fullmatch(name):
        raise ConnectError(f"{name!r} is not a name for a plugin: letters and digits, words joined by - or _")
    folder = parent.absolute() / name
    if folder.exists():
        raise ConnectError(f"{folder} exists already")
    words = _words(name, kind, folder)
    for target, text in _files(kind, words["package"]):
        file = folder / target
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(Template(text).substitute(words), encoding="utf-8")
    return folder


def _words(name: str, kind: str, folder: Path) -> dict[str, str]:
    parts = re.split("[-_]", name)
    title = "".join(part[:1].upper() + part[1:] for part in parts)
    package, plugin = "_".join(parts).lower(), f"{title}{KINDS[kind].class_suffix}"
    words = {
        "name": name,
        "folder": str(folder),
        "package": package,
        "title": title,
        "plugin": plugin,
        "alias": parts[0].lower(),
    }
    connector = KINDS[kind].connector or f"{package}.plugin.{plugin}"
    return {**words, "connector": connector, "config": _python(KINDS[kind].config(words))}


def _python(config: Mapping[str, str]) -> str:
    """Return a dictionary as a formatter would write it as an argument in the template."""
    pairs = [f'"{key}": "{value}"' for key, value in config.items()]
    if len(pairs) == 1:
        return f"{{{pairs[0]}}}"
    return "\n".join(["{", *(f"            {pair}," for pair in pairs), "        }"])


def _files(kind: str, package: str) -> Iterator[tuple[str, str]]:
    """Paths in the project, with the text of their templates."""
    places = {
        ".gitignore": "common/gitignore",
        "README.md": "common/README.md",
        "pyproject.toml": "common/pyproject.toml",
        "worker.properties": "common/worker.properties",
        "definitions.py": "common/definitions.py",
        f"{package}/plugin.py": f"{kind}/plugin.py",
        f"tests/test_{package}.py": f"{kind}/test_plugin.py",
    }
    for target, template in places.items():
        yield target, (_TEMPLATES / f"{template}{_SUFFIX}").read_text(encoding="utf-8")
    yield f"{package}/__init__.py", '"""A plugin of connect_dagster."""\n'
    yield f"{package}/py.typed", ""
