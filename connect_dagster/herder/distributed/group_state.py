"""The state of a worker in its group, and the parts of transitions that several of them share (see ``group_loop``)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from connect_dagster.herder.distributed import group_messages as do
from connect_dagster.herder.distributed.group_messages import Action, ConfigRead
from connect_dagster.herder.restart_plan import RestartPlan
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.group_structs import NO_ERROR, Assignment, ConnectProtocol, assigned_entries
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work

NEVER = float("inf")
CATCH_UP_TRIES = 5


class Phase(Enum):
    """The answer that the loop waits for."""

    IDLE = auto()
    READING = auto()
    LEASE = auto()
    COORDINATOR = auto()
    JOINING = auto()
    JOINED = auto()
    CATCHING_UP = auto()
    MEMBER = auto()
    KEY = auto()
    CLAIMING = auto()
    RENEWING = auto()
    SERVING = auto()
    CHANGING = auto()
    ENDED = auto()


@dataclass(frozen=True, slots=True)
class Rules:
    """The part of a worker's configuration that the loop depends on.

    Attributes:
        topic_tracking: ``topic.tracking.enable``.
        unsync_backoff_ms: ``worker.unsync.backoff.ms``.
        max_delay_ms: ``scheduled.rebalance.max.delay.ms``.
        heartbeat_ms: ``heartbeat.interval.ms``, after which the other members know of a rebalance.
    """

    topic_tracking: bool = True
    unsync_backoff_ms: int = 300_000
    max_delay_ms: int = 300_000
    heartbeat_ms: int = 3_000


@dataclass(frozen=True, slots=True)
class GroupState:
    """The state of a worker in its group.

    Attributes:
        rules: configuration of the worker.
        protocol: the protocol that the group agreed on; before that, the preferred one.
        phase: the answer that the loop waits for.
        config: the config topic as the loop has seen it last.
        generation: of the group; -1 before the first join.
        assignment: the latest one; ``None`` while this worker is not a member.
        owned: the assigned work.
        running: the work that was started.
        stopped_for_restart: tasks of ``running`` that wait for a rebalance to start with a new configuration.
        joining: whether a join is under way.
        claim_until: when a worker without its lease, whose work writes nothing, stops that work; otherwise ``NEVER``.
        carried_out: whether the assigned work was started.
        rejoin_at: when the group has to rebalance because of an assignment's delay.
        unread: whether the config topic must be read before anything else.
        tries_left: how many times the worker backs off before it tries again at once.
        key_retry_at: the earliest time to write a session key.
    """

    rules: Rules
    protocol: ConnectProtocol
    phase: Phase = Phase.IDLE
    config: ClusterConfigState = field(default_factory=ClusterConfigState)
    generation: int = -1
    assignment: Assignment | None = None
    owned: Work = field(default_factory=Work)
    running: Work = field(default_factory=Work)
    stopped_for_restart: frozenset[TaskId] = frozenset()
    joining: bool = False
    claim_until: float = NEVER
    carried_out: bool = False
    rejoin_at: float = NEVER
    unread: bool = False
    tries_left: int = CATCH_UP_TRIES
    key_retry_at: float = -NEVER


Actions = tuple[Action, ...]
Outcome = tuple[GroupState, Actions]


def assignment_of(state: GroupState) -> Assignment:
    """Return the assignment of a worker that has one."""
    assert state.assignment is not None, f"phase {state.phase.name} needs an assignment"
    return state.assignment


def allocation_of(state: GroupState) -> Assignment | None:
    """Return the owned work as the leader of the next rebalance learns of it."""
    if state.assignment is None or state.protocol is ConnectProtocol.EAGER:
        return None
    return replace(state.assignment, assigned=assigned_entries(state.owned), revoked=())


def came_or_went(before: ClusterConfigState, after: ClusterConfigState) -> bool:
    """Return whether one of the configurations has a connector that the other lacks."""
    return before.connectors() != after.connectors()


def seen(state: GroupState, event: ConfigRead) -> Outcome:
    """Take a configuration that was read."""
    # A change may be seen here before its event was read, which then is not a change any more.
    changed = (do.ExpectRebalance(),) if came_or_went(state.config, event.config) else ()
    text = f"Finished reading to end of log and updated config snapshot, new config log offset: {event.config.offset}"
    return replace(state, config=event.config), (*changed, do.Log(text))


def read(state: GroupState, event: ConfigRead) -> Outcome:
    """Take a configuration that was read within the round: the config topic is readable."""
    state, actions = seen(state, event)
    return replace(state, unread=False, tries_left=CATCH_UP_TRIES), actions


def give_up(state: GroupState, why: str) -> Outcome:
    """Stop all work, because others may have it already."""
    if state.assignment is None:
        return state, ()
    text = (
        f"{why}. Revoking previous assignment {state.owned} to avoid running tasks while not being a member the group"
    )
    stopped, actions = revoke(state, state.running)
    outside = replace(stopped, owned=Work(), assignment=None, claim_until=NEVER, carried_out=False)
    return outside, (do.Log(text, logging.WARNING), *actions, do.PublishOwned(None), do.RequestRejoin())


def revoke(state: GroupState, work: Work) -> Outcome:
    """Stop work, and have its last states written before others start it."""
    names = dict.fromkeys((*work.connectors, *(id.connector for id in work.tasks)))
    deleted = tuple(name for name in names if not state.config.contains(name))
    return replace(state, running=state.running.minus(work)), (
        do.Stop(work, f"stopping {len(work.connectors)} connectors and {len(work.tasks)} tasks"),
        do.Log("Finished stopping tasks in preparation for rebalance"),
        *((do.ResetTopics(deleted),) if deleted and state.rules.topic_tracking else ()),
        do.FlushStatuses(),
        do.Log("Finished flushing status backing store in preparation for rebalance"),
    )


def retried(state: GroupState) -> do.Log:
    """Return the log line of an assignment that does not count yet."""
    failed = assignment_of(state).error != NO_ERROR
    return do.Log(
        "Join group completed, but assignment failed. Retrying."
        if failed
        else "Catching up to assignment's config offset.",
        logging.WARNING,
    )


def restarted(state: GroupState, plan: RestartPlan) -> Actions:
    """Return the part of a restart that concerns this worker."""
    name = plan.status.name
    mine = Work(
        tuple(one for one in state.owned.connectors if plan.connector and one == name),
        tuple(id for id in plan.tasks if id in state.owned.tasks),
    )
    stage = f"handling restart request for connector {name}"
    return do.Log(f"Executing {plan}"), do.Stop(mine, stage), do.ReportRestarting(mine), do.Start(mine, stage)


def restarted_connectors(state: GroupState, names: frozenset[str]) -> Actions:
    """Return the restart of connectors with a new configuration; their tasks follow when theirs have one."""
    mine = tuple(name for name in state.owned.connectors if name in names)
    if not mine:
        return ()
    stage = f"restarting {len(mine)} reconfigured connectors"
    starts = (
        (
            do.Log(f"Handling connector-only config update by restarting connector {name}"),
            do.Start(Work((name,)), stage),
        )
        for name in mine
        if state.config.contains(name)
    )
    return do.Stop(Work(mine), stage), *(action for pair in starts for action in pair)


def retargeted(state: GroupState, names: frozenset[str]) -> list[Action]:
    """Return the changes of target states."""
    targets = {name: state.config.target_state(name) for name in sorted(names) if state.config.contains(name)}
    return [do.SetTargetState(name, target) for name, target in targets.items() if target is not None]


def replanned(state: GroupState) -> Actions:
    """Return the request to plan tasks that connectors here have lost, as by a commit that was written twice.

    Java leaves such connectors without tasks.
    """
    lost = state.config.inconsistent_connectors()
    mine = tuple(name for name in state.owned.connectors if name in lost)
    return (do.Reconfigure(mine),) if mine else ()


def stopped_to_reconfigure(tasks: tuple[TaskId, ...]) -> Actions:
    """Return the stop of tasks that start again with a new configuration after the rebalance."""
    text = (
        f"Handling task config update by stopping tasks [{', '.join(map(str, tasks))}], which will be restarted after "
        "rebalance if still assigned to this worker"
    )
    return do.Log(text), do.Stop(Work(tasks=tasks), f"stopping {len(tasks)} reconfigured tasks")
