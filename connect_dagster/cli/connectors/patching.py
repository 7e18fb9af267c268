"""``connect-dagster patch``: change keys of a connector's configuration (KIP-477)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from connect_dagster.cli.connectors.details import name_argument
from connect_dagster.cli.connectors.rest_access import Trouble, asks_worker, timeout_option
from connect_dagster.cli.connectors.verbs import act_and_report, known_connectors
from connect_dagster.client.config_diff import ConfigDiff
from connect_dagster.client.operations import target_state_of
from connect_dagster.client.option_pages import refusal_text
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import ConfigValidation


@click.command("patch")
@name_argument
@click.option("-s", "--set", "given", metavar="KEY=VALUE", multiple=True, help="Give a key a value.")
@click.option("-r", "--remove", "removed", metavar="KEY", multiple=True, help="Remove a key.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@timeout_option
@asks_worker
def patch_command(
    client: KafkaConnectClient,
    name: str,
    given: Sequence[str],
    removed: Sequence[str],
    dry_run: bool,
    timeout: float,
) -> None:
    """Change keys of a configuration; the others stay.

    The worker validates it before. Waits until the connector runs it.
    """
    changes: dict[str, str | None] = {**key_value_pairs(given), **dict.fromkeys(removed)}
    if not changes:
        raise click.UsageError("Nothing to change: give --set KEY=VALUE or --remove KEY")
    known = known_connectors(client, [name])[name]
    before = known.info.config
    unknown = [key for key in removed if key not in before]
    if unknown:
        raise Trouble(f"The configuration of {name} has no {', '.join(unknown)}.")
    after = {key: value for key, value in {**before, **changes}.items() if key not in removed}
    diff = ConfigDiff(before, after, valid(client, name, after).secret_keys())
    click.echo("\n".join([f"{name}: no change" if diff.is_empty else f"{name}: change", *diff.lines()]))
    if not dry_run and not diff.is_empty:
        goals = {name: target_state_of(known.status)}
        act_and_report(client, goals, lambda one: client.patch_config(one, changes), timeout)


def valid(client: KafkaConnectClient, name: str, config: Mapping[str, str | None]) -> ConfigValidation:
    """Return the worker's validation of a configuration. Raises Trouble when it has errors."""
    validation = client.validate(config)
    if errors := validation.errors():
        reasons = refusal_text(config.get("connector.class") or "", errors)
        raise Trouble(f"The worker refuses the configuration of {name}: {reasons}. Nothing was changed.")
    return validation


def key_value_pairs(given: Sequence[str]) -> dict[str, str]:
    """Return options of the form KEY=VALUE as a configuration. Raises UsageError for one of another form."""
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{text} is not KEY=VALUE")
        pairs[key] = value
    return pairs
