"""The state machine of a worker in its group: which work it runs, and when it joins, stops, starts and waits.

Rule 1: everything that decides about membership and assigned work is in this file and in ``group_state``, which has
the state and the parts that several transitions share. The herder's thread (``group_driver``) carries out actions and
returns events.

Rule 2: nothing here waits, reads a clock or knows a broker. :func:`step` is a function of a state, an event and the
time.

Theory of operation
===================

The herder's thread runs in rounds (Java: ``DistributedHerder.tick``). A round begins with ``Tick`` in phase IDLE and
ends in phase IDLE. In between each step ends with one :class:`~.group_messages.Question`, and its phase names the
answer that the loop waits for. A round has up to four parts, and each can end it early:

1. *Readable*: when an earlier read or write of the config topic failed, read it to the end before anything else.
   When that fails again the worker stops its work, leaves the group and backs off, so that others take the work.
2. *Member*: the lease is held (docs/decisions/0009), the coordinator is known, and no join is due; otherwise join.
   Without the lease the work writes nothing until the next assignment has stopped what others have by now. Where the
   group does not form within seconds, or without the coordinator, the worker stops all work.
   With the eager protocol all work stops before a join, with the other two only revoked work, after it.
3. *Assigned*: a new assignment is compared with the config topic. A worker that is behind reads the topic to its end.
   The assignment counts only if the leader had read exactly as far: otherwise the group rebalances again. A worker that
   has read less than the leader at the end of the topic, because somebody has deleted it, leaves until others have its
   work. Then the assigned work starts. A worker that had to stop revoked work requests one more rebalance, in which the
   leader gives that work to others. An assignment with a delay is followed by a rebalance after that delay.
4. *Working*: the leader claims the privilege to write the config topic, where that takes transactions, and renews the
   session key; then requests run, then restarts and other changes of the config topic
   are carried out. Connectors that came or went, and new task configurations, end the round with a rebalance.
   Reconfigured tasks stop at once and start after it. Otherwise the worker waits for a heartbeat, a change or
   a request.

``owned`` is the assigned work. ``running`` is the work that was started; it may contain FAILED work, and lacks nothing
of ``owned`` while the worker is in part 4, except for the tasks in ``stopped_for_restart``.

The table
=========

:data:`TRANSITIONS`, at the end of this file, is the machine itself: of the rows with the phase and the type of the
event, the first whose guard holds. ``Shutdown`` is possible in every phase. Any other pair without a row is an error
of the driver.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.herder.distributed import group_messages as do
from connect_dagster.herder.distributed.group_messages import (
    Action,
    Changes,
    ConfigNotRead,
    ConfigRead,
    CoordinatorAway,
    CoordinatorFound,
    Event,
    Joined,
    JoinPending,
    KeyChecked,
    KeyNotRenewed,
    KeyRenewed,
    LeaseHeld,
    LeaseLost,
    PrivilegesClaimed,
    PrivilegesNotClaimed,
    RestartsPlanned,
    Shutdown,
    StillMember,
    Tick,
)
from connect_dagster.herder.distributed.group_state import (
    CATCH_UP_TRIES,
    NEVER,
    Actions,
    GroupState,
    Outcome,
    Phase,
    allocation_of,
    assignment_of,
    came_or_went,
    give_up,
    read,
    replanned,
    restarted,
    restarted_connectors,
    retargeted,
    retried,
    revoke,
    seen,
    stopped_to_reconfigure,
)
from connect_dagster.protocol.group_structs import NO_ERROR, ConnectProtocol, work_of
from connect_dagster.protocol.work import Work

# Members that know of a rebalance join at once.
_CLAIM_SECONDS = 2.0
_KEY_RETRY_SECONDS = 1.0
# Java: CONFIG_TOPIC_WRITE_PRIVILEGES_BACKOFF_MS.
_CLAIM_BACKOFF_MS = 250
# Each attempt keeps the herder's thread for a second or more.
_MISSING_RETRY_SECONDS = 60.0

Guard = Callable[[GroupState, Any, float], bool]
Effect = Callable[[GroupState, Any, float], Outcome]


@dataclass(frozen=True, slots=True)
class Transition:
    """A row of the table.

    Attributes:
        phase: the phase before.
        event: the type of the event.
        guard: the condition, beside those of the rows above.
        effect: the state after the event, but for the phase, and the actions.
        next: the phase after.
    """

    phase: Phase
    event: type[Event]
    guard: Guard
    effect: Effect
    next: Phase


def step(state: GroupState, event: Event, now: float) -> tuple[GroupState, Actions]:
    """Return the state after an event, and the actions to carry out, in their order.

    Args:
        state: the state before.
        event: what has happened.
        now: seconds of a monotonic clock.

    Raises:
        ValueError: the event is not possible in this phase.
    """
    if isinstance(event, Shutdown) and state.phase is not Phase.ENDED:
        return replace(state, phase=Phase.ENDED), (
            do.StopAll(),
            do.FlushStatuses("shutting down"),
            do.CloseMembership(),
        )
    row = transition(state, event, now)
    after, actions = row.effect(state, event, now)
    return replace(after, phase=row.next), actions


def transition(state: GroupState, event: Event, now: float) -> Transition:
    """Return the row of the table that applies. Raises ValueError as :func:`step`."""
    for row in TRANSITIONS:
        if row.phase is state.phase and row.event is type(event) and row.guard(state, event, now):
            return row
    raise ValueError(f"{event} is not possible in phase {state.phase.name}")


# Guards


def always(state: GroupState, event: Event, now: float) -> bool:
    """Hold; the last row of a pair."""
    return True


def unread(state: GroupState, event: Event, now: float) -> bool:
    """An earlier read or write of the config topic has failed."""
    return state.unread


def assigned(state: GroupState, event: Event, now: float) -> bool:
    """The worker has an assignment."""
    return state.assignment is not None


def suspended(state: GroupState, event: Event, now: float) -> bool:
    """The work waits for a new assignment already."""
    return state.claim_until != NEVER


def claimed_for_too_long(state: GroupState, event: JoinPending, now: float) -> bool:
    """The group has not formed in the time in which a reachable one does."""
    return state.claim_until <= now


def no_join_needed(state: GroupState, event: CoordinatorFound, now: float) -> bool:
    """The group does not rebalance."""
    return not event.join_needed


def under_way(state: GroupState, event: Event, now: float) -> bool:
    """The worker has prepared for this join already."""
    return state.joining


def eager_and_assigned(state: GroupState, event: Event, now: float) -> bool:
    """All work must stop before the join."""
    return state.protocol is ConnectProtocol.EAGER and state.assignment is not None


def joined_eagerly(state: GroupState, event: Joined, now: float) -> bool:
    """The assignment lists all work of this worker."""
    return event.protocol is ConnectProtocol.EAGER


def joined_with_revocation(state: GroupState, event: Joined, now: float) -> bool:
    """The assignment revokes work."""
    return bool(work_of(event.assignment.revoked))


def behind_or_refused_as_leader(state: GroupState, event: StillMember, now: float) -> bool:
    """The config topic must be read before the assignment counts."""
    behind = state.config.offset < assignment_of(state).offset
    return behind or (refused(state, event, now) and event.leads)


def refused(state: GroupState, event: Event, now: float) -> bool:
    """The leader could not assign work, because it had not read the config topic far enough."""
    return assignment_of(state).error != NO_ERROR


def ahead(state: GroupState, event: StillMember, now: float) -> bool:
    """The worker has read more of the config topic than the leader had."""
    return state.config.offset != assignment_of(state).offset


def read_too_little(state: GroupState, event: ConfigRead, now: float) -> bool:
    """The config topic ends before the offset that the leader, or another worker, has read to."""
    return event.config.offset < assignment_of(state).offset


def read_elsewhere(state: GroupState, event: ConfigRead, now: float) -> bool:
    """The end of the config topic is not where the leader had read to."""
    return event.config.offset != assignment_of(state).offset


def revoked(state: GroupState, event: Event, now: float) -> bool:
    """The assignment has revoked work, which the leader gives to others in the next rebalance."""
    return bool(work_of(assignment_of(state).revoked))


def not_carried_out(state: GroupState, event: Event, now: float) -> bool:
    """The assigned work was not started, and only a join can lead to that."""
    return state.assignment is None or not state.carried_out


def delay_over(state: GroupState, event: Event, now: float) -> bool:
    """The assignment's delay is over."""
    return state.rejoin_at <= now


def unprivileged(state: GroupState, event: KeyChecked, now: float) -> bool:
    """This worker leads, and may not write the config topic yet, or no more."""
    return event.unprivileged


def key_due(state: GroupState, event: KeyChecked, now: float) -> bool:
    """This worker distributes session keys, and a new one is due."""
    may_write = state.protocol is ConnectProtocol.SESSIONED and event.leads and now >= state.key_retry_at
    return may_write and event.due


def nothing_changed(state: GroupState, event: Changes, now: float) -> bool:
    """No change of the config topic was read."""
    return not event.updates


def rebalances(state: GroupState, event: Changes, now: float) -> bool:
    """Connectors or tasks came or went."""
    return event.updates.rebalance or came_or_went(state.config, event.config)


def rebalances_eagerly(state: GroupState, event: Changes, now: float) -> bool:
    """Connectors or tasks came or went, and all work stops for the rebalance."""
    return state.protocol is ConnectProtocol.EAGER and rebalances(state, event, now)


# Effects: readable


def ask(*actions: Action) -> Effect:
    """Leave the state as it is."""
    return lambda state, event, now: (state, actions)


def read_then(following: Action) -> Effect:
    """Take the configuration that was read, and continue the round."""

    def effect(state: GroupState, event: ConfigRead, now: float) -> Outcome:
        state, actions = read(state, event)
        return state, (*actions, following)

    return effect


def leave_and_back_off(state: GroupState, event: ConfigNotRead, now: float) -> Outcome:
    """Stop the work, because others may take the work of a worker that leaves. Java's worker continues for a while."""
    state, actions = give_up(state, "The config topic could not be read in time")
    leaving = (*actions, do.Leave("taking too long to read the log"))
    unread = replace(state, unread=True)
    if state.protocol is ConnectProtocol.EAGER:
        return unread, (*leaving, do.BackOff(state.rules.unsync_backoff_ms))
    if state.tries_left == 0:
        return replace(unread, tries_left=CATCH_UP_TRIES), leaving
    pause = do.BackOff(state.rules.max_delay_ms // 10 // state.tries_left)
    return replace(unread, tries_left=state.tries_left - 1), (*leaving, pause)


def leave_and_rejoin(state: GroupState, event: ConfigNotRead, now: float) -> Outcome:
    """Stop the work, leave and back off; then join again."""
    state, actions = leave_and_back_off(state, event, now)
    return state, (*actions, do.RequestRejoin())


# Effects: member


def suspend(state: GroupState, event: LeaseLost, now: float) -> Outcome:
    """Join again, and claim the work, as Java's worker does; here it writes nothing meanwhile."""
    text = f"The session of this worker has ended. It joins again with {state.owned}, and writes nothing until then"
    return replace(state, claim_until=now + state.rules.heartbeat_ms / 1000 + _CLAIM_SECONDS), (
        do.Log(text, logging.WARNING),
        do.RequestRejoin(),
        do.FindCoordinator(),
    )


def lose_coordinator(state: GroupState, event: CoordinatorAway, now: float) -> Outcome:
    """Stop the work: this worker may not be a member any more."""
    return give_up(state, f"Broker coordinator was unreachable for {event.waited_ms}ms")


def give_up_claim(state: GroupState, event: JoinPending, now: float) -> Outcome:
    """Stop the work: others may run it soon, when the brokers cannot be reached from here."""
    return give_up(state, "The group did not form in time after the session of this worker had ended")


def begin_to_join(state: GroupState, event: CoordinatorFound, now: float) -> Outcome:
    """Join, and continue to work meanwhile."""
    return replace(state, joining=True), (do.Log("Rebalance started"), do.Join())


def stop_all_and_join(state: GroupState, event: CoordinatorFound, now: float) -> Outcome:
    """Stop all work, then join."""
    stopped, actions = revoke(state, state.running)
    return replace(stopped, joining=True), (do.Log("Rebalance started"), *actions, do.Join())


def take_assignment(state: GroupState, event: Joined, now: float) -> Outcome:
    """Own the assigned work: with the eager protocol it is complete, otherwise it adds to what the leader knew of."""
    told, was_suspended = event.assignment, suspended(state, event, now)
    state = replace(state, generation=event.generation, protocol=event.protocol, joining=False, claim_until=NEVER)
    eager, fresh = event.protocol is ConnectProtocol.EAGER, work_of(told.assigned)
    # Work may run before an eager assignment only when the group has just changed to that protocol.
    gone = state.running.minus(fresh) if eager else work_of(told.revoked)
    state, actions = revoke(state, gone) if gone else (state, ())
    if eager:
        owned = fresh
    else:
        # The work reported to the leader counts, also when this worker has given it up while the group formed.
        kept = work_of(event.allocation.assigned) if event.allocation is not None else Work()
        owned = fresh.plus(kept.minus(gone))
    state = replace(state, owned=owned, assignment=told, carried_out=False, rejoin_at=NEVER)
    joined = (
        f"Joined group at generation {event.generation} with protocol version {event.protocol.version} and got "
        f"assignment: {owned} with rebalance delay: {told.delay}"
    )
    measured, published = do.MeasureRebalance(event.protocol), do.PublishOwned(allocation_of(state))
    reports = (do.ReportAgain(state.running),) if was_suspended and state.running else ()
    return state, (
        *actions,
        do.RegainLease(event.generation),
        *reports,
        measured,
        do.Log(joined),
        published,
        do.ConfirmMembership(),
    )


# Effects: assigned


def after_joining(effect: Effect) -> Effect:
    """Begin the assignment's delay, and have the leader forget what no longer exists, before an effect."""

    def both(state: GroupState, event: StillMember, now: float) -> Outcome:
        told = assignment_of(state)
        forget = (do.ForgetDeleted(),) if event.leads and told.error == NO_ERROR else ()
        delayed = replace(state, rejoin_at=now + told.delay / 1000 if told.delay > 0 else NEVER)
        state, actions = effect(delayed, event, now)
        return state, (*forget, *actions)

    return both


def catch_up(state: GroupState, event: StillMember, now: float) -> Outcome:
    """Read the config topic as far as the leader had."""
    return state, (retried(state), do.ReadToEnd())


def retry(state: GroupState, event: StillMember, now: float) -> Outcome:
    """Leave it to the leader to read the config topic."""
    return state, (retried(state), do.RequestRejoin())


def leave_for_a_while(state: GroupState, event: ConfigRead, now: float) -> Outcome:
    """Stop the work, leave, and join again once others have the work. Java's worker joins again at once, and again.

    No waiting helps a worker that lacks a record of a deleted topic; one that comes back sooner would be given its
    work again, and nobody would do it.
    """
    state, first = seen(state, event)
    why = (
        f"The config topic ends at offset {event.config.offset}, before offset {assignment_of(state).offset} that "
        "another worker has read to: somebody has deleted it"
    )
    state, stopped = give_up(state, why)
    pause = do.BackOff(state.rules.max_delay_ms + 2 * state.rules.heartbeat_ms)
    return state, (*first, *stopped, do.Leave("the config topic has lost records"), pause, do.RequestRejoin())


def force_rebalance(state: GroupState, event: Event, now: float) -> Outcome:
    """Have the leader assign the work again, with the configuration that this worker knows."""
    text = (
        f"Current config state offset {state.config.offset} does not match group assignment "
        f"{assignment_of(state).offset}. Forcing rebalance."
    )
    return state, (do.Log(text), do.RequestRejoin())


def start_then(following: Action) -> Effect:
    """Start the assigned work that does not run yet."""

    def effect(state: GroupState, event: Event, now: float) -> Outcome:
        told = assignment_of(state)
        running = state.running.minus(Work(tasks=tuple(state.stopped_for_restart)))
        starting = state.owned.minus(running)
        count = len(starting.connectors) + len(starting.tasks)
        state = replace(state, running=state.owned, stopped_for_restart=frozenset(), carried_out=True)
        return state, (
            do.Log(f"Starting connectors and tasks using config offset {told.offset}"),
            do.Start(starting, f"starting {count} connector(s) and task(s) after a rebalance"),
            do.Log("Finished starting connectors and tasks"),
            do.RebalanceMeasured(state.generation, told.leader_url),
            following,
        )

    return effect


def once_read(effect: Effect) -> Effect:
    """Take the configuration that was read, before an effect."""

    def both(state: GroupState, event: ConfigRead, now: float) -> Outcome:
        state, first = read(state, event)
        state, then = effect(state, event, now)
        return state, (*first, *then)

    return both


# Effects: working


def rejoin_after_delay(state: GroupState, event: StillMember, now: float) -> Outcome:
    """Have the leader assign the work that waited for a lost worker."""
    return replace(state, rejoin_at=NEVER), (do.RequestRejoin(),)


def serve_without_key(state: GroupState, event: KeyNotRenewed, now: float) -> Outcome:
    """Continue without a new session key, and read the config topic first in the next round, unless it was deleted."""
    pause = _MISSING_RETRY_SECONDS if event.missing else _KEY_RETRY_SECONDS
    return replace(state, unread=not event.missing, key_retry_at=now + pause), _SERVE


def read_for_request(state: GroupState, event: ConfigRead, now: float) -> Outcome:
    """Take the configuration that a request has read."""
    return seen(state, event)


def restart(state: GroupState, event: RestartsPlanned, now: float) -> Outcome:
    """Restart the part of the connectors that runs here."""
    restarts = tuple(action for plan in event.plans for action in restarted(state, plan))
    return state, (*restarts, do.TakeChanges())


def see_changes(state: GroupState, event: Changes, now: float) -> Outcome:
    """Leave changes to the rebalance, in which everything stops and starts."""
    return replace(state, config=event.config), (do.RequestRejoin(),)


def carry_out_then(following: Action) -> Effect:
    """Restart connectors, change target states, stop reconfigured tasks until the rebalance, and plan lost ones."""

    def effect(state: GroupState, event: Changes, now: float) -> Outcome:
        updates = event.updates
        state = replace(state, config=event.config)
        actions = [*restarted_connectors(state, updates.connectors), *retargeted(state, updates.targets)]
        stopping = tuple(id for id in state.owned.tasks if id.connector in updates.reconfigured)
        if stopping and state.protocol is not ConnectProtocol.EAGER:
            actions += stopped_to_reconfigure(stopping)
            state = replace(state, stopped_for_restart=state.stopped_for_restart | {*stopping})
        if updates.rebalance:
            actions += replanned(state)
        return state, (*actions, following)

    return effect


# The table

_SERVE: Actions = (do.RunRequests(), do.PlanRestarts())
_REJOIN = do.RequestRejoin()
_IDLE, _MEMBER, _JOINED, _CAUGHT_UP = Phase.IDLE, Phase.MEMBER, Phase.JOINED, Phase.CATCHING_UP

TRANSITIONS: tuple[Transition, ...] = (
    Transition(_IDLE, Tick, unread, ask(do.ReadToEnd()), Phase.READING),
    Transition(_IDLE, Tick, assigned, ask(do.CheckLease()), Phase.LEASE),
    Transition(_IDLE, Tick, always, ask(do.FindCoordinator()), Phase.COORDINATOR),
    Transition(Phase.READING, ConfigRead, assigned, read_then(do.CheckLease()), Phase.LEASE),
    Transition(Phase.READING, ConfigRead, always, read_then(do.FindCoordinator()), Phase.COORDINATOR),
    Transition(Phase.READING, ConfigNotRead, always, leave_and_back_off, _IDLE),
    Transition(Phase.LEASE, LeaseHeld, always, ask(do.FindCoordinator()), Phase.COORDINATOR),
    Transition(Phase.LEASE, LeaseLost, suspended, ask(do.FindCoordinator()), Phase.COORDINATOR),
    Transition(Phase.LEASE, LeaseLost, always, suspend, Phase.COORDINATOR),
    Transition(Phase.COORDINATOR, CoordinatorAway, assigned, lose_coordinator, _IDLE),
    Transition(Phase.COORDINATOR, CoordinatorAway, always, ask(), _IDLE),
    Transition(Phase.COORDINATOR, CoordinatorFound, no_join_needed, ask(do.ConfirmMembership()), _MEMBER),
    Transition(Phase.COORDINATOR, CoordinatorFound, under_way, ask(do.Join()), Phase.JOINING),
    Transition(Phase.COORDINATOR, CoordinatorFound, eager_and_assigned, stop_all_and_join, Phase.JOINING),
    Transition(Phase.COORDINATOR, CoordinatorFound, always, begin_to_join, Phase.JOINING),
    Transition(Phase.JOINING, JoinPending, claimed_for_too_long, give_up_claim, _IDLE),
    Transition(Phase.JOINING, JoinPending, always, ask(), _IDLE),
    Transition(Phase.JOINING, Joined, joined_eagerly, take_assignment, _JOINED),
    Transition(Phase.JOINING, Joined, joined_with_revocation, take_assignment, _JOINED),
    Transition(Phase.JOINING, Joined, always, take_assignment, _JOINED),
    Transition(_JOINED, StillMember, behind_or_refused_as_leader, after_joining(catch_up), _CAUGHT_UP),
    Transition(_JOINED, StillMember, refused, after_joining(retry), _IDLE),
    Transition(_JOINED, StillMember, ahead, after_joining(force_rebalance), _IDLE),
    Transition(_JOINED, StillMember, revoked, after_joining(start_then(_REJOIN)), _IDLE),
    Transition(_JOINED, StillMember, always, after_joining(start_then(do.CheckKey())), Phase.KEY),
    Transition(_CAUGHT_UP, ConfigNotRead, always, leave_and_rejoin, _IDLE),
    Transition(_CAUGHT_UP, ConfigRead, read_too_little, leave_for_a_while, _IDLE),
    Transition(_CAUGHT_UP, ConfigRead, refused, read_then(_REJOIN), _IDLE),
    Transition(_CAUGHT_UP, ConfigRead, read_elsewhere, once_read(force_rebalance), _IDLE),
    Transition(_CAUGHT_UP, ConfigRead, revoked, once_read(start_then(_REJOIN)), _IDLE),
    Transition(_CAUGHT_UP, ConfigRead, always, once_read(start_then(do.CheckKey())), Phase.KEY),
    Transition(_MEMBER, StillMember, not_carried_out, ask(_REJOIN), _IDLE),
    Transition(_MEMBER, StillMember, delay_over, rejoin_after_delay, _IDLE),
    Transition(_MEMBER, StillMember, always, ask(do.CheckKey()), Phase.KEY),
    Transition(Phase.KEY, KeyChecked, unprivileged, ask(do.ClaimPrivileges()), Phase.CLAIMING),
    Transition(Phase.KEY, KeyChecked, key_due, ask(do.RenewKey()), Phase.RENEWING),
    Transition(Phase.KEY, KeyChecked, always, ask(*_SERVE), Phase.SERVING),
    Transition(Phase.CLAIMING, PrivilegesClaimed, always, ask(do.CheckKey()), Phase.KEY),
    Transition(Phase.CLAIMING, PrivilegesNotClaimed, always, ask(do.BackOff(_CLAIM_BACKOFF_MS)), _IDLE),
    Transition(Phase.RENEWING, KeyRenewed, always, ask(*_SERVE), Phase.SERVING),
    Transition(Phase.RENEWING, KeyNotRenewed, always, serve_without_key, Phase.SERVING),
    Transition(Phase.SERVING, ConfigRead, always, read_for_request, Phase.SERVING),
    Transition(Phase.SERVING, ConfigNotRead, always, ask(), Phase.SERVING),
    Transition(Phase.SERVING, RestartsPlanned, always, restart, Phase.CHANGING),
    Transition(Phase.CHANGING, Changes, nothing_changed, ask(do.Rest()), _IDLE),
    Transition(Phase.CHANGING, Changes, rebalances_eagerly, see_changes, _IDLE),
    Transition(Phase.CHANGING, Changes, rebalances, carry_out_then(_REJOIN), _IDLE),
    Transition(Phase.CHANGING, Changes, always, carry_out_then(do.Rest()), _IDLE),
)
