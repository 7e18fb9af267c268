"""``connect-dagster list``, ``status``, ``pause``, ``resume``, ``stop``, ``restart``, ``delete``: connectors by name.

Speaks to a worker's REST API, ours or Java's. What is asked happens later there, so each verb waits for its effect.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import click

from connect_dagster.cli.rest_access import NOT_AS_WISHED, Trouble, Waiting, asks_worker, json_option, timeout_option
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.masking import mask_text
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import Connector, ConnectorState
from connect_dagster.client.waiting import await_deleted, await_states
from connect_dagster.orchestration.declaring.apply import ASK_FOR
from connect_dagster.orchestration.failures import refusals
from connect_dagster.orchestration.operating.offsets_change import aim_of
from connect_dagster.plugin.connector_file import DesiredState

Ask = Callable[[KafkaConnectClient, str], None]

names_argument = click.argument("names", metavar="CONNECTOR...", nargs=-1, required=True)


@click.command("list")
@json_option
@asks_worker
def list_command(client: KafkaConnectClient, in_json: bool) -> None:
    """Print the connectors of the cluster."""
    found = [
        {"name": name, "type": connector.status.type.value, "class": connector.info.config.get("connector.class")}
        for name, connector in client.connectors().items()
    ]
    if in_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(table_text(("NAME", "TYPE", "CLASS"), [[str(cell) for cell in one.values()] for one in found]))


@click.command("status")
@click.argument("names", metavar="[CONNECTOR]...", nargs=-1)
@json_option
@asks_worker
def status_command(client: KafkaConnectClient, names: Sequence[str], in_json: bool) -> None:
    """Print the states of connectors.

    Those of their tasks too, and why they FAILED; of all connectors when none is named. Exits with 1 when one FAILED.
    """
    connectors = _known(client, names)
    if in_json:
        shown = {name: one.status.model_dump(mode="json") for name, one in connectors.items()}
        click.echo(_masked(json.dumps(shown, indent=2), connectors))
    else:
        rows = [row for one in connectors.values() for row in _status_rows(one)]
        click.echo(_masked(table_text(("CONNECTOR", "TYPE", "STATE", "WORKER", "WHY"), rows), connectors))
    if any(one.status.has_failed for one in connectors.values()):
        sys.exit(NOT_AS_WISHED)


@click.command("pause")
@names_argument
@timeout_option
@asks_worker
def pause_command(client: KafkaConnectClient, names: Sequence[str], timeout: float) -> None:
    """Have connectors move no records.

    Their tasks stay.
    """
    _go_to(client, names, DesiredState.PAUSED, timeout)


@click.command("resume")
@names_argument
@timeout_option
@asks_worker
def resume_command(client: KafkaConnectClient, names: Sequence[str], timeout: float) -> None:
    """Let paused or stopped connectors run again."""
    _go_to(client, names, DesiredState.RUNNING, timeout)


@click.command("stop")
@names_argument
@timeout_option
@asks_worker
def stop_command(client: KafkaConnectClient, names: Sequence[str], timeout: float) -> None:
    """End the tasks of connectors.

    Their configuration and offsets stay.
    """
    _go_to(client, names, DesiredState.STOPPED, timeout)


@click.command("restart")
@names_argument
@click.option("--all-tasks", is_flag=True, help="Restart each connector and all its tasks, not only what FAILED.")
@timeout_option
@asks_worker
def restart_command(client: KafkaConnectClient, names: Sequence[str], all_tasks: bool, timeout: float) -> None:
    """Restart what FAILED of connectors."""
    goals = {name: aim_of(one.status) for name, one in _known(client, names).items()}
    ask_and_await(client, goals, lambda _, name: client.restart(name, only_failed=not all_tasks), Waiting(timeout))


@click.command("delete")
@names_argument
@timeout_option
@asks_worker
def delete_command(client: KafkaConnectClient, names: Sequence[str], timeout: float) -> None:
    """Delete connectors; their offsets stay."""
    for name in _known(client, names):
        client.delete(name)
    waiting = Waiting(timeout)
    present = await_deleted(client, names, timeout=waiting.timeout, interval=waiting.interval)
    for name in names:
        click.echo(f"{name}: still there" if name in present else f"{name}: deleted")
    if present:
        sys.exit(NOT_AS_WISHED)


def ask_and_await(
    client: KafkaConnectClient,
    goals: Mapping[str, DesiredState],
    ask: Ask,
    waiting: Waiting,
    *,
    tell: Callable[[str], None] = click.echo,
) -> None:
    """Ask connectors, wait until they are where they are to be, and tell where they are.

    Exits with 1 when some did not get there, with 2 when the worker refused.
    """
    refused = refusals(goals, lambda name: ask(client, name))
    asked = {name: goal for name, goal in goals.items() if name not in refused}
    unreached = await_states(
        client,
        asked,
        timeout=waiting.timeout,
        interval=waiting.interval,
        reached=lambda name, states: tell(f"{name}: {states}"),
    )
    for name, states in unreached.items():
        click.echo(f"{name}: did not reach {goals[name]} within {waiting.timeout:g} s: {states}", err=True)
    if refused:
        raise Trouble("; ".join(refused.values()))
    if unreached:
        sys.exit(NOT_AS_WISHED)


def _go_to(client: KafkaConnectClient, names: Sequence[str], goal: DesiredState, timeout: float) -> None:
    ask_and_await(client, dict.fromkeys(names, goal), ASK_FOR[goal], Waiting(timeout))


def _known(client: KafkaConnectClient, names: Sequence[str]) -> dict[str, Connector]:
    """The connectors of these names, or all."""
    connectors = client.connectors()
    if unknown := [name for name in names if name not in connectors]:
        raise Trouble(
            f"The cluster at {client.url} has no connector {', '.join(unknown)}; "
            f"it has {', '.join(connectors) or 'none at all'}."
        )
    return {name: connectors[name] for name in names} or connectors


def _status_rows(connector: Connector) -> Iterator[tuple[str, ...]]:
    status = connector.status
    yield status.name, status.type.value, *_state_cells(status.connector)
    for task in status.tasks:
        yield f"  task {task.id}", "", *_state_cells(task)


def _state_cells(state: ConnectorState) -> tuple[str, str, str]:
    why = (state.trace or "").strip().partition("\n")[0]
    return state.state.value, state.worker_id, why


def _masked(text: str, connectors: Mapping[str, Connector]) -> str:
    return mask_text(text, [connector.info.config for connector in connectors.values()])
