"""``connect-dagster diff`` and ``apply``: have the cluster run connectors as they are declared.

A declaration is a file as ``connect-standalone`` takes it, a component, or stands in Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import dagster as dg
import yaml
from dagster.components.resolved.errors import ResolutionException
from pydantic import ValidationError

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble, asks_worker, json_option, timeout_option
from connect_dagster.cli.connectors.verbs import act_and_report
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from connect_dagster.orchestration.connectors.apply import (
    ApplyPlan,
    InvalidConnectorError,
    InvalidConnectorsError,
    carry_out,
    plan,
    plan_all,
)
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.resources.connector import ConnectorResource

_YAML = (".yaml", ".yml")

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


@click.command("validate")
@declarations_argument
@asks_worker
def validate_command(client: KafkaConnectClient, declared: Sequence[str]) -> None:
    """Validate declared connectors on the worker.

    A DECLARATION is that of apply. Prints each error; exits with 1 when there is one.
    """
    refused = False
    for spec in _declarations(declared):
        try:
            plan(client, spec)
        except InvalidConnectorError as error:
            refused = True
            click.echo(error.description, err=True)
        except dg.Failure as error:
            raise Trouble(str(error.description)) from error
        else:
            click.echo(f"{spec.name}: valid")
    if refused:
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
    """Apply declared connectors.

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
        return plan_all(client, _declarations(declared))
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


def _declarations(arguments: Sequence[str]) -> list[KafkaConnectConnectorSpec]:
    """Return the connectors that arguments of the command line declare, in their order.

    Raises:
        Trouble: an argument declares none, or two connectors have the same name.
    """
    found = [spec for argument in arguments for spec in _declared(argument)]
    names = [spec.name for spec in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Trouble(f"{', '.join(twice)} is declared twice")
    return found


def _declared(argument: str) -> Iterable[KafkaConnectConnectorSpec]:
    if (path := Path(argument)).exists():
        return _of_component(path) if path.suffix in _YAML else [_of_file(argument)]
    module, colon, name = argument.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), name)):
        raise Trouble(
            f"The file {argument} does not exist; a declaration is a file, or module:name of connectors in Python"
        )
    return _of_module(module, name)


def _of_file(path: str) -> KafkaConnectConnectorSpec:
    try:
        return KafkaConnectConnectorSpec.from_file(path)
    except ConnectError as error:
        raise Trouble(str(error)) from error


def _of_component(path: Path) -> list[KafkaConnectConnectorSpec]:
    """Return the connectors of a component's file; those of other components beside them are left out."""
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
        # Files that it names stand beside it.
        with chdir(path.parent):
            return [spec for document in documents for spec in _of_document(document)]
    except (yaml.YAMLError, ResolutionException, ValidationError) as error:
        raise Trouble(f"{path}: {error}") from error


def _of_document(document: Any) -> list[KafkaConnectConnectorSpec]:
    module, _, name = str(document.get("type", "")).rpartition(".")
    component = _loaded(module, name)
    if not (isinstance(component, type) and issubclass(component, KafkaConnectConnectorComponent)):
        return []
    declared: KafkaConnectConnectorComponent = component.resolve_from_dict(document.get("attributes") or {})
    return declared.connectors


def _of_module(module: str, name: str) -> list[KafkaConnectConnectorSpec]:
    return list(_specs(_loaded(module, name), f"{module}:{name}"))


def _loaded(module: str, name: str) -> object:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: object = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Trouble(f"{module}:{name} cannot be loaded: {error}") from error
    return found


def _specs(declared: object, where: str) -> Iterator[KafkaConnectConnectorSpec]:
    match declared:
        case KafkaConnectConnectorSpec():
            yield declared
        case ConnectorResource():
            yield declared.spec()
        case list() | tuple():
            for each in declared:
                yield from _specs(each, where)
        case _:
            raise Trouble(
                f"{where} holds {type(declared).__name__}, where KafkaConnectConnectorSpec or ConnectorResource "
                "were expected, or a list of them"
            )
