"""The decisions of the leader of a group in a rebalance: who runs what (Java: ``WorkerCoordinator``).

The assignors decide; this module gives them the members' metadata and the config topic.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.eager_assignor import assign_eagerly
from connect_dagster.protocol.group_structs import (
    CONFIG_MISMATCH,
    NO_ERROR,
    Assignment,
    ConnectProtocol,
    WorkerMetadata,
    assigned_entries,
    revoked_entries,
    work_of,
)
from connect_dagster.protocol.incremental_assignor import IncrementalAssignor
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Owners:
    """Workers of connectors and tasks, as the leader assigned them; URLs of workers."""

    connectors: Mapping[str, str]
    tasks: Mapping[TaskId, str]


@dataclass(frozen=True, slots=True)
class Round:
    """One decision.

    Attributes:
        assignments: encoded, by member id.
        owners: where everything runs then.
    """

    assignments: Mapping[str, bytes]
    owners: Owners


class Leader:
    """Decides for the group, and remembers from one decision to the next what Java's leader remembers.

    Args:
        max_delay_ms: ``scheduled.rebalance.max.delay.ms``.
        fresh: reads the configuration as it is now.
    """

    def __init__(self, max_delay_ms: int, fresh: Callable[[], ClusterConfigState]) -> None:
        self._assignor = IncrementalAssignor(max_delay_ms)
        self._fresh = fresh

    def decide(
        self,
        leader: str,
        protocol: ConnectProtocol,
        members: Mapping[str, WorkerMetadata],
        known: ClusterConfigState,
        *,
        generation: int,
        last_completed: int,
        now_ms: int,
    ) -> Round:
        """Assign all connectors and tasks.

        Args:
            leader: the member id of this worker.
            protocol: what the group agreed on.
            members: the metadata of each member, in the brokers' order.
            known: the configuration as this worker knew it when it joined.
            generation: of the group that forms.
            last_completed: the latest generation that this worker was a member of.
            now_ms: the time, in milliseconds.
        """
        url = members[leader].url
        newest = max(member.offset for member in members.values())
        config = known if known.offset >= newest else self._fresh()
        if config.offset < newest:
            log.info(
                "Was selected to perform assignments, but do not have latest config found in sync request. "
                "Returning an empty configuration to trigger re-sync."
            )
            nothing = _assignment(protocol, CONFIG_MISMATCH, leader, url, newest, Work(), Work(), 0)
            return Round(dict.fromkeys(members, nothing.encode()), Owners({}, {}))
        allocations = {id: _allocation(member) for id, member in members.items()}
        configured = configured_work(config)
        if protocol is ConnectProtocol.EAGER:
            decided = assign_eagerly(configured, members)
        else:
            decided = self._assignor.assign(
                configured=configured,
                allocations=allocations,
                generation=generation,
                last_completed_generation=last_completed,
                now_ms=now_ms,
            )
        encoded = {
            id: _assignment(
                protocol, NO_ERROR, leader, url, config.offset, one.assigned, one.revoked, decided.delay_ms
            ).encode()
            for id, one in decided.members.items()
        }
        return Round(encoded, _owners(members, decided.allocations))


def configured_work(config: ClusterConfigState) -> Work:
    """Return all connectors and tasks of a configuration."""
    connectors = tuple(sorted(config.connectors()))
    return Work(connectors, tuple(id for name in connectors for id in config.tasks(name)))


def _allocation(member: WorkerMetadata) -> Work:
    return work_of(member.allocation.assigned or ()) if member.allocation is not None else Work()


def _assignment(
    protocol: ConnectProtocol,
    error: int,
    leader: str,
    url: str,
    offset: int,
    assigned: Work,
    revoked: Work,
    delay: int,
) -> Assignment:
    entries = assigned_entries(assigned)
    if protocol is ConnectProtocol.EAGER:
        return Assignment(protocol.version, error, leader, url, offset, entries)
    return Assignment(protocol.version, error, leader, url, offset, entries, revoked_entries(revoked), delay)


def _owners(members: Mapping[str, WorkerMetadata], allocations: Mapping[str, Work]) -> Owners:
    connectors: dict[str, str] = {}
    tasks: dict[TaskId, str] = {}
    for id, work in allocations.items():
        connectors.update(dict.fromkeys(work.connectors, members[id].url))
        tasks.update(dict.fromkeys(work.tasks, members[id].url))
    return Owners(connectors, tasks)
