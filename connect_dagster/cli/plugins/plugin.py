"""``connect-dagster plugin``: list the plugins that a worker would find on ``plugin.path``, and start a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from connect_dagster.cli.plugins.project import write_project
from connect_dagster.cli.table_text import table_text
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties

_HEADS = ("CLASS", "KIND", "VERSION", "LOCATION", "ALIASES")


@click.group("plugin")
def plugin_command() -> None:
    """See which plugins a worker would find, or begin one."""


@plugin_command.command("list")
@click.argument("worker", metavar="[WORKER.PROPERTIES]", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--plugin-path", metavar="FOLDERS", help="Folders, separated by commas, instead of the file's.")
def list_command(worker: str | None, plugin_path: str | None) -> None:
    """Print the plugins that a worker with this file, or this path, would find.

    Jars and zips of Java plugins on the path, which cannot run here, stand apart. Why something could not be loaded
    goes to the standard error.
    """
    path = plugin_path if plugin_path is not None else _path_of(worker)
    click.echo(_listed([folder.strip() for folder in path.split(",") if folder.strip()]))


@plugin_command.command("new")
@click.argument("name")
@click.option("--source", "kind", flag_value="source", default="source", help="A source connector (the default).")
@click.option("--sink", "kind", flag_value="sink", help="A sink connector.")
@click.option("--transform", "kind", flag_value="transform", help="A transform.")
def new_command(name: str, kind: str) -> None:
    """Write an example project for a plugin into the folder NAME: code, a test of it, and what runs it."""
    try:
        folder = write_project(name, kind, Path())
    except ConnectError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Wrote a {kind} into {folder}; its README.md says how to go on.")


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
