"""``connect-dagster history`` and ``rollback``: the configurations that a connector has had.

REST knows the current one only, so they are read from the config topic of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from connect_dagster.cli.connectors.details import name_argument
from connect_dagster.cli.connectors.patching import valid
from connect_dagster.cli.connectors.rest_access import Trouble, asks_worker, json_option, timeout_option
from connect_dagster.cli.connectors.verbs import act_and_report
from connect_dagster.cli.contexts.context_option import chosen_context, given_context
from connect_dagster.cli.table_text import table_text, time_text
from connect_dagster.cli.topics.brokers import brokers_beside_worker, chosen_brokers, unanswered
from connect_dagster.client.config_diff import ConfigDiff
from connect_dagster.client.config_history import ConfigVersion, read_config_versions, version_before
from connect_dagster.client.masking import mask_config, mask_text
from connect_dagster.client.operations import target_state_of
from connect_dagster.client.plugin_secrets import password_keys
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError, MissingTopicError, UnansweredError
from connect_dagster.kafka.groups import ANSWER_SECONDS
from connect_dagster.plugin.connector_file import DesiredState

DEFAULT_TOPIC = "connect-configs"
_config_topic = click.option(
    "--config-topic",
    envvar="CONNECT_DAGSTER_CONFIG_TOPIC",
    show_envvar=True,
    metavar="TOPIC",
    help="Topic that config.storage.topic of the workers names; by default that of the current context, "
    f"else {DEFAULT_TOPIC}.",
)


def _reads_history(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that lead to a worker and to the config topic of its cluster."""
    return asks_worker(brokers_beside_worker(_config_topic(command)))


@click.command("history")
@name_argument
@click.option("--diff", "pair", nargs=2, type=int, metavar="A B", help="Print what changed from version A to B.")
@json_option
@_reads_history
def history_command(
    client: KafkaConnectClient,
    name: str,
    pair: tuple[int, int] | None,
    in_json: bool,
    bootstrap_server: str | None,
    command_config: str | None,
    config_topic: str | None,
) -> None:
    """Print the configurations that a connector has had, and their differences.

    Read from the config topic, as far as its compaction has left them; secrets are masked. A version's number is the
    offset of its record. A deleted connector has a history, too.
    """
    versions = _versions(_topic(bootstrap_server, command_config, config_topic), name)
    secret_keys = _secret_keys(client, versions)
    if pair is not None:
        before, after = (_numbered(versions, name, number) for number in pair)
        diff = ConfigDiff(before.config, after.config or {}, secret_keys)
        lines = diff.lines() or ["no change"]
        click.echo(json.dumps(_diff_json(pair, diff), indent=2) if in_json else "\n".join(lines))
    elif in_json:
        click.echo(json.dumps([_version_json(version, secret_keys) for version in versions], indent=2))
    else:
        rows = [
            (str(version.number), time_text(version.timestamp), _change(before, version))
            for before, version in zip([None, *versions], versions, strict=False)
        ]
        click.echo(table_text(("VERSION", "TIME", "CHANGE"), rows))


@click.command("rollback")
@name_argument
@click.option("--to", "number", type=int, metavar="VERSION", help="Version of `history`; by default the one before.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@timeout_option
@_reads_history
def rollback_command(
    client: KafkaConnectClient,
    name: str,
    number: int | None,
    dry_run: bool,
    timeout: float,
    bootstrap_server: str | None,
    command_config: str | None,
    config_topic: str | None,
) -> None:
    """Give a connector an earlier configuration.

    Prints the change, secrets masked, and waits until the connector runs with it. The worker validates it before.
    Its offsets stay. Creates a connector that was deleted, RUNNING.
    """
    topic = _topic(bootstrap_server, command_config, config_topic)
    versions = _versions(topic, name)
    live = client.connectors().get(name)
    _require_current(client, topic, versions, name, None if live is None else live.info.config)
    version = version_before(versions) if number is None else _numbered(versions, name, number)
    if version is None:
        raise Trouble(f"No other configuration of {name} is in {topic}; compaction may have removed older ones.")
    if version.config is None:
        raise Trouble(f"Version {version.number} of {name} is its deletion: use `connect-dagster delete`.")
    config = {**version.config, "name": name}
    secret_keys = valid(client, name, config).secret_keys() | _secret_keys(client, versions)
    diff = ConfigDiff(None if live is None else live.info.config, config, secret_keys)
    step = "create as" if live is None else "no change to" if diff.is_empty else "change to"
    click.echo("\n".join([f"{name}: {step} version {version.number}", *diff.lines()]))
    if not dry_run and not diff.is_empty:
        goals = {name: DesiredState.RUNNING if live is None else target_state_of(live.status)}
        act_and_report(client, goals, lambda one: client.put_config(one, config), timeout)


class _Topic(NamedTuple):
    """The config topic of a cluster."""

    brokers: Brokers
    name: str

    def __str__(self) -> str:
        return f"topic {self.name!r} at {self.brokers}"


def _topic(bootstrap_server: str | None, command_config: str | None, config_topic: str | None) -> _Topic:
    """Return the brokers and the config topic that the options, or a context, name."""
    chosen = chosen_context(given_context(), bootstrap_server, "--bootstrap-server") or {}
    brokers = chosen_brokers(bootstrap_server, command_config)
    return _Topic(brokers, config_topic or chosen.get("config_topic", DEFAULT_TOPIC))


def _versions(topic: _Topic, name: str) -> Sequence[ConfigVersion]:
    try:
        by_name = read_config_versions(*topic, ANSWER_SECONDS)
    except UnansweredError as error:
        raise unanswered(topic.brokers, str(error)) from error
    except MissingTopicError as error:
        raise Trouble(
            f"There is no {topic}, or its user may not describe it: --config-topic "
            "must be what config.storage.topic of the workers is, and --command-config the user's login."
        ) from error
    except BrokersError as error:
        raise Trouble(f"Cannot read {topic}: {error}") from error
    if name not in by_name:
        known = ", ".join(sorted(by_name)) or "none at all"
        raise Trouble(f"No configuration of a connector {name} is in {topic}; there are those of {known}.")
    return by_name[name]


def _numbered(versions: Sequence[ConfigVersion], name: str, number: int) -> ConfigVersion:
    for version in versions:
        if version.number == number:
            return version
    known = ", ".join(str(version.number) for version in versions)
    raise Trouble(f"{name} has no version {number}, or compaction has removed it; there are {known}.")


def _require_current(
    client: KafkaConnectClient,
    topic: _Topic,
    versions: Sequence[ConfigVersion],
    name: str,
    live: Mapping[str, str | None] | None,
) -> None:
    """Raise Trouble when the worker has another configuration than the topic, which may be of another cluster."""
    latest = versions[-1].config
    if (None if latest is None else {**latest, "name": name}) != (None if live is None else {**live, "name": name}):
        raise Trouble(
            f"The worker at {mask_text(client.url)} has another configuration of {name} than version "
            f"{versions[-1].number} of {topic}: either that is the topic of another cluster, or the configuration has "
            "just been changed; then try again. Nothing was changed."
        )


def _secret_keys(client: KafkaConnectClient, versions: Sequence[ConfigVersion]) -> frozenset[str]:
    classes = sorted({version.connector_class for version in versions} - {""})
    return frozenset[str]().union(*(password_keys(client, each) for each in classes))


def _change(before: ConfigVersion | None, version: ConfigVersion) -> str:
    if version.config is None:
        return "deleted"
    if before is None:
        return "the first one that is left"
    if before.config is None:
        return "created"
    return ", ".join(ConfigDiff(before.config, version.config).changed_keys) or "no change"


def _version_json(version: ConfigVersion, secret_keys: frozenset[str]) -> dict[str, object]:
    config = None if version.config is None else mask_config(version.config, secret_keys)
    return {"version": version.number, "timestamp": version.timestamp, "config": config}


def _diff_json(pair: tuple[int, int], diff: ConfigDiff) -> dict[str, object]:
    return {"from": pair[0], "to": pair[1], "changed_keys": diff.changed_keys, "diff": diff.lines()}
