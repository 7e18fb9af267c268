"""``connect-dagster offsets``: show, alter and reset what connectors have committed (KIP-875)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from connect_dagster.cli.connectors.rest_access import Trouble, asks_worker, json_option, timeout_option
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.offsets_change import Modify, change_offsets
from connect_dagster.client.operations import Wait
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import PartitionOffset

SHAPE = '{"offsets": [{"partition": {…}, "offset": {…}}, …]}'

name_argument = click.argument("name", metavar="CONNECTOR")


@click.group("offsets")
def offsets_command() -> None:
    """Show and change the offsets of a connector."""


@offsets_command.command()
@name_argument
@json_option
@asks_worker
def show(client: KafkaConnectClient, name: str, in_json: bool) -> None:
    """Print the committed offsets, of a source or of a sink's consumer group."""
    _print(client.offsets(name), in_json)


@offsets_command.command()
@name_argument
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@timeout_option
@json_option
@asks_worker
def alter(client: KafkaConnectClient, name: str, file: str, timeout: float, in_json: bool) -> None:
    """Set offsets from FILE, JSON as `show --json` prints it; - for standard input.

    Partitions it does not name stay as they are; a null as offset resets one. The connector is stopped for it, and
    taken back to the state it was in.
    """
    entries = _read(file)
    _change(client, name, lambda asked, connector: asked.alter_offsets(connector, entries), timeout, in_json)


@offsets_command.command()
@name_argument
@timeout_option
@json_option
@asks_worker
def reset(client: KafkaConnectClient, name: str, timeout: float, in_json: bool) -> None:
    """Forget all offsets: a source sends everything again, a sink reads everything again.

    The connector is stopped for it, and taken back to the state it was in.
    """
    _change(client, name, KafkaConnectClient.reset_offsets, timeout, in_json)


def _change(client: KafkaConnectClient, name: str, modify: Modify, timeout: float, in_json: bool) -> None:
    changed = change_offsets(client, name, modify, lambda before: before, Wait(timeout))
    click.echo(changed.message, err=True)
    _print(changed.after, in_json)


def _print(offsets: Sequence[PartitionOffset], in_json: bool) -> None:
    if in_json:
        click.echo(json.dumps({"offsets": [entry.model_dump() for entry in offsets]}, indent=2))
    else:
        rows = [(json.dumps(entry.partition), json.dumps(entry.offset)) for entry in offsets]
        click.echo(table_text(("PARTITION", "OFFSET"), rows))


def _read(file: str) -> list[dict[str, Any]]:
    try:
        with click.open_file(file, "rb") as opened:
            document = json.load(opened)
    except ValueError as error:
        raise Trouble(f"{file} is not valid JSON: {error}") from error
    entries = document.get("offsets") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "partition" in entry for entry in entries):
        raise Trouble(f"{file} must hold {SHAPE}")
    return entries
