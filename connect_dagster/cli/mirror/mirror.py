"""``connect-dagster mirror``: reads what MirrorMaker writes to a cluster, and translates offsets of groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import click

from connect_dagster.cli.table_text import table_text
from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.connectors.mirror.client import GroupOffsets, MirrorClient
from connect_dagster.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from connect_dagster.errors import ConnectError
from connect_dagster.kafka.access import Brokers, client_settings
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.topic_reading import read_topic
from connect_dagster.protocol.wire import MalformedBytes

_Decode: TypeAlias = Callable[[bytes | None, bytes | None], object]

_DECODERS: Mapping[str, _Decode] = {
    "offset-syncs": OffsetSync.decode,
    "checkpoints": Checkpoint.decode,
    "heartbeats": Heartbeat.decode,
}
_SECONDS = 10.0

_separator = click.option("--separator", help="Of the replication policy, where it is not a dot.")


@click.group("mirror")
@brokers_options
@click.pass_context
def mirror_command(context: click.Context, bootstrap_server: str, command_config: str | None) -> None:
    """Read what MirrorMaker writes, and translate offsets of groups."""
    context.obj = chosen_brokers(bootstrap_server, command_config)


@mirror_command.command()
@click.argument("topic")
@click.option("--as", "kind", type=click.Choice(list(_DECODERS)), help="Kind of the records, where the name differs.")
@click.pass_obj
def read(brokers: Brokers, topic: str, kind: str | None) -> None:
    """Print offset syncs, checkpoints or heartbeats, a line each, as Kafka's formatters do."""
    decode = _DECODERS[kind or _kind_of(topic)]
    with _one_sentence(brokers):
        for message in read_topic(brokers, topic, _SECONDS, isolation="read_uncommitted"):
            _print(decode, message.key(), message.value(), message.offset())


@mirror_command.command()
@click.argument("group")
@click.option("--source", required=True, metavar="ALIAS", help="Cluster that the group consumes.")
@_separator
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def translate(brokers: Brokers, group: str, source: str, separator: str | None, as_json: bool) -> None:
    """Print the offsets from which GROUP goes on in this cluster, by its last checkpoints."""
    with _one_sentence(brokers):
        client = MirrorClient({**client_settings(brokers), **_policy(separator)})
        offsets = client.remote_consumer_offsets(source, group.__eq__, _SECONDS).get(group)
    if offsets is None:
        raise click.ClickException(
            f"Group {group!r} of cluster {source!r} has no checkpoint here: has the group committed offsets "
            "there, and does MirrorCheckpointConnector run with groups that include it?"
        )
    click.echo(_as_json(offsets) if as_json else _as_table(offsets))


@contextmanager
def _one_sentence(brokers: Brokers) -> Iterator[None]:
    try:
        yield
    except UnansweredError as error:
        raise unanswered(brokers, str(error)) from error
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


def _as_json(offsets: GroupOffsets) -> str:
    return json.dumps([{"topic": topic, "partition": number, "offset": at} for topic, number, at in _rows(offsets)])


def _as_table(offsets: GroupOffsets) -> str:
    return table_text(
        ["TOPIC", "PARTITION", "OFFSET"], [[topic, str(number), str(at)] for topic, number, at in _rows(offsets)]
    )


def _rows(offsets: GroupOffsets) -> list[tuple[str, int, int]]:
    return sorted((one.topic, one.partition, committed.offset) for one, committed in offsets.items())
