"""``connect-dagster mirror``: reads what MirrorMaker writes, translates offsets, shows the state of flows.

``read`` and ``translate`` ask one cluster, as ``connect-dagster topic`` does. ``status`` and ``check`` ask all clusters
of a file, that of ``connect-mirror-maker``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, json_option
from connect_dagster.cli.mirror.flow_file import flows_of_file
from connect_dagster.cli.table_text import table_text
from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.connectors.mirror.client import GroupOffsets, MirrorClient
from connect_dagster.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from connect_dagster.errors import ConnectError
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.access import Brokers, client_settings
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.topic_reading import read_topic
from connect_dagster.protocol.wire import MalformedBytes

if TYPE_CHECKING:
    from connect_dagster.cli.mirror.flow_reading import FlowReading

_Decode: TypeAlias = Callable[[bytes | None, bytes | None], object]

_DECODERS: Mapping[str, _Decode] = {
    "offset-syncs": OffsetSync.decode,
    "checkpoints": Checkpoint.decode,
    "heartbeats": Heartbeat.decode,
}
_SECONDS = 10.0
_UNKNOWN = 2
"""Exit code when a cluster cannot be asked."""

_separator = click.option(
    "--separator",
    help="Of the replication policy, where it is not a dot. The file of --command-config may have all options of the "
    "policy: replication.policy.*.",
)
_file = click.argument("file", metavar="MM2.PROPERTIES", type=click.Path(exists=True, dir_okay=False))
_clusters = click.option(
    "--cluster", "targets", multiple=True, metavar="ALIAS", help="Flows to this cluster only; repeatable."
)


@click.group("mirror")
def mirror_command() -> None:
    """Show flows of MirrorMaker, translate offsets."""


@mirror_command.command()
@click.argument("topic")
@click.option("--as", "kind", type=click.Choice(list(_DECODERS)), help="Kind of the records, where the name differs.")
@brokers_options
def read(topic: str, kind: str | None, bootstrap_server: str | None, command_config: str | None) -> None:
    """Print offset syncs, checkpoints or heartbeats, a line each, as Kafka's formatters do."""
    brokers = chosen_brokers(bootstrap_server, command_config)
    decode = _DECODERS[kind or _kind_of(topic)]
    with _one_sentence(brokers):
        for message in read_topic(brokers, topic, _SECONDS, isolation="read_uncommitted"):
            _print(decode, message.key(), message.value(), message.offset())


@mirror_command.command()
@click.argument("group")
@click.option("--source", required=True, metavar="ALIAS", help="Cluster that the group consumes.")
@_separator
@json_option
@brokers_options
def translate(
    group: str,
    source: str,
    separator: str | None,
    in_json: bool,
    bootstrap_server: str | None,
    command_config: str | None,
) -> None:
    """Print the offsets from which GROUP goes on in this cluster, by its last checkpoints."""
    brokers = chosen_brokers(bootstrap_server, command_config)
    with _one_sentence(brokers):
        client = MirrorClient({**client_settings(brokers), **_policy(separator)})
        offsets = client.remote_consumer_offsets(source, group.__eq__, _SECONDS).get(group)
    if offsets is None:
        raise click.ClickException(
            f"Group {group!r} of cluster {source!r} has no checkpoint here: has the group committed offsets "
            "there, and does MirrorCheckpointConnector run with groups that include it?"
        )
    click.echo(_as_json(offsets) if in_json else _as_table(offsets))


@mirror_command.command()
@_file
@_clusters
@json_option
def status(file: str, targets: Sequence[str], in_json: bool) -> None:
    """Print lag, latency and ages of the flows of a file.

    LAG is the number of records beyond the committed positions, WORST that of the partition with the most: positions
    are committed every offset.flush.interval.ms. RECORD, HEARTBEAT and CHECKPOINT are ages of the newest ones in the
    target, by their timestamps. LATENCY is the time from the newest heartbeat to its append in the target; it is known
    where the topic there has message.timestamp.type=LogAppendTime. Elsewhere HEARTBEAT is an upper bound of it. Exits
    with 2 when a cluster cannot be asked.
    """
    from connect_dagster.cli.mirror.flow_reading import flow_status, unread_status

    rows = [
        unread_status(flow, found) if isinstance(found, BrokersError) else flow_status(flow, found)
        for flow, found in _readings(file, targets)
    ]
    click.echo(json.dumps(rows, indent=2) if in_json else _status_table(rows))
    errors = [f"{row['flow']}: {row['error']}" for row in rows if row["error"]]
    for error in errors:
        click.echo(error, err=True)
    if errors:
        sys.exit(_UNKNOWN)


@mirror_command.command()
@_file
@_clusters
@click.option("--max-lag", default=1000, show_default=True, help="Records that a flow or a group may be behind.")
@click.option(
    "--max-age", default=300.0, show_default=True, help="Seconds that checkpoints may be behind their groups."
)
@json_option
def check(file: str, targets: Sequence[str], max_lag: int, max_age: float, in_json: bool) -> None:
    """Print whether consumers can move to the targets of a file's flows now.

    They can when all records of each flow but --max-lag have arrived by its committed positions, and each group has
    checkpoints of all its partitions, from which it would read at most as many. While a source is away its groups are
    judged by their checkpoints alone. Exits with 1 when they cannot, else with 2 when a cluster cannot be asked.
    """
    from connect_dagster.cli.mirror.flow_reading import flow_checks, unread_check

    rows: list[Mapping[str, Any]] = []
    for flow, found in _readings(file, targets):
        rows += (
            [unread_check(flow, found)]
            if isinstance(found, BrokersError)
            else flow_checks(flow, found, max_lag, max_age)
        )
    click.echo(json.dumps(rows, indent=2) if in_json else _check_table(rows))
    ready = {row["ready"] for row in rows}
    if ready != {True}:
        sys.exit(NOT_AS_WISHED if False in ready else _UNKNOWN)


def _readings(file: str, targets: Sequence[str]) -> Iterator[tuple[str, FlowReading | BrokersError]]:
    """Yield the flows of a file that replicate, each with its state, or with the error of its target's brokers."""
    # Dagster, which the other commands do not need, comes with it.
    from connect_dagster.cli.mirror.flow_reading import read_flow

    try:
        props = load_properties(file)
        plugins = Plugins.of(props)
        with closing(ConfigTransformer.of(props, plugins)) as transformer:
            _, flows = flows_of_file(props, targets, transformer)
            replicating = [flow for flow in flows if flow.replicates]
            if not replicating:
                to = f" to {', '.join(targets)}" if targets else ""
                raise click.ClickException(f"No flow{to} in {file} replicates topics: is A->B.enabled=true there?")
            for flow in replicating:
                try:
                    yield str(flow.flow), read_flow(flow, plugins.load_class, _SECONDS)
                except BrokersError as error:
                    yield str(flow.flow), error
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _one_sentence(brokers: Brokers) -> Iterator[None]:
    try:
        yield
    except UnansweredError as error:
        raise unanswered(brokers, str(error), _SECONDS) from error
    except (BrokersError, ConnectError) as error:
        raise click.ClickException(str(error)) from error


def _kind_of(topic: str) -> str:
    if "offset-syncs" in topic:
        return "offset-syncs"
    if "checkpoints" in topic:
        return "checkpoints"
    if topic.endswith("heartbeats"):
        return "heartbeats"
    raise click.UsageError(f"The name {topic!r} does not tell what its records are: add --as.")


def _print(decode: _Decode, key: bytes | None, value: bytes | None, offset: int | None) -> None:
    try:
        record = decode(key, value)
    except MalformedBytes as error:
        raise click.ClickException(f"The record at offset {offset} is none of this kind: {error}") from error
    if record is not None:
        click.echo(str(record))


def _policy(separator: str | None) -> dict[str, str]:
    return {} if separator is None else {"replication.policy.separator": separator}


def _status_table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ("flow", "topics", "lag", "worst", "record", "heartbeat", "latency", "checkpoint", "groups")
    return table_text([head.upper() for head in heads], [[_cell(row[head]) for head in heads] for row in rows])


def _check_table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ("flow", "group", "ready", "records", "why")
    return table_text([head.upper() for head in heads], [[_cell(row[head]) for head in heads] for row in rows])


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f} s"
        case _:
            return str(value)


def _as_json(offsets: GroupOffsets) -> str:
    return json.dumps([{"topic": topic, "partition": number, "offset": at} for topic, number, at in _rows(offsets)])


def _as_table(offsets: GroupOffsets) -> str:
    return table_text(
        ["TOPIC", "PARTITION", "OFFSET"], [[topic, str(number), str(at)] for topic, number, at in _rows(offsets)]
    )


def _rows(offsets: GroupOffsets) -> list[tuple[str, int, int]]:
    return sorted((one.topic, one.partition, committed.offset) for one, committed in offsets.items())
