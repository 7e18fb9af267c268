"""``connect-dagster diff`` and ``apply``: have the cluster run connectors as they are declared.

A declaration is a file as ``connect-standalone`` takes it, or stands in Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial

import click
import dagster as dg

from connect_dagster.cli.connectors.declarations import declarations
from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble, asks_worker, json_option, timeout_option
from connect_dagster.cli.connectors.verbs import act_and_report
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.orchestration.connectors.apply import ApplyPlan, InvalidConnectorsError, carry_out, plan_all

declarations_argument = click.argument("declared", metavar="DECLARATION...", nargs=-1, required=True)


@click.command("diff")
@declarations_argument
@json_option
@asks_worker
def diff_command(client: KafkaConnectClient, declared: Sequence[str], in_json: bool) -> None:
    """Print what apply would change, secrets masked.

    A DECLARATION is a connector's file, properties or JSON; a defs.yaml with connectors; or module:name of
    connectors declared in Python. The worker validates each. Exits with 1 when something would change.
    """
    plans = _plans(client, declared)
    _print(plans, in_json)
    if not all(planned.is_empty for planned in plans):
        sys.exit(NOT_AS_WISHED)


@click.command("apply")
@declarations_argument
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@timeout_option
@json_option
@asks_worker
def apply_command(
    client: KafkaConnectClient, declared: Sequence[str], dry_run: bool, timeout: float, in_json: bool
) -> None:
    """Have connectors as they are declared.

    Creates and changes them, and waits until they are in their state. A DECLARATION is a connector's file, properties
    or JSON; a defs.yaml with connectors; or module:name of connectors declared in Python. Nothing is changed when the
    worker refuses one of them; doing it twice changes nothing the second time.
    """
    plans = {planned.spec.name: planned for planned in _plans(client, declared)}
    _print(list(plans.values()), in_json)
    if not dry_run:
        goals = {name: planned.goal for name, planned in plans.items()}
        report = partial(click.echo, err=in_json)
        act_and_report(client, goals, lambda name: carry_out(client, plans[name]), timeout, report=report)


def _plans(client: KafkaConnectClient, declared: Sequence[str]) -> list[ApplyPlan]:
    try:
        return plan_all(client, declarations(declared))
    except InvalidConnectorsError as error:
        raise Trouble("\n".join(error.sentences)) from None
    except dg.Failure as error:
        raise Trouble(str(error.description)) from error
    except dg.DagsterInvalidDefinitionError as error:
        raise Trouble(str(error)) from error


def _print(plans: Sequence[ApplyPlan], in_json: bool) -> None:
    if in_json:
        click.echo(json.dumps([_as_json(planned) for planned in plans], indent=2))
    else:
        click.echo("\n".join(line for planned in plans for line in planned.lines()))


def _as_json(planned: ApplyPlan) -> dict[str, object]:
    return {
        "name": planned.spec.name,
        "creates": planned.creates,
        "changed_keys": planned.diff.changed_keys,
        "state": planned.state,
        "goal": planned.goal,
        "diff": planned.diff.lines(),
    }
