"""``connect-dagster list``, ``status``, ``pause``, ``resume``, ``stop``, ``restart``, ``delete``: connectors by name.

Speaks to a worker's REST API, ours or Java's. A worker carries a request out later, so each verb waits for the effect.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import click

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble, asks_worker, json_option, timeout_option
from connect_dagster.cli.connectors.shell_completion import connector_names
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.masking import mask_text
from connect_dagster.client.operations import (
    DELETED,
    Ask,
    Outcome,
    Wait,
    ask_and_await,
    delete_and_await,
    target_state_of,
)
from connect_dagster.client.progress import Progress, progress_of
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import Connector, ConnectorState
from connect_dagster.plugin.connector_file import DesiredState

names_argument = click.argument(
    "names", metavar="CONNECTOR...", nargs=-1, required=True, shell_complete=connector_names
)
patterns_option = click.option(
    "-e", "--reg-exp", "patterns", is_flag=True, help="CONNECTOR is a regular expression of whole names."
)


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
@click.argument("names", metavar="[CONNECTOR]...", nargs=-1, shell_complete=connector_names)
@json_option
@asks_worker
def status_command(client: KafkaConnectClient, names: Sequence[str], in_json: bool) -> None:
    """Print the states of connectors.

    Those of their tasks too, and why they FAILED; of all connectors when none is named. Running snapshots and sinks
    with a backlog follow, as far as the worker that is asked has their tasks. Exits with 1 when one FAILED.
    """
    connectors = known_connectors(client, names)
    progress = read_progress(client, connectors)
    if in_json:
        shown = {
            name: {**one.status.model_dump(mode="json"), "progress": [each.as_json() for each in progress[name]]}
            for name, one in connectors.items()
        }
        click.echo(_masked(json.dumps(shown, indent=2), connectors))
    else:
        rows = [row for one in connectors.values() for row in _status_rows(one)]
        click.echo(_masked(table_text(("CONNECTOR", "TYPE", "STATE", "WORKER", "WHY"), rows), connectors))
        if moving := [(name, each.part, each.text()) for name, found in progress.items() for each in found]:
            click.echo(f"\n{table_text(('CONNECTOR', 'PART', 'PROGRESS'), moving)}")
    if any(one.status.has_failed for one in connectors.values()):
        sys.exit(NOT_AS_WISHED)


@click.command("pause")
@names_argument
@patterns_option
@timeout_option
@asks_worker
def pause_command(client: KafkaConnectClient, names: Sequence[str], patterns: bool, timeout: float) -> None:
    """Pause connectors.

    Their tasks stay.
    """
    _set_state(client, _named(client, names, patterns), DesiredState.PAUSED, timeout)


@click.command("resume")
@names_argument
@patterns_option
@timeout_option
@asks_worker
def resume_command(client: KafkaConnectClient, names: Sequence[str], patterns: bool, timeout: float) -> None:
    """Resume paused or stopped connectors."""
    _set_state(client, _named(client, names, patterns), DesiredState.RUNNING, timeout)


@click.command("stop")
@names_argument
@patterns_option
@timeout_option
@asks_worker
def stop_command(client: KafkaConnectClient, names: Sequence[str], patterns: bool, timeout: float) -> None:
    """Stop connectors and end their tasks.

    Their configuration and offsets stay.
    """
    _set_state(client, _named(client, names, patterns), DesiredState.STOPPED, timeout)


@click.command("restart")
@names_argument
@click.option("--all-tasks", is_flag=True, help="Restart each connector and all its tasks, not only FAILED parts.")
@click.option("--task", type=click.IntRange(min=0), help="Restart the task of this number alone.")
@patterns_option
@timeout_option
@asks_worker
def restart_command(
    client: KafkaConnectClient,
    names: Sequence[str],
    all_tasks: bool,
    task: int | None,
    patterns: bool,
    timeout: float,
) -> None:
    """Restart FAILED connectors and tasks."""
    if all_tasks and task is not None:
        raise click.UsageError("Give --all-tasks or --task, not both")
    known = known_connectors(client, _named(client, names, patterns))
    if missing := [name for name, one in known.items() if task not in (None, *(each.id for each in one.status.tasks))]:
        raise Trouble(f"{', '.join(missing)} has no task {task}; `connect-dagster status` shows those that there are.")
    goals = {name: target_state_of(one.status) for name, one in known.items()}

    def ask(name: str) -> None:
        if task is None:
            client.restart(name, only_failed=not all_tasks)
        else:
            client.restart_task(name, task)

    act_and_report(client, goals, ask, timeout)


@click.command("delete")
@names_argument
@patterns_option
@timeout_option
@asks_worker
def delete_command(client: KafkaConnectClient, names: Sequence[str], patterns: bool, timeout: float) -> None:
    """Delete connectors; their offsets stay."""
    names = _named(client, names, patterns)
    outcome = delete_and_await(client, known_connectors(client, names), Wait(timeout))
    for name in names:
        if name not in outcome.refused:
            click.echo(f"{name}: still there" if name in outcome.unreached else f"{name}: {DELETED}")
    _exit(outcome)


def act_and_report(
    client: KafkaConnectClient,
    goals: Mapping[str, DesiredState],
    ask: Ask,
    timeout: float,
    *,
    report: Callable[[str], None] = click.echo,
) -> None:
    """Send a request to each connector, wait for the effect, and print the states.

    Exits with 1 when some did not reach their target state, with 2 when the worker refused.
    """
    outcome = ask_and_await(client, goals, ask, Wait(timeout), reached=lambda name, states: report(f"{name}: {states}"))
    for name, states in outcome.unreached.items():
        click.echo(f"{name}: did not reach {goals[name]} within {timeout:g} s: {states}", err=True)
    _exit(outcome)


def _exit(outcome: Outcome) -> None:
    if outcome.refused:
        raise Trouble("; ".join(map(str, outcome.refused.values())))
    if outcome.unreached:
        sys.exit(NOT_AS_WISHED)


def _set_state(client: KafkaConnectClient, names: Sequence[str], state: DesiredState, timeout: float) -> None:
    act_and_report(client, dict.fromkeys(names, state), lambda name: client.set_target_state(name, state), timeout)


def _named(client: KafkaConnectClient, names: Sequence[str], patterns: bool) -> Sequence[str]:
    """Return the names, or those of the cluster that regular expressions match, each of which must match one."""
    if not patterns:
        return names
    known, found = list(client.connectors()), dict[str, None]()
    for pattern in names:
        try:
            matches = re.compile(pattern).fullmatch
        except re.error as error:
            raise Trouble(f"{pattern} is not a regular expression: {error}") from error
        matched = [name for name in known if matches(name)]
        if not matched:
            raise Trouble(f"{pattern} matches no connector of the cluster; it has {', '.join(known) or 'none at all'}.")
        found |= dict.fromkeys(matched)
    return list(found)


def known_connectors(client: KafkaConnectClient, names: Sequence[str]) -> dict[str, Connector]:
    """Return the connectors of these names, or all."""
    connectors = client.connectors()
    if unknown := [name for name in names if name not in connectors]:
        raise Trouble(
            f"The cluster at {client.url} has no connector {', '.join(unknown)}; "
            f"it has {', '.join(connectors) or 'none at all'}."
        )
    return {name: connectors[name] for name in names} or connectors


def read_progress(client: KafkaConnectClient, connectors: Mapping[str, Connector]) -> dict[str, list[Progress]]:
    """Return the progress of connectors by their names; none from a worker that does not give its metrics."""
    try:
        samples = client.metric_samples()
    except KafkaConnectError:
        samples = []
    return {name: progress_of(one, samples) for name, one in connectors.items()}


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
