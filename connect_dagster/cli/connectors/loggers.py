"""``connect-dagster loggers``: show and set what a worker logs (KIP-495, KIP-976)."""

from __future__ import annotations

import json

import click

from connect_dagster.cli.connectors.rest_access import asks_worker, json_option
from connect_dagster.cli.connectors.shell_completion import logger_names
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.worker.logs.levels import LEVELS

name_argument = click.argument("name", metavar="LOGGER", shell_complete=logger_names)


@click.group("loggers")
def loggers_command() -> None:
    """Show and set the levels of loggers."""


@loggers_command.command("list")
@json_option
@asks_worker
def list_command(client: KafkaConnectClient, in_json: bool) -> None:
    """Print the loggers of a worker with their levels."""
    levels = client.loggers()
    click.echo(json.dumps(levels, indent=2) if in_json else table_text(("LOGGER", "LEVEL"), levels.items()))


@loggers_command.command("get")
@name_argument
@asks_worker
def get_command(client: KafkaConnectClient, name: str) -> None:
    """Print the level of a logger."""
    click.echo(client.logger(name))


@loggers_command.command("set")
@name_argument
@click.argument("level", metavar="LEVEL", type=click.Choice(list(LEVELS), case_sensitive=False))
@click.option("--cluster", is_flag=True, help="On all workers of the group.")
@asks_worker
def set_command(client: KafkaConnectClient, name: str, level: str, cluster: bool) -> None:
    """Set the level of a logger and those below it.

    LOGGER is that of a Python module, of a Java class, root, or connector:NAME for all lines about a connector.
    """
    changed = client.set_logger_level(name, level.upper(), cluster=cluster)
    click.echo(f"{name}: {level.upper()} on all workers" if cluster else "\n".join(changed) or f"{name}: no change")
