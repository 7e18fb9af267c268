"""``connect-dagster info``, ``describe`` and ``reset-topics``: a worker, a connector and its topics in detail."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, asks_worker, json_option
from connect_dagster.cli.connectors.shell_completion import connector_names
from connect_dagster.cli.connectors.verbs import known_connectors, read_progress
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.masking import mask_config, mask_text
from connect_dagster.client.progress import Progress
from connect_dagster.client.rest_client import KafkaConnectClient

name_argument = click.argument("name", metavar="CONNECTOR", shell_complete=connector_names)


@click.command("info")
@json_option
@asks_worker
def info_command(client: KafkaConnectClient, in_json: bool) -> None:
    """Print version, cluster and health of a worker.

    Exits with 1 when it is not healthy.
    """
    server, health = client.server_info(), client.health()
    found = {"url": mask_text(client.url), **server.model_dump(), **health.model_dump()}
    click.echo(json.dumps(found, indent=2) if in_json else _lines(found))
    if health.status != "healthy":
        sys.exit(NOT_AS_WISHED)


@click.command("describe")
@name_argument
@json_option
@asks_worker
def describe_command(client: KafkaConnectClient, name: str, in_json: bool) -> None:
    """Print a connector: states, configuration without secrets, topics, offsets.

    And how far a running snapshot or a sink's backlog is, where the worker that is asked has its tasks.
    """
    known = known_connectors(client, [name])[name]
    status, config = known.status, known.info.config
    secret = client.validate(config).secret_keys()
    progress = read_progress(client, {name: known})[name]
    found: dict[str, Any] = {
        "name": name,
        "type": status.type.value,
        "connector": status.connector.model_dump(mode="json", exclude_none=True),
        "tasks": [task.model_dump(mode="json", exclude_none=True) for task in status.tasks],
        "progress": [each.as_json() for each in progress],
        "config": mask_config(config, secret),
        "topics": client.active_topics(name),
        "offsets": [entry.model_dump() for entry in client.offsets(name)],
    }
    text = json.dumps(found, indent=2) if in_json else _described(found, progress)
    click.echo(mask_text(text, [config], secret))


@click.command("reset-topics")
@name_argument
@asks_worker
def reset_topics_command(client: KafkaConnectClient, name: str) -> None:
    """Forget the topics that a connector has used; those that it still uses come back."""
    known_connectors(client, [name])
    client.reset_topics(name)
    click.echo(f"{name}: topics reset")


def _described(found: dict[str, Any], progress: Sequence[Progress]) -> str:
    states = [("connector", found["connector"]), *((f"task {task['id']}", task) for task in found["tasks"])]
    rows = [(part, state["state"], state["worker_id"]) for part, state in states]
    offsets = [(json.dumps(entry["partition"]), json.dumps(entry["offset"])) for entry in found["offsets"]]
    sections = {
        "": _lines({"name": found["name"], "type": found["type"], "topics": ", ".join(found["topics"]) or "none yet"}),
        "States": table_text(("PART", "STATE", "WORKER"), rows),
        **({"Progress": _lines({each.part: each.text() for each in progress})} if progress else {}),
        **{f"Failure of {part}": state["trace"].rstrip() for part, state in states if state.get("trace")},
        "Configuration": _lines(found["config"]),
        "Offsets": table_text(("PARTITION", "OFFSET"), offsets) if offsets else "none",
    }
    return "\n\n".join(f"{heading}:\n{text}" if heading else text for heading, text in sections.items())


def _lines(values: dict[str, Any]) -> str:
    width = max(map(len, values), default=0)
    texts = {name: "" if value is None else value for name, value in values.items()}
    return "\n".join(f"{name.ljust(width)}  {text}".rstrip() for name, text in texts.items())
