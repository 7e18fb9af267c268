"""The group of workers as brokers describe it: members, leader, and the work of each member."""

from dataclasses import dataclass

from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.kafka.groups import DescribedGroup, DescribedMember, live_group, recorded_group
from connect_dagster.protocol.group_structs import PROTOCOL_TYPE, Assignment, WorkerMetadata, work_of
from connect_dagster.protocol.work import Work


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One worker of a group; while the group rebalances, ``None`` and empty for undecided values.

    Attributes:
        member_id: Which the broker gave it.
        client_id: Its ``client.id``.
        client_host: Its address as the broker sees it.
        rest_url: Where it takes requests.
        leader: Whether it leads the group.
        config_offset: How far it had read the config topic when it joined; -1 for not at all.
        connectors: Connectors it runs, sorted.
        tasks: Tasks it runs as ``connector-number``, sorted.
        generation: Of the group it belongs to; None when the brokers' record of the group could not be read.
    """

    member_id: str
    client_id: str
    client_host: str
    rest_url: str | None
    leader: bool
    config_offset: int | None
    connectors: tuple[str, ...]
    tasks: tuple[str, ...]
    generation: int | None


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """A group of workers.

    Attributes:
        group_id: Its ``group.id``.
        state: In the broker's words, ``Stable`` when its members agree.
        protocol: On which they agreed: ``sessioned``, ``compatible`` or ``default``.
        generation: Grows with each rebalance; None when the brokers' record of the group could not be read.
        leader: The leader's member id.
        leader_url: Where the leader takes requests.
        config_offset: How far the leader had read the config topic when it assigned the work.
        members: Sorted by their URL.
    """

    group_id: str
    state: str
    protocol: str | None
    generation: int | None
    leader: str | None
    leader_url: str | None
    config_offset: int | None
    members: tuple[MemberDescription, ...]


def read_worker_group(bootstrap_servers: Bootstrap, group_id: str, timeout: float) -> WorkerGroup:
    """Describe the group at its coordinator, and read the generation from its record, the only place that has it.

    Args:
        bootstrap_servers: Brokers, ``host:port``, separated by commas.
        group_id: The workers' ``group.id``.
        timeout: Bound for each request, in seconds.

    Raises:
        BrokersError: No broker responds, the group does not exist, or it is not a group of workers.
    """
    live = live_group(bootstrap_servers, group_id, timeout)
    if live.protocol_type not in ("", PROTOCOL_TYPE):
        raise BrokersError(
            f"Group {group_id!r} is of type {live.protocol_type!r}: Connect workers form {PROTOCOL_TYPE!r}."
        )
    return worker_group(live, _generation(bootstrap_servers, live, timeout))


def worker_group(described: DescribedGroup, generation: int | None) -> WorkerGroup:
    """Return the group that a coordinator described, with its members' metadata decoded.

    Args:
        described: What the coordinator said.
        generation: Of the group, if it is known.
    """
    assignments = [Assignment.decode(member.assignment) for member in described.members if member.assignment]
    latest = max(assignments, key=lambda assignment: assignment.offset, default=None)
    leader = latest.leader if latest else None
    members = [_member(member, leader, generation) for member in described.members]
    return WorkerGroup(
        group_id=described.group or "",
        state=described.state or "",
        protocol=described.protocol,
        generation=generation,
        leader=leader,
        leader_url=latest.leader_url if latest else None,
        config_offset=latest.offset if latest else None,
        members=tuple(sorted(members, key=lambda member: (member.rest_url or "", member.member_id))),
    )


def _member(member: DescribedMember, leader: str | None, generation: int | None) -> MemberDescription:
    metadata = WorkerMetadata.decode(member.subscription) if member.subscription else None
    work = _current_work(metadata, Assignment.decode(member.assignment) if member.assignment else None)
    return MemberDescription(
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rest_url=metadata.url if metadata else None,
        leader=member.member_id == leader,
        config_offset=metadata.offset if metadata else None,
        connectors=tuple(sorted(work.connectors)),
        tasks=tuple(map(str, sorted(work.tasks))),
        generation=generation,
    )


def _current_work(metadata: WorkerMetadata | None, assignment: Assignment | None) -> Work:
    """Return the work of a member: its work when it joined, minus the revoked, plus the assigned work.

    In the eager protocol (version 0) it ran nothing then, and is assigned everything.
    """
    kept = work_of(metadata.allocation.assigned) if metadata and metadata.allocation else Work()
    if assignment is None:
        return kept
    return kept.minus(work_of(assignment.revoked)).plus(work_of(assignment.assigned))


def _generation(bootstrap_servers: Bootstrap, live: DescribedGroup, timeout: float) -> int | None:
    """Return the generation in the group's last record, if the record has the same members."""
    try:
        recorded = recorded_group(bootstrap_servers, live.group or "", timeout)
    except BrokersError:
        return None
    same = {member.member_id for member in recorded.members} == {member.member_id for member in live.members}
    return recorded.generation if same else None
