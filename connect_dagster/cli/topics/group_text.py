"""Format a group for ``connect-dagster group describe``: JSON with decoded subscriptions and assignments. Pure."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from connect_dagster.kafka.groups import DescribedGroup, DescribedMember
from connect_dagster.protocol import consumer_structs, group_structs
from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription
from connect_dagster.protocol.group_structs import Assignment, WorkerMetadata

Decode: TypeAlias = Callable[[bytes], Any]

_DECODERS: dict[str, tuple[Decode, Decode]] = {
    group_structs.PROTOCOL_TYPE: (WorkerMetadata.decode, Assignment.decode),
    consumer_structs.PROTOCOL_TYPE: (ConsumerSubscription.decode, ConsumerAssignment.decode),
}
"""By protocol type, how to read a subscription and an assignment; those of other types are shown in base64."""
_NAMES = {"offset": "config_offset"}


def group_json(described: DescribedGroup) -> str:
    """Return the group as an indented JSON object.

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


def _decoded(decode: Decode, data: bytes, member: DescribedMember, what: str) -> Any:
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
