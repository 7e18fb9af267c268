"""Events that the group loop receives, and actions that it returns (see ``group_loop``).

An event is a fact that the herder has observed. An action is one operation; a :class:`Question` is an action whose
result is the next event, so it is the last action of its step.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from connect_dagster.herder.restart_plan import RestartPlan
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.group_structs import Assignment, ConnectProtocol
from connect_dagster.protocol.states import TargetState
from connect_dagster.protocol.work import Work

# Events


class Event:
    """A fact that the herder has observed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Tick(Event):
    """A round begins."""


@dataclass(frozen=True, slots=True)
class ConfigRead(Event):
    """The config topic was read to its end; a topic that somebody has deleted ends where this worker has read to."""

    config: ClusterConfigState


@dataclass(frozen=True, slots=True)
class ConfigNotRead(Event):
    """The end of the config topic was not reached in time, or the topic cannot be read."""


@dataclass(frozen=True, slots=True)
class LeaseHeld(Event):
    """The brokers still count this worker as a member."""


@dataclass(frozen=True, slots=True)
class LeaseLost(Event):
    """The session of this worker has ended, or may have."""


@dataclass(frozen=True, slots=True)
class CoordinatorFound(Event):
    """The group's coordinator is known.

    Attributes:
        join_needed: whether the group rebalances, or this worker has requested that.
    """

    join_needed: bool


@dataclass(frozen=True, slots=True)
class CoordinatorAway(Event):
    """The group's coordinator was not found in time.

    Attributes:
        waited_ms: duration of the search.
    """

    waited_ms: int


@dataclass(frozen=True, slots=True)
class Joined(Event):
    """The group has formed.

    Attributes:
        generation: of the group.
        protocol: the protocol that the group agreed on.
        assignment: the leader's assignment for this worker.
        allocation: the work that this worker had reported to the leader.
    """

    generation: int
    protocol: ConnectProtocol
    assignment: Assignment
    allocation: Assignment | None = None


@dataclass(frozen=True, slots=True)
class JoinPending(Event):
    """The group has not formed yet."""


@dataclass(frozen=True, slots=True)
class StillMember(Event):
    """The membership is confirmed.

    Attributes:
        leads: whether this worker leads the group.
    """

    leads: bool


@dataclass(frozen=True, slots=True)
class KeyChecked(Event):
    """The age of the session key is known.

    Attributes:
        leads: whether this worker leads the group.
        due: whether a new key has to be distributed.
        unprivileged: whether it leads and has to claim the privilege to write the config topic.
    """

    leads: bool
    due: bool
    unprivileged: bool = False


@dataclass(frozen=True, slots=True)
class PrivilegesClaimed(Event):
    """Other leaders can write no more to the config topic (KIP-618)."""


@dataclass(frozen=True, slots=True)
class PrivilegesNotClaimed(Event):
    """The brokers did not grant the privilege to write the config topic."""


@dataclass(frozen=True, slots=True)
class KeyRenewed(Event):
    """A new session key was written."""


@dataclass(frozen=True, slots=True)
class KeyNotRenewed(Event):
    """A new session key was not written, as far as this worker knows.

    Attributes:
        missing: whether somebody has deleted the config topic.
    """

    missing: bool = False


@dataclass(frozen=True, slots=True)
class RestartsPlanned(Event):
    """Requests for restarts were read from the config topic, and compared with the states of their connectors."""

    plans: tuple[RestartPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigUpdates:
    """Changes of the config topic since the herder took them last.

    Attributes:
        rebalance: whether connectors or tasks came or went, so that the group must rebalance.
        connectors: connectors with a new configuration, or removed before the herder knew them.
        targets: connectors with a new target state.
        reconfigured: connectors whose tasks have new configurations.
    """

    rebalance: bool = False
    connectors: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    reconfigured: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rebalance or self.connectors or self.targets or self.reconfigured)


@dataclass(frozen=True, slots=True)
class Changes(Event):
    """Changes of the config topic, and the configuration that they led to."""

    updates: ConfigUpdates
    config: ClusterConfigState


@dataclass(frozen=True, slots=True)
class Shutdown(Event):
    """The worker ends, at a user's request or because the herder has failed."""


# Actions


class Action:
    """One operation for the herder."""

    __slots__ = ()


class Question(Action):
    """An action whose result is the next event."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ReadToEnd(Question):
    """Read the config topic to its end: :class:`ConfigRead` or :class:`ConfigNotRead`."""


@dataclass(frozen=True, slots=True)
class CheckLease(Question):
    """Check the lease: :class:`LeaseHeld` or :class:`LeaseLost`."""


@dataclass(frozen=True, slots=True)
class FindCoordinator(Question):
    """Find the group's coordinator: :class:`CoordinatorFound` or :class:`CoordinatorAway`."""


@dataclass(frozen=True, slots=True)
class Join(Question):
    """Join the group, or continue a join: :class:`Joined` or :class:`JoinPending`."""


@dataclass(frozen=True, slots=True)
class ConfirmMembership(Question):
    """Report to the member that the herder is alive: :class:`StillMember`."""


@dataclass(frozen=True, slots=True)
class CheckKey(Question):
    """Check the age of the session key: :class:`KeyChecked`."""


@dataclass(frozen=True, slots=True)
class ClaimPrivileges(Question):
    """Claim the privilege to write the config topic: :class:`PrivilegesClaimed` or :class:`PrivilegesNotClaimed`."""


@dataclass(frozen=True, slots=True)
class RenewKey(Question):
    """Write a new session key: :class:`KeyRenewed` or :class:`KeyNotRenewed`."""


@dataclass(frozen=True, slots=True)
class PlanRestarts(Question):
    """Take the requests for restarts, and plan them: :class:`RestartsPlanned`."""


@dataclass(frozen=True, slots=True)
class TakeChanges(Question):
    """Take the changes of the config topic: :class:`Changes`."""


@dataclass(frozen=True, slots=True)
class RegainLease(Action):
    """Take the lease back: what the assignment of this generation revokes has stopped."""

    generation: int


@dataclass(frozen=True, slots=True)
class Stop(Action):
    """Stop connectors and tasks, and wait until they have stopped.

    Attributes:
        work: what to stop.
        stage: the operation that this belongs to, as users read it.
    """

    work: Work
    stage: str


@dataclass(frozen=True, slots=True)
class Start(Action):
    """Start connectors and tasks with the configuration that the loop has seen last.

    Attributes:
        work: what to start.
        stage: the operation that this belongs to, as users read it.
    """

    work: Work
    stage: str


@dataclass(frozen=True, slots=True)
class ReportRestarting(Action):
    """Report connectors and tasks as RESTARTING."""

    work: Work


@dataclass(frozen=True, slots=True)
class ReportAgain(Action):
    """Report the latest states of connectors and tasks that ran on over a lost lease."""

    work: Work


@dataclass(frozen=True, slots=True)
class SetTargetState(Action):
    """Start, pause or stop the parts of a connector that run here."""

    connector: str
    target: TargetState


@dataclass(frozen=True, slots=True)
class Reconfigure(Action):
    """Ask connectors that run here for the configurations of their tasks."""

    connectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResetTopics(Action):
    """Reset the active topics of connectors that no longer exist."""

    connectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlushStatuses(Action):
    """Wait until the brokers have all reported states.

    Attributes:
        stage: the operation that this belongs to, as users read it.
    """

    stage: str = "flushing updates to the status topic"


@dataclass(frozen=True, slots=True)
class ForgetDeleted(Action):
    """Remove the states of connectors and tasks that no longer exist."""


@dataclass(frozen=True, slots=True)
class PublishOwned(Action):
    """Publish the owned work to the leader in the next JoinGroup."""

    allocation: Assignment | None


@dataclass(frozen=True, slots=True)
class RequestRejoin(Action):
    """Request a rebalance of the group."""


@dataclass(frozen=True, slots=True)
class Leave(Action):
    """Leave the group, to join it again later."""

    reason: str


@dataclass(frozen=True, slots=True)
class BackOff(Action):
    """Wait for the given time, unless the worker ends."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class ExpectRebalance(Action):
    """Treat the changes that were not taken yet as a reason for a rebalance."""


@dataclass(frozen=True, slots=True)
class MeasureRebalance(Action):
    """Begin to measure a rebalance."""

    protocol: ConnectProtocol


@dataclass(frozen=True, slots=True)
class RebalanceMeasured(Action):
    """End the measurement of a rebalance."""

    generation: int
    leader_url: str


@dataclass(frozen=True, slots=True)
class RunRequests(Action):
    """Run the requests that are due."""


@dataclass(frozen=True, slots=True)
class Rest(Action):
    """Wait until an event, a request or a heartbeat is due."""


@dataclass(frozen=True, slots=True)
class StopAll(Action):
    """Refuse all requests from now on, stop all connectors and tasks, and wait until they have stopped."""


@dataclass(frozen=True, slots=True)
class CloseMembership(Action):
    """Leave the group for good, and close the connections to the brokers."""


@dataclass(frozen=True, slots=True)
class Log(Action):
    """Write a line to the log."""

    text: str
    level: int = logging.INFO
