"""``connect-dagster group``: what a group of workers, consumers or other clients agreed on.

Speaks to the brokers or reads a dump; knows nothing of workers' REST.
"""

from __future__ import annotations

import click

from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.cli.topics.group_dump import read_dump
from connect_dagster.cli.topics.group_text import group_json
from connect_dagster.kafka.access import Brokers, with_servers
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.groups import DescribedGroup, live_group, recorded_group
from connect_dagster.protocol.group_metadata import OFFSETS_TOPIC


@click.group("group")
@brokers_options
@click.pass_context
def group_command(context: click.Context, bootstrap_server: str, command_config: str | None) -> None:
    """Look into groups of workers and consumers."""
    context.obj = chosen_brokers(bootstrap_server, command_config)


@group_command.command()
@click.argument("name", metavar="[GROUP]", required=False)
@click.option("--bootstrap-server", help="Brokers to find the cluster by; may stand here too.")
@click.option(
    "--from-offsets-topic",
    is_flag=True,
    help=f"Read the group's last record in {OFFSETS_TOPIC}, which holds more than its coordinator returns.",
)
@click.option(
    "--record",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help=f"Read a record dumped from {OFFSETS_TOPIC} instead; - for standard input.",
)
@click.pass_obj
def describe(
    brokers: Brokers, name: str | None, bootstrap_server: str | None, from_offsets_topic: bool, record: str | None
) -> None:
    """Print a group as JSON, with each member's subscription and assignment decoded.

    The coordinator has no generation, timeouts and time of the last state change: they are null, unless read with
    --from-offsets-topic. Bytes of a protocol type other than connect and consumer are in base64.

    A dump for --record is a line of `connect-dagster topic read -J`, JSON as Kafka's GroupMetadataMessageFormatter and
    other tools print it, or the value alone: as it is, as hex or base64.
    """
    try:
        if record is not None:
            _check_alone(name, from_offsets_topic)
            described = _dumped(record)
        elif name is None:
            raise click.UsageError("Name a GROUP, or a dump with --record.")
        else:
            described = _of_cluster(with_servers(brokers, bootstrap_server), name, from_offsets_topic)
        text = group_json(described)
    except ValueError as error:
        raise click.ClickException(f"{record or name}: {error}.") from error
    click.echo(text)


def _check_alone(name: str | None, from_offsets_topic: bool) -> None:
    if name is not None or from_offsets_topic:
        raise click.UsageError("--record excludes GROUP and --from-offsets-topic: the dump holds one group.")


def _dumped(record: str) -> DescribedGroup:
    with click.open_file(record, "rb") as dump:
        return DescribedGroup.of_record(*read_dump(dump.read()))


def _of_cluster(bootstrap: Brokers, name: str, from_offsets_topic: bool) -> DescribedGroup:
    try:
        if from_offsets_topic:
            return DescribedGroup.of_record(name, recorded_group(bootstrap, name))
        return live_group(bootstrap, name)
    except UnansweredError as error:
        raise unanswered(bootstrap, str(error)) from error
    except BrokersError as error:
        raise click.ClickException(f"Kafka at {bootstrap}: {error}") from error
