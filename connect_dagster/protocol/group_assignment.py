"""The decision of a leader in one rebalance: who starts and stops what, and when the group meets again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.protocol.work import Work


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """The decision for one member.

    Attributes:
        assigned: what is new for it; in an eager round everything it has to run.
        revoked: what it has to stop; always empty in an eager round.
    """

    assigned: Work
    revoked: Work


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The decision for all members.

    Attributes:
        members: what each member is told, by member id.
        allocations: what each member runs once it has done so, by member id; who owns what, for the leader to forward
            requests (Java: ``WorkerCoordinator.LeaderState``).
        delay_ms: milliseconds after which every member has to join again; 0 for no further join.
    """

    members: Mapping[str, MemberAssignment]
    allocations: Mapping[str, Work]
    delay_ms: int
