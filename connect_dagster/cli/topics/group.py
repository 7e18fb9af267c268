"""``connect-dagster group``: what a group of workers, consumers or other clients agreed on.

Requests the brokers or reads a dump; does not use workers' REST.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.cli.topics.group_dump import read_dump
from connect_dagster.kafka.access import Brokers, with_servers
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.groups import DescribedGroup, DescribedMember, live_group, recorded_group
from connect_dagster.protocol import consumer_structs, group_structs
from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription
from connect_dagster.protocol.group_metadata import OFFSETS_TOPIC
from connect_dagster.protocol.group_structs import Assignment, WorkerMetadata

_Decode: TypeAlias = Callable[[bytes], Any]

_DECODERS: dict[str, tuple[_Decode, _Decode]] = {
    group_structs.PROTOCOL_TYPE: (WorkerMetadata.decode, Assignment.decode),
    consumer_structs.PROTOCOL_TYPE: (ConsumerSubscription.decode, ConsumerAssignment.decode),
}
"""By protocol type, how to read a subscription and an assignment; those of other types are shown in base64."""
_NAMES = {"offset": "config_offset"}


@click.group("group")
@brokers_options
@click.pass_context
def group_command(context: click.Context, bootstrap_server: str | None, command_config: str | None) -> None:
    """Describe groups of workers and consumers."""
    context.obj = chosen_brokers(bootstrap_server, command_config)


@group_command.command()
@click.argument("name", metavar="[GROUP]", required=False)
@click.option("--bootstrap-server", help="Brokers, as host:port; also possible here.")
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


def group_json(described: DescribedGroup) -> str:
    """Return the group as an indented JSON object, with decoded subscriptions and assignments.

    Raises:
        ValueError: a subscription or an assignment is malformed; names the member and the place.
    """
    members = [_member(described.protocol_type, member) for member in described.members]
    return json.dumps(
        {
            "group": described.group,
            "state": described.state,
            "protocol_type": described.protocol_type,
            "generation": described.generation,
            "protocol": described.protocol,
            "leader": described.leader or _leader_of_workers(described.protocol_type, members),
            "current_state_timestamp": described.current_state_timestamp,
            "members": members,
        },
        ensure_ascii=False,
        indent=2,
    )


def _member(protocol_type: str, member: DescribedMember) -> dict[str, Any]:
    subscription, assignment = _DECODERS.get(protocol_type, (bytes, bytes))
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout": member.rebalance_timeout,
        "session_timeout": member.session_timeout,
        "subscription": _decoded(subscription, member.subscription, member, "subscription"),
        "assignment": _decoded(assignment, member.assignment, member, "assignment"),
    }


def _decoded(decode: _Decode, data: bytes, member: DescribedMember, what: str) -> Any:
    if not data:  # while the group forms, brokers keep or show none
        return None
    try:
        return _plain(decode(data))
    except ValueError as error:
        raise ValueError(f"{what} of member {member.member_id!r} is malformed: {error}") from error


def _plain(value: Any) -> Any:
    """Return a decoded struct as JSON has it: bytes in base64."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {_NAMES.get(field.name, field.name): _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _leader_of_workers(protocol_type: str, members: list[dict[str, Any]]) -> str | None:
    """Return the leader that Connect's assignments name, where the source does not name one."""
    if protocol_type != group_structs.PROTOCOL_TYPE:
        return None
    leaders = {member["assignment"]["leader"] for member in members if member["assignment"]}
    return leaders.pop() if len(leaders) == 1 else None
