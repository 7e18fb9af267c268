"""``connect-dagster plugin``: list the plugins on ``plugin.path`` or of a cluster, and create a project."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import click

from connect_dagster.cli.connectors.rest_access import asks_worker, json_option
from connect_dagster.cli.connectors.shell_completion import plugin_names
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties

_HEADS = ("CLASS", "KIND", "VERSION", "LOCATION", "ALIASES")
_TEMPLATES = Path(__file__).with_name("templates")
_SUFFIX = ".tmpl"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@dataclass(frozen=True, slots=True)
class _PluginKind:
    """Kind of a project.

    Attributes:
        class_suffix: what the plugin's name ends with.
        connector: class of the connector that its Dagster definitions declare; ``None`` for the plugin itself.
        config: the connector's configuration.
    """

    class_suffix: str
    connector: str | None
    config: Callable[[Mapping[str, str]], dict[str, str]]


_KINDS: Mapping[str, _PluginKind] = {
    "source": _PluginKind("Connector", None, lambda words: {"topic": words["name"]}),
    "sink": _PluginKind(
        "Connector", None, lambda words: {"topics": words["name"], "file": f"{words['folder']}/{words['name']}.jsonl"}
    ),
    "transform": _PluginKind(
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


@click.group("plugin")
def plugin_command() -> None:
    """List and describe plugins, or create a project for one."""


@plugin_command.command("list")
@click.argument("worker", metavar="[WORKER.PROPERTIES]", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--plugin-path", metavar="FOLDERS", help="Folders, separated by commas, instead of the file's.")
def list_command(worker: str | None, plugin_path: str | None) -> None:
    """Print the plugins that a worker with this file, or this path, finds.

    Jars and zips of Java plugins on the path, which cannot run here, stand apart. Why something could not be loaded
    goes to the standard error.
    """
    path = plugin_path if plugin_path is not None else _path_of(worker)
    click.echo(_listed([folder.strip() for folder in path.split(",") if folder.strip()]))


@plugin_command.command("describe")
@click.argument("plugin", metavar="CLASS", shell_complete=plugin_names)
@json_option
@asks_worker
def describe_command(client: KafkaConnectClient, plugin: str, in_json: bool) -> None:
    """Print the options of a plugin of the cluster: connector, transform, predicate or converter."""
    keys = client.plugin_config(plugin)
    if in_json:
        click.echo(json.dumps([key.model_dump() for key in keys], indent=2))
        return
    rows = [
        (key.name, key.type.lower(), "required" if key.required else key.default_value or "", key.documentation or "")
        for key in keys
    ]
    click.echo(table_text(("OPTION", "TYPE", "DEFAULT", "MEANING"), rows))


@plugin_command.command("new")
@click.argument("name")
@click.option("--source", "kind", flag_value="source", default="source", help="A source connector (the default).")
@click.option("--sink", "kind", flag_value="sink", help="A sink connector.")
@click.option("--transform", "kind", flag_value="transform", help="A transform.")
def new_command(name: str, kind: str) -> None:
    """Write an example project for a plugin into the folder NAME: code, a test of it, and what runs it."""
    try:
        folder = _write_project(name, kind, Path())
    except ConnectError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Wrote a {kind} into {folder}; its README.md has the next steps.")


def _path_of(worker: str | None) -> str:
    try:
        return load_properties(worker).get("plugin.path", "") if worker else ""
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


def _listed(path: Sequence[str]) -> str:
    from connect_dagster.isolation.plugins import Kind, Plugins  # loads PySpark, which `new` does without

    plugins = Plugins(path)
    rows = [
        (one.class_name, one.kind.value, one.version, one.location, ", ".join(dict.fromkeys(one.aliases)))
        for one in plugins.all(Kind)
    ]
    text = table_text(_HEADS, rows)
    java = [(name, str(one.path)) for one in plugins.java for name in one.classes or ("(not readable)",)]
    if not java:
        return text
    return f"{text}\n\nJava plugins, which cannot run in this worker:\n{table_text(('CLASS', 'LOCATION'), java)}"


def _write_project(name: str, kind: str, parent: Path) -> Path:
    """Write a project into a new folder of its name; return the folder. Its files are the templates beside this module.

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
    package, plugin = "_".join(parts).lower(), f"{title}{_KINDS[kind].class_suffix}"
    words = {
        "name": name,
        "folder": str(folder),
        "package": package,
        "title": title,
        "plugin": plugin,
        "alias": parts[0].lower(),
    }
    connector = _KINDS[kind].connector or f"{package}.plugin.{plugin}"
    return {**words, "connector": connector, "config": _python(_KINDS[kind].config(words))}


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
