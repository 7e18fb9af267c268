"""Every transition of the group loop: the state after it, and the actions in their order."""

import logging
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from connect_dagster.herder.distributed.group_loop import TRANSITIONS, step, transition
from connect_dagster.herder.distributed.group_messages import (
    Action,
    BackOff,
    Changes,
    CheckKey,
    CheckLease,
    ClaimPrivileges,
    CloseMembership,
    ConfigNotRead,
    ConfigRead,
    ConfigUpdates,
    ConfirmMembership,
    CoordinatorAway,
    CoordinatorFound,
    Event,
    ExpectRebalance,
    FindCoordinator,
    FlushStatuses,
    ForgetDeleted,
    Join,
    Joined,
    JoinPending,
    KeyChecked,
    KeyNotRenewed,
    KeyRenewed,
    LeaseHeld,
    LeaseLost,
    Leave,
    Log,
    MeasureRebalance,
    PlanRestarts,
    PrivilegesClaimed,
    PrivilegesNotClaimed,
    PublishOwned,
    ReadToEnd,
    RebalanceMeasured,
    RegainLease,
    RenewKey,
    ReportAgain,
    ReportRestarting,
    RequestRejoin,
    ResetTopics,
    Rest,
    RestartsPlanned,
    RunRequests,
    SetTargetState,
    Shutdown,
    Start,
    StillMember,
    Stop,
    StopAll,
    TakeChanges,
    Tick,
)
from connect_dagster.herder.distributed.group_state import NEVER, GroupState, Phase
from connect_dagster.herder.interface import ConnectorStatus, ConnectorType
from connect_dagster.herder.restart_plan import RestartPlan
from connect_dagster.protocol.group_structs import (
    CONFIG_MISMATCH,
    Assignment,
    ConnectProtocol,
    assigned_entries,
)
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.work import Work
from tests.unit.herder.distributed.group_values import (
    ALL,
    CONFIG,
    LEADER_URL,
    NOTHING,
    OFFSET,
    OTHER,
    RULES,
    configured,
    joined,
    member,
    outside,
    told,
    work,
)

NOW = 1000.0
EAGER, SESSIONED, COMPATIBLE = ConnectProtocol.EAGER, ConnectProtocol.SESSIONED, ConnectProtocol.COMPATIBLE
READ_LOG = "Finished reading to end of log and updated config snapshot, new config log offset: "
SERVE = (RunRequests(), PlanRestarts())


@dataclass(frozen=True, slots=True)
class Scenario:
    """One step.

    Attributes:
        name: of the test.
        state: before.
        event: the event.
        phase: after.
        actions: all of them, in their order.
        changes: fields of the state, except for the phase, that differ after it.
    """

    name: str
    state: GroupState
    event: Event
    phase: Phase
    actions: tuple[Action, ...]
    changes: dict[str, Any] = field(default_factory=dict)


def stopping(work: Work) -> Stop:
    return Stop(work, f"stopping {len(work.connectors)} connectors and {len(work.tasks)} tasks")


def revoking(work: Work, *reset: str) -> tuple[Action, ...]:
    return (
        stopping(work),
        Log("Finished stopping tasks in preparation for rebalance"),
        *((ResetTopics(reset),) if reset else ()),
        FlushStatuses(),
        Log("Finished flushing status backing store in preparation for rebalance"),
    )


def giving_up(why: str, owned: Work = ALL, running: Work | None = None) -> tuple[Action, ...]:
    text = f"{why}. Revoking previous assignment {owned} to avoid running tasks while not being a member the group"
    stopped = owned if running is None else running
    return Log(text, logging.WARNING), *revoking(stopped), PublishOwned(None), RequestRejoin()


GIVEN_UP: dict[str, Any] = {"owned": NOTHING, "running": NOTHING, "assignment": None, "carried_out": False}
UNREADABLE = "The config topic could not be read in time"
LEAVE = Leave("taking too long to read the log")


def starting(work: Work) -> tuple[Action, ...]:
    count = len(work.connectors) + len(work.tasks)
    return (
        Log(f"Starting connectors and tasks using config offset {OFFSET}"),
        Start(work, f"starting {count} connector(s) and task(s) after a rebalance"),
        Log("Finished starting connectors and tasks"),
        RebalanceMeasured(7, LEADER_URL),
    )


def started(**more: Any) -> dict[str, Any]:
    return {"running": ALL, "carried_out": True, **more}


def joined_log(version: int, owned: Work, generation: int = 8, delay: int = 0) -> Log:
    return Log(
        f"Joined group at generation {generation} with protocol version {version} and got assignment: {owned} "
        f"with rebalance delay: {delay}"
    )


def taken(assignment: Assignment, owned: Work, protocol: ConnectProtocol = SESSIONED, **more: Any) -> dict[str, Any]:
    return {
        "generation": 8,
        "protocol": protocol,
        "assignment": assignment,
        "owned": owned,
        "carried_out": False,
        "joining": False,
        **more,
    }


def published(assignment: Assignment, owned: Work) -> PublishOwned:
    return PublishOwned(replace(assignment, assigned=assigned_entries(owned), revoked=()))


def plan(connector: str, restarts_connector: bool, *tasks: int) -> RestartPlan:
    status = ConnectorStatus(connector, Status(State.RESTARTING, "w:1"), (), ConnectorType.SOURCE)
    return RestartPlan(restarts_connector, tuple(TaskId(connector, number) for number in tasks), status)


SUSPENDED = Log(
    f"The session of this worker has ended. It joins again with {ALL}, and writes nothing until then", logging.WARNING
)
RETRY = Log("Join group completed, but assignment failed. Retrying.", logging.WARNING)
CATCH_UP = Log("Catching up to assignment's config offset.", logging.WARNING)
FIRST = told(ALL)
AS_FOLLOWER = told(ALL, leader=OTHER)
REFUSED = told(error=CONFIG_MISMATCH)
REVOKING = told(NOTHING, work("b", "b-0"))
KEPT = work("a", "a-0", "a-1")
DELAYED = told(ALL, delay=5000)
FORCE = "Current config state offset {} does not match group assignment 50. Forcing rebalance."
AHEAD = configured(OFFSET + 1, a=2, b=1)
BEHIND = configured(OFFSET - 1, a=2, b=1)
GROWN = configured(OFFSET + 9, a=2, b=1, c=1)
SHRUNK = configured(OFFSET + 1, a=2)
AS_EAGER: dict[str, Any] = {"protocol": EAGER, "assignment": told(ALL, protocol=EAGER)}
EAGER_TOLD = told(work("a", "a-0"), protocol=EAGER)

SCENARIOS = (
    # A round begins.
    Scenario("a worker outside looks for the group", outside(), Tick(), Phase.COORDINATOR, (FindCoordinator(),)),
    Scenario("a member checks its lease first", member(), Tick(), Phase.LEASE, (CheckLease(),)),
    Scenario("an unread topic comes first", member(unread=True), Tick(), Phase.READING, (ReadToEnd(),)),
    # The config topic must be readable.
    Scenario(
        "a member that has read goes on",
        member(Phase.READING, unread=True, tries_left=2),
        ConfigRead(AHEAD),
        Phase.LEASE,
        (Log(f"{READ_LOG}51"), CheckLease()),
        {"config": AHEAD, "unread": False, "tries_left": 5},
    ),
    Scenario(
        "a worker outside that has read goes on",
        outside(Phase.READING, unread=True),
        ConfigRead(GROWN),
        Phase.COORDINATOR,
        (ExpectRebalance(), Log(f"{READ_LOG}59"), FindCoordinator()),
        {"config": GROWN, "unread": False},
    ),
    Scenario(
        "a member that cannot read stops, leaves and backs off",
        member(Phase.READING, unread=True),
        ConfigNotRead(),
        Phase.IDLE,
        (*giving_up(UNREADABLE), LEAVE, BackOff(1200)),
        {**GIVEN_UP, "tries_left": 4},
    ),
    Scenario(
        "the pause grows with each try",
        outside(Phase.READING, unread=True, tries_left=2),
        ConfigNotRead(),
        Phase.IDLE,
        (LEAVE, BackOff(3000)),
        {"tries_left": 1},
    ),
    Scenario(
        "after the last try it tries again at once",
        outside(Phase.READING, unread=True, tries_left=0),
        ConfigNotRead(),
        Phase.IDLE,
        (LEAVE,),
        {"tries_left": 5},
    ),
    Scenario(
        "an eager worker backs off for its own time",
        outside(Phase.READING, unread=True, protocol=EAGER),
        ConfigNotRead(),
        Phase.IDLE,
        (LEAVE, BackOff(300_000)),
    ),
    # The worker must be a member.
    Scenario("a held lease", member(Phase.LEASE), LeaseHeld(), Phase.COORDINATOR, (FindCoordinator(),)),
    Scenario(
        "a worker that has lost its lease joins again with its work",
        member(Phase.LEASE),
        LeaseLost(),
        Phase.COORDINATOR,
        (SUSPENDED, RequestRejoin(), FindCoordinator()),
        {"claim_until": NOW + 5},
    ),
    Scenario(
        "it says so once",
        member(Phase.LEASE, claim_until=NOW + 1),
        LeaseLost(),
        Phase.COORDINATOR,
        (FindCoordinator(),),
    ),
    Scenario(
        "a lost lease without a coordinator stops all work",
        member(Phase.COORDINATOR, claim_until=NOW + 1),
        CoordinatorAway(3000),
        Phase.IDLE,
        giving_up("Broker coordinator was unreachable for 3000ms"),
        GIVEN_UP | {"claim_until": NEVER},
    ),
    Scenario(
        "a lost coordinator stops all work",
        member(Phase.COORDINATOR),
        CoordinatorAway(3000),
        Phase.IDLE,
        giving_up("Broker coordinator was unreachable for 3000ms"),
        GIVEN_UP,
    ),
    Scenario("a coordinator that is still away", outside(Phase.COORDINATOR), CoordinatorAway(3000), Phase.IDLE, ()),
    Scenario(
        "a stable group", member(Phase.COORDINATOR), CoordinatorFound(False), Phase.MEMBER, (ConfirmMembership(),)
    ),
    Scenario(
        "a first join",
        outside(Phase.COORDINATOR),
        CoordinatorFound(True),
        Phase.JOINING,
        (Log("Rebalance started"), Join()),
        {"joining": True},
    ),
    Scenario(
        "work continues during a rebalance",
        member(Phase.COORDINATOR),
        CoordinatorFound(True),
        Phase.JOINING,
        (Log("Rebalance started"), Join()),
        {"joining": True},
    ),
    Scenario(
        "an eager worker stops everything before it joins",
        member(Phase.COORDINATOR, **AS_EAGER),
        CoordinatorFound(True),
        Phase.JOINING,
        (Log("Rebalance started"), *revoking(ALL), Join()),
        {"joining": True, "running": NOTHING},
    ),
    Scenario(
        "an eager worker joins for the first time",
        outside(Phase.COORDINATOR, protocol=EAGER),
        CoordinatorFound(True),
        Phase.JOINING,
        (Log("Rebalance started"), Join()),
        {"joining": True},
    ),
    Scenario(
        "a join that is under way continues",
        member(Phase.COORDINATOR, **AS_EAGER, running=NOTHING, joining=True),
        CoordinatorFound(True),
        Phase.JOINING,
        (Join(),),
    ),
    Scenario("a join that takes longer", outside(Phase.JOINING, joining=True), JoinPending(), Phase.IDLE, ()),
    Scenario(
        "a worker without its lease claims its work while the group forms",
        member(Phase.JOINING, joining=True, claim_until=NOW + 1),
        JoinPending(),
        Phase.IDLE,
        (),
    ),
    Scenario(
        "it stops all work when the group does not form",
        member(Phase.JOINING, joining=True, claim_until=NOW),
        JoinPending(),
        Phase.IDLE,
        giving_up("The group did not form in time after the session of this worker had ended"),
        GIVEN_UP | {"claim_until": NEVER},
    ),
    # The group has formed.
    Scenario(
        "a first assignment",
        outside(Phase.JOINING, joining=True),
        Joined(8, SESSIONED, FIRST),
        Phase.JOINED,
        (RegainLease(8), MeasureRebalance(SESSIONED), joined_log(2, ALL), published(FIRST, ALL), ConfirmMembership()),
        taken(FIRST, ALL),
    ),
    Scenario(
        "a group that has just become eager takes away what it does not assign",
        member(Phase.JOINING, joining=True),
        Joined(8, EAGER, EAGER_TOLD, told(ALL)),
        Phase.JOINED,
        (
            *revoking(ALL.minus(work("a", "a-0"))),
            RegainLease(8),
            MeasureRebalance(EAGER),
            joined_log(0, work("a", "a-0")),
            PublishOwned(None),
            ConfirmMembership(),
        ),
        taken(EAGER_TOLD, work("a", "a-0"), EAGER, running=work("a", "a-0")),
    ),
    Scenario(
        "a worker that has its lease back reports again what it has kept",
        member(Phase.JOINING, joining=True, claim_until=NOW + 1),
        Joined(8, SESSIONED, REVOKING, told(ALL)),
        Phase.JOINED,
        (
            *revoking(work("b", "b-0")),
            RegainLease(8),
            ReportAgain(KEPT),
            MeasureRebalance(SESSIONED),
            joined_log(2, KEPT),
            published(REVOKING, KEPT),
            ConfirmMembership(),
        ),
        taken(REVOKING, KEPT, running=KEPT, claim_until=NEVER),
    ),
    Scenario(
        "an eager assignment is complete",
        member(Phase.JOINING, **AS_EAGER, running=NOTHING, joining=True),
        Joined(8, EAGER, EAGER_TOLD),
        Phase.JOINED,
        (
            RegainLease(8),
            MeasureRebalance(EAGER),
            joined_log(0, work("a", "a-0")),
            PublishOwned(None),
            ConfirmMembership(),
        ),
        taken(EAGER_TOLD, work("a", "a-0"), EAGER),
    ),
    Scenario(
        "revoked work stops, the rest goes on",
        member(Phase.JOINING, joining=True),
        Joined(8, SESSIONED, REVOKING, told(ALL)),
        Phase.JOINED,
        (
            *revoking(work("b", "b-0")),
            RegainLease(8),
            MeasureRebalance(SESSIONED),
            joined_log(2, KEPT),
            published(REVOKING, KEPT),
            ConfirmMembership(),
        ),
        taken(REVOKING, KEPT, running=KEPT),
    ),
    Scenario(
        "a deleted connector's topics are forgotten with its revocation",
        member(Phase.JOINING, joining=True, config=SHRUNK),
        Joined(8, SESSIONED, REVOKING, told(ALL)),
        Phase.JOINED,
        (
            *revoking(work("b", "b-0"), "b"),
            RegainLease(8),
            MeasureRebalance(SESSIONED),
            joined_log(2, KEPT),
            published(REVOKING, KEPT),
            ConfirmMembership(),
        ),
        taken(REVOKING, KEPT, running=KEPT),
    ),
    Scenario(
        "without topic tracking there are no topics to forget",
        member(Phase.JOINING, joining=True, config=SHRUNK, rules=replace(RULES, topic_tracking=False)),
        Joined(8, SESSIONED, REVOKING, told(ALL)),
        Phase.JOINED,
        (
            *revoking(work("b", "b-0")),
            RegainLease(8),
            MeasureRebalance(SESSIONED),
            joined_log(2, KEPT),
            published(REVOKING, KEPT),
            ConfirmMembership(),
        ),
        taken(REVOKING, KEPT, running=KEPT),
    ),
    Scenario(
        "new work adds to what the leader knew of",
        member(Phase.JOINING, KEPT, joining=True),
        Joined(8, COMPATIBLE, told(work("b", "b-0")), told(KEPT)),
        Phase.JOINED,
        (
            RegainLease(8),
            MeasureRebalance(COMPATIBLE),
            joined_log(1, work("b", "a", "b-0", "a-0", "a-1")),
            published(told(), work("b", "a", "b-0", "a-0", "a-1")),
            ConfirmMembership(),
        ),
        taken(told(work("b", "b-0")), work("b", "a", "b-0", "a-0", "a-1"), COMPATIBLE),
    ),
    Scenario(
        "work that was given up while the group formed starts again",
        outside(Phase.JOINING, joining=True),
        Joined(8, SESSIONED, told(), told(KEPT)),
        Phase.JOINED,
        (
            RegainLease(8),
            MeasureRebalance(SESSIONED),
            joined_log(2, KEPT),
            published(told(), KEPT),
            ConfirmMembership(),
        ),
        taken(told(), KEPT),
    ),
    Scenario(
        "a new assignment ends the delay of the one before",
        member(Phase.JOINING, joining=True, rejoin_at=NOW + 1),
        Joined(8, SESSIONED, DELAYED),
        Phase.JOINED,
        (
            RegainLease(8),
            MeasureRebalance(SESSIONED),
            joined_log(2, ALL, delay=5000),
            published(DELAYED, ALL),
            ConfirmMembership(),
        ),
        taken(DELAYED, ALL, rejoin_at=NEVER),
    ),
    # The assignment meets the config topic.
    Scenario(
        "a leader starts its work and forgets what is gone",
        joined(FIRST),
        StillMember(True),
        Phase.KEY,
        (ForgetDeleted(), *starting(ALL), CheckKey()),
        started(),
    ),
    Scenario(
        "a follower starts its work",
        joined(AS_FOLLOWER),
        StillMember(False),
        Phase.KEY,
        (*starting(ALL), CheckKey()),
        started(),
    ),
    Scenario(
        "only what does not run is started, and what was stopped for it",
        joined(FIRST, running=KEPT, stopped_for_restart=frozenset({TaskId("a", 1)})),
        StillMember(False),
        Phase.KEY,
        (*starting(work("b", "a-1", "b-0")), CheckKey()),
        started(stopped_for_restart=frozenset()),
    ),
    Scenario(
        "a delay begins when the assignment is taken",
        joined(DELAYED),
        StillMember(False),
        Phase.KEY,
        (*starting(ALL), CheckKey()),
        started(rejoin_at=NOW + 5),
    ),
    Scenario(
        "a worker that has stopped work has the group rebalance once more",
        joined(REVOKING, KEPT, KEPT),
        StillMember(True),
        Phase.IDLE,
        (ForgetDeleted(), *starting(NOTHING), RequestRejoin()),
        {"running": KEPT, "carried_out": True},
    ),
    Scenario(
        "a worker that is behind reads",
        joined(FIRST, config=BEHIND),
        StillMember(True),
        Phase.CATCHING_UP,
        (ForgetDeleted(), CATCH_UP, ReadToEnd()),
    ),
    Scenario(
        "a leader that could not read as far as a member tries again",
        joined(REFUSED),
        StillMember(True),
        Phase.CATCHING_UP,
        (RETRY, ReadToEnd()),
    ),
    Scenario(
        "a follower that is behind reads, though the leader has refused",
        joined(REFUSED, config=BEHIND),
        StillMember(False),
        Phase.CATCHING_UP,
        (RETRY, ReadToEnd()),
    ),
    Scenario(
        "a follower leaves it to the leader to read",
        joined(REFUSED),
        StillMember(False),
        Phase.IDLE,
        (RETRY, RequestRejoin()),
    ),
    Scenario(
        "a worker that knows more than the leader forces a rebalance",
        joined(FIRST, config=AHEAD),
        StillMember(False),
        Phase.IDLE,
        (Log(FORCE.format(51)), RequestRejoin()),
    ),
    Scenario(
        "a worker that cannot catch up stops, leaves, backs off and joins again",
        joined(FIRST, config=BEHIND, running=KEPT, phase=Phase.CATCHING_UP),
        ConfigNotRead(),
        Phase.IDLE,
        (*giving_up(UNREADABLE, ALL, KEPT), LEAVE, BackOff(1200), RequestRejoin()),
        {**GIVEN_UP, "unread": True, "tries_left": 4},
    ),
    Scenario(
        "an eager worker that cannot catch up",
        joined(told(ALL, protocol=EAGER), config=BEHIND, phase=Phase.CATCHING_UP, protocol=EAGER),
        ConfigNotRead(),
        Phase.IDLE,
        (*giving_up(UNREADABLE, ALL, NOTHING), LEAVE, BackOff(300_000), RequestRejoin()),
        {**GIVEN_UP, "unread": True},
    ),
    Scenario(
        "a worker that has read all and less than another leaves until others have its work",
        joined(FIRST, config=BEHIND, running=KEPT, phase=Phase.CATCHING_UP),
        ConfigRead(BEHIND),
        Phase.IDLE,
        (
            Log(f"{READ_LOG}{BEHIND.offset}"),
            *giving_up(
                f"The config topic ends at offset {BEHIND.offset}, before offset 50 that another worker has read to: "
                "somebody has deleted it",
                ALL,
                KEPT,
            ),
            Leave("the config topic has lost records"),
            BackOff(66_000),
            RequestRejoin(),
        ),
        GIVEN_UP,
    ),
    Scenario(
        "a leader that has read assigns again",
        joined(REFUSED, phase=Phase.CATCHING_UP, config=BEHIND, tries_left=3),
        ConfigRead(CONFIG),
        Phase.IDLE,
        (Log(f"{READ_LOG}50"), RequestRejoin()),
        {"config": CONFIG, "tries_left": 5},
    ),
    Scenario(
        "a worker that has read past the assignment forces a rebalance",
        joined(FIRST, phase=Phase.CATCHING_UP, config=BEHIND),
        ConfigRead(GROWN),
        Phase.IDLE,
        (ExpectRebalance(), Log(f"{READ_LOG}59"), Log(FORCE.format(59)), RequestRejoin()),
        {"config": GROWN},
    ),
    Scenario(
        "a worker that has caught up, and had stopped work",
        joined(REVOKING, KEPT, KEPT, phase=Phase.CATCHING_UP, config=BEHIND),
        ConfigRead(CONFIG),
        Phase.IDLE,
        (Log(f"{READ_LOG}50"), *starting(NOTHING), RequestRejoin()),
        {"config": CONFIG, "running": KEPT, "carried_out": True},
    ),
    Scenario(
        "a worker that has caught up starts its work",
        joined(FIRST, phase=Phase.CATCHING_UP, config=BEHIND),
        ConfigRead(CONFIG),
        Phase.KEY,
        (Log(f"{READ_LOG}50"), *starting(ALL), CheckKey()),
        started(config=CONFIG),
    ),
    # The worker works.
    Scenario("a member goes on", member(Phase.MEMBER, rejoin_at=NOW + 1), StillMember(False), Phase.KEY, (CheckKey(),)),
    Scenario(
        "a delay that is over",
        member(Phase.MEMBER, rejoin_at=NOW),
        StillMember(True),
        Phase.IDLE,
        (RequestRejoin(),),
        {"rejoin_at": NEVER},
    ),
    Scenario(
        "an assignment that was never carried out",
        member(Phase.MEMBER, carried_out=False),
        StillMember(True),
        Phase.IDLE,
        (RequestRejoin(),),
    ),
    Scenario(
        "a member without an assignment", outside(Phase.MEMBER), StillMember(True), Phase.IDLE, (RequestRejoin(),)
    ),
    Scenario(
        "a leader renews the session key", member(Phase.KEY), KeyChecked(True, True), Phase.RENEWING, (RenewKey(),)
    ),
    Scenario(
        "a leader claims its privileges first",
        member(Phase.KEY),
        KeyChecked(True, True, unprivileged=True),
        Phase.CLAIMING,
        (ClaimPrivileges(),),
    ),
    Scenario("with them it goes on", member(Phase.CLAIMING), PrivilegesClaimed(), Phase.KEY, (CheckKey(),)),
    Scenario("without them it waits", member(Phase.CLAIMING), PrivilegesNotClaimed(), Phase.IDLE, (BackOff(250),)),
    Scenario("a follower does not", member(Phase.KEY), KeyChecked(False, True), Phase.SERVING, SERVE),
    Scenario("a young key stays", member(Phase.KEY), KeyChecked(True, False), Phase.SERVING, SERVE),
    Scenario(
        "a group without session keys",
        member(Phase.KEY, protocol=COMPATIBLE),
        KeyChecked(True, True),
        Phase.SERVING,
        SERVE,
    ),
    Scenario(
        "a key that was not written has to wait",
        member(Phase.KEY, key_retry_at=NOW + 0.5),
        KeyChecked(True, True),
        Phase.SERVING,
        SERVE,
    ),
    Scenario(
        "a key that was not written is tried again",
        member(Phase.KEY, key_retry_at=NOW),
        KeyChecked(True, True),
        Phase.RENEWING,
        (RenewKey(),),
    ),
    Scenario("a renewed key", member(Phase.RENEWING), KeyRenewed(), Phase.SERVING, SERVE),
    Scenario(
        "a key that cannot be written has the topic read first in the next round",
        member(Phase.RENEWING),
        KeyNotRenewed(),
        Phase.SERVING,
        SERVE,
        {"unread": True, "key_retry_at": NOW + 1},
    ),
    Scenario(
        "a key that a deleted config topic cannot take has to wait longer",
        member(Phase.RENEWING),
        KeyNotRenewed(missing=True),
        Phase.SERVING,
        SERVE,
        {"key_retry_at": NOW + 60},
    ),
    Scenario(
        "a request has read the topic",
        member(Phase.SERVING),
        ConfigRead(GROWN),
        Phase.SERVING,
        (ExpectRebalance(), Log(f"{READ_LOG}59")),
        {"config": GROWN},
    ),
    Scenario(
        "a request has read nothing that came or went",
        member(Phase.SERVING, unread=True, tries_left=2),
        ConfigRead(AHEAD),
        Phase.SERVING,
        (Log(f"{READ_LOG}51"),),
        {"config": AHEAD},
    ),
    Scenario("a request could not read the topic", member(Phase.SERVING), ConfigNotRead(), Phase.SERVING, ()),
    # Restarts.
    Scenario("no restart", member(Phase.SERVING), RestartsPlanned(), Phase.CHANGING, (TakeChanges(),)),
    Scenario(
        "restarts concern what is owned",
        member(Phase.SERVING, work("a", "a-0", "b-0")),
        RestartsPlanned((plan("a", True, 0, 1), plan("b", True, 0), plan("c", True, 0))),
        Phase.CHANGING,
        (
            Log(f"Executing {plan('a', True, 0, 1)}"),
            Stop(work("a", "a-0"), "handling restart request for connector a"),
            ReportRestarting(work("a", "a-0")),
            Start(work("a", "a-0"), "handling restart request for connector a"),
            Log(f"Executing {plan('b', True, 0)}"),
            Stop(work("b-0"), "handling restart request for connector b"),
            ReportRestarting(work("b-0")),
            Start(work("b-0"), "handling restart request for connector b"),
            Log(f"Executing {plan('c', True, 0)}"),
            Stop(NOTHING, "handling restart request for connector c"),
            ReportRestarting(NOTHING),
            Start(NOTHING, "handling restart request for connector c"),
            TakeChanges(),
        ),
    ),
    Scenario(
        "a restart of failed tasks leaves the connector alone",
        member(Phase.SERVING),
        RestartsPlanned((plan("a", False, 1),)),
        Phase.CHANGING,
        (
            Log(f"Executing {plan('a', False, 1)}"),
            Stop(work("a-1"), "handling restart request for connector a"),
            ReportRestarting(work("a-1")),
            Start(work("a-1"), "handling restart request for connector a"),
            TakeChanges(),
        ),
    ),
    # Other changes.
    Scenario("no change", member(Phase.CHANGING), Changes(ConfigUpdates(), AHEAD), Phase.IDLE, (Rest(),)),
    Scenario(
        "a connector that came has the group rebalance",
        member(Phase.CHANGING),
        Changes(ConfigUpdates(rebalance=True), GROWN),
        Phase.IDLE,
        (RequestRejoin(),),
        {"config": GROWN},
    ),
    Scenario(
        "a connector that is seen before its event was read",
        member(Phase.CHANGING),
        Changes(ConfigUpdates(targets=frozenset({"a"})), SHRUNK),
        Phase.IDLE,
        (SetTargetState("a", TargetState.STARTED), RequestRejoin()),
        {"config": SHRUNK},
    ),
    Scenario(
        "a new configuration restarts the connector, and no task",
        member(Phase.CHANGING),
        Changes(ConfigUpdates(connectors=frozenset({"a", "elsewhere"})), AHEAD),
        Phase.IDLE,
        (
            Stop(work("a"), "restarting 1 reconfigured connectors"),
            Log("Handling connector-only config update by restarting connector a"),
            Start(work("a"), "restarting 1 reconfigured connectors"),
            Rest(),
        ),
        {"config": AHEAD},
    ),
    Scenario(
        "connectors that are restarted stop at once, and a deleted one does not start",
        member(Phase.CHANGING),
        Changes(ConfigUpdates(connectors=frozenset({"a", "b"})), SHRUNK),
        Phase.IDLE,
        (
            Stop(work("a", "b"), "restarting 2 reconfigured connectors"),
            Log("Handling connector-only config update by restarting connector a"),
            Start(work("a"), "restarting 2 reconfigured connectors"),
            RequestRejoin(),
        ),
        {"config": SHRUNK},
    ),
    Scenario(
        "target states of connectors that exist",
        member(Phase.CHANGING),
        Changes(
            ConfigUpdates(targets=frozenset({"b", "a", "gone"})),
            configured(OFFSET + 2, {"b": TargetState.PAUSED, "gone": TargetState.STOPPED}, a=2, b=1),
        ),
        Phase.IDLE,
        (SetTargetState("a", TargetState.STARTED), SetTargetState("b", TargetState.PAUSED), Rest()),
        {"config": configured(OFFSET + 2, {"b": TargetState.PAUSED, "gone": TargetState.STOPPED}, a=2, b=1)},
    ),
    Scenario(
        "reconfigured tasks stop, and start after the rebalance",
        member(Phase.CHANGING, stopped_for_restart=frozenset({TaskId("b", 0)})),
        Changes(ConfigUpdates(rebalance=True, reconfigured=frozenset({"a"})), AHEAD),
        Phase.IDLE,
        (
            Log(
                "Handling task config update by stopping tasks [a-0, a-1], which will be restarted after rebalance "
                "if still assigned to this worker"
            ),
            Stop(work("a-0", "a-1"), "stopping 2 reconfigured tasks"),
            RequestRejoin(),
        ),
        {"config": AHEAD, "stopped_for_restart": frozenset({TaskId("a", 0), TaskId("a", 1), TaskId("b", 0)})},
    ),
    Scenario(
        "an eager worker leaves everything to the rebalance",
        member(Phase.CHANGING, **AS_EAGER),
        Changes(
            ConfigUpdates(True, frozenset({"a"}), frozenset({"b"}), frozenset({"a"})),
            AHEAD,
        ),
        Phase.IDLE,
        (RequestRejoin(),),
        {"config": AHEAD},
    ),
    Scenario(
        "an eager worker carries out what needs no rebalance",
        member(Phase.CHANGING, **AS_EAGER),
        Changes(ConfigUpdates(connectors=frozenset({"b"}), targets=frozenset({"b"})), AHEAD),
        Phase.IDLE,
        (
            Stop(work("b"), "restarting 1 reconfigured connectors"),
            Log("Handling connector-only config update by restarting connector b"),
            Start(work("b"), "restarting 1 reconfigured connectors"),
            SetTargetState("b", TargetState.STARTED),
            Rest(),
        ),
        {"config": AHEAD},
    ),
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_transition(scenario: Scenario) -> None:
    after, actions = step(scenario.state, scenario.event, NOW)
    assert actions == scenario.actions
    assert after == replace(scenario.state, phase=scenario.phase, **scenario.changes)


def test_every_row_of_the_table_has_a_scenario() -> None:
    shown = {id(transition(one.state, one.event, NOW)) for one in SCENARIOS}
    missing = [(row.phase.name, row.event.__name__, row.guard.__name__) for row in TRANSITIONS if id(row) not in shown]
    assert missing == []


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.ENDED])
def test_a_worker_can_end_in_every_phase(phase: Phase) -> None:
    after, actions = step(member(phase), Shutdown(), NOW)
    assert after.phase is Phase.ENDED
    assert actions == (StopAll(), FlushStatuses("shutting down"), CloseMembership())


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (member(), StillMember(True)),
        (member(Phase.JOINING), Tick()),
        (member(Phase.ENDED), Shutdown()),
        (member(Phase.ENDED), Tick()),
    ],
)
def test_an_event_that_nothing_asked_for_is_an_error(state: GroupState, event: Event) -> None:
    with pytest.raises(ValueError, match=f"is not possible in phase {state.phase.name}"):
        step(state, event, NOW)
