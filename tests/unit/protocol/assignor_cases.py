"""Rounds of rebalancing, and what the incremental assignor has to decide in them.

Each case stands for the test of Kafka Connect that its name is, of ``IncrementalCooperativeAssignorTest`` unless it
says otherwise; what Java's test leaves open, such as the length of a delay, is given here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work
from tests.rebalancing_group import MAX_DELAY_MS

HALF = MAX_DELAY_MS // 2
QUARTER = MAX_DELAY_MS // 4
TWO_CONNECTORS = {"connector1": 4, "connector2": 4}
THREE_CONNECTORS = {**TWO_CONNECTORS, "connector3": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happens before a round, and what comes of the round.

    Attributes:
        after_ms: time that passes first.
        leave: members that leave.
        join: members that join, with what they have.
        delete: connectors that are deleted.
        new_leader: whether another worker leads from now on.
        delivered: whether the members get their assignments.
        missed_a_round: whether the leader did not complete the round before.
        connectors: how many each member has in the end, the least first.
        tasks: the same of tasks.
        revoked: how many connectors and tasks are revoked.
        delay_ms: what the members are told.
        complete: whether everything configured runs in the end, once, and balanced.
    """

    connectors: tuple[int, ...]
    tasks: tuple[int, ...]
    after_ms: int = 0
    leave: tuple[str, ...] = ()
    join: Mapping[str, Work] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    new_leader: bool = False
    delivered: bool = True
    missed_a_round: bool = False
    revoked: int = 0
    delay_ms: int = 0
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A group's first members, its connectors with their number of tasks, and its rounds."""

    name: str
    steps: tuple[Step, ...]
    connectors: Mapping[str, int] = field(default_factory=lambda: TWO_CONNECTORS)
    members: tuple[str, ...] = ("worker1",)
    max_delay_ms: int = MAX_DELAY_MS


@dataclass(frozen=True, slots=True)
class Told:
    """What one member is told: names of connectors, and numbers of tasks."""

    connectors: tuple[str, ...] = ()
    tasks: int = 0
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldStep:
    """As ``Step``, with what each member is told."""

    told: Mapping[str, Told]
    after_ms: int = 0
    leave: tuple[str, ...] = ()
    join: Mapping[str, Work] = field(default_factory=dict)
    delay_ms: int = 0


def _empty(*members: str) -> dict[str, Work]:
    return dict.fromkeys(members, Work())


_DUPLICATES = {"worker2": Work(("connector1",), tuple(TaskId("connector1", number) for number in range(4)))}

_FIRST_OF_THREE_CONNECTORS = (
    Step(connectors=(3,), tasks=(12,), complete=True),
    Step(join=_empty("worker2"), connectors=(0, 2), tasks=(0, 6), revoked=7),
)
_TWO_WORKERS_SHARE = Step(connectors=(1, 1), tasks=(4, 4), complete=True)
_SECOND_WORKER_LEAVES = (
    _TWO_WORKERS_SHARE,
    Step(leave=("worker2",), connectors=(1,), tasks=(4,), delay_ms=MAX_DELAY_MS),
    Step(after_ms=HALF, connectors=(1,), tasks=(4,), delay_ms=HALF),
)
_LEADER_LEAVES = (
    Step(connectors=(0, 1, 1), tasks=(2, 3, 3), complete=True),
    Step(leave=("worker1",), new_leader=True, connectors=(1, 1), tasks=(4, 4), complete=True),
)
_THIRD_WORKER_IS_NOT_HEARD = (
    _TWO_WORKERS_SHARE,
    Step(join=_empty("worker3"), delivered=False, connectors=(0, 1, 1), tasks=(0, 4, 4), revoked=2),
)
_THIRD_WORKER_IS_SERVED = (
    Step(after_ms=40, connectors=(0, 1, 1), tasks=(0, 3, 3), revoked=2),
    Step(connectors=(0, 1, 1), tasks=(2, 3, 3), complete=True),
)

ROUNDS = (
    Case(
        "testTaskAssignmentWhenWorkerJoins",
        (
            Step(connectors=(2,), tasks=(8,), complete=True),
            Step(join=_empty("worker2"), connectors=(0, 1), tasks=(0, 4), revoked=5),
            Step(connectors=(1, 1), tasks=(4, 4), complete=True),
            Step(connectors=(1, 1), tasks=(4, 4), complete=True),
        ),
    ),
    Case(
        "testAssignmentsWhenWorkersJoinAfterRevocations",
        (
            *_FIRST_OF_THREE_CONNECTORS,
            Step(join=_empty("worker3"), connectors=(0, 1, 2), tasks=(3, 3, 6), delay_ms=40),
            Step(after_ms=40, join=_empty("worker4"), connectors=(0, 0, 1, 1), tasks=(0, 3, 3, 3), revoked=4),
            Step(join=_empty("worker5"), connectors=(0, 0, 1, 1, 1), tasks=(1, 2, 3, 3, 3), delay_ms=1600),
            Step(
                after_ms=1600,
                join=_empty("worker6"),
                connectors=(0, 0, 0, 1, 1, 1),
                tasks=(0, 1, 2, 2, 2, 2),
                revoked=3,
            ),
            Step(connectors=(0, 0, 0, 1, 1, 1), tasks=(2, 2, 2, 2, 2, 2), complete=True),
        ),
        connectors=THREE_CONNECTORS,
    ),
    Case(
        "testImmediateRevocationsWhenMaxDelayIs0",
        (
            *_FIRST_OF_THREE_CONNECTORS,
            Step(join=_empty("worker3"), connectors=(0, 1, 1), tasks=(3, 3, 4), revoked=3),
            Step(connectors=(1, 1, 1), tasks=(4, 4, 4), complete=True),
        ),
        connectors=THREE_CONNECTORS,
        max_delay_ms=0,
    ),
    Case(
        "testSuccessiveRevocationsWhenMaxDelayIsEqualToExpBackOffInitialInterval",
        (
            *_FIRST_OF_THREE_CONNECTORS,
            Step(join=_empty("worker3"), connectors=(0, 1, 2), tasks=(3, 3, 6), delay_ms=1),
        ),
        connectors=THREE_CONNECTORS,
        max_delay_ms=1,
    ),
    Case(
        "testWorkerJoiningDuringDelayedRebalance",
        (
            *_FIRST_OF_THREE_CONNECTORS,
            Step(join=_empty("worker3"), connectors=(0, 1, 2), tasks=(3, 3, 6), delay_ms=40),
            Step(after_ms=20, join=_empty("worker4"), connectors=(0, 0, 1, 2), tasks=(0, 3, 3, 6), delay_ms=20),
            Step(after_ms=20, join=_empty("worker5"), connectors=(0, 0, 0, 1, 1), tasks=(0, 0, 2, 3, 3), revoked=5),
            Step(connectors=(0, 0, 1, 1, 1), tasks=(2, 2, 2, 3, 3), complete=True),
        ),
        connectors=THREE_CONNECTORS,
    ),
    Case(
        "testTaskAssignmentWhenWorkerLeavesPermanently",
        (*_SECOND_WORKER_LEAVES, Step(after_ms=HALF + 1, connectors=(2,), tasks=(8,), complete=True)),
        members=("worker1", "worker2"),
    ),
    Case(
        "testTaskAssignmentWhenWorkerBounces",
        (
            *_SECOND_WORKER_LEAVES,
            Step(after_ms=QUARTER, join=_empty("worker2"), connectors=(0, 1), tasks=(0, 4), delay_ms=QUARTER),
            Step(after_ms=QUARTER, connectors=(1, 1), tasks=(4, 4), complete=True),
        ),
        members=("worker1", "worker2"),
    ),
    Case(
        "testTaskAssignmentWhenLeaderLeavesPermanently",
        (*_LEADER_LEAVES, Step(connectors=(1, 1), tasks=(4, 4), complete=True)),
        members=("worker1", "worker2", "worker3"),
    ),
    Case(
        "testTaskAssignmentWhenLeaderBounces",
        (
            *_LEADER_LEAVES,
            Step(join=_empty("worker1"), connectors=(0, 1, 1), tasks=(0, 3, 3), revoked=2),
            Step(connectors=(0, 1, 1), tasks=(2, 3, 3), complete=True),
        ),
        members=("worker1", "worker2", "worker3"),
    ),
    Case(
        "testTaskAssignmentWhenFirstAssignmentAttemptFails",
        (Step(delivered=False, connectors=(0, 0), tasks=(0, 0)), _TWO_WORKERS_SHARE),
        members=("worker1", "worker2"),
    ),
    Case(
        "testTaskAssignmentWhenSubsequentAssignmentAttemptFails",
        (
            *_THIRD_WORKER_IS_NOT_HEARD,
            Step(connectors=(0, 1, 1), tasks=(0, 4, 4), delay_ms=40),
            *_THIRD_WORKER_IS_SERVED,
        ),
        members=("worker1", "worker2"),
    ),
    Case(
        "testTaskAssignmentWhenSubsequentAssignmentAttemptFailsOutsideTheAssignor",
        (
            *_THIRD_WORKER_IS_NOT_HEARD,
            Step(missed_a_round=True, connectors=(0, 1, 1), tasks=(0, 4, 4), delay_ms=40),
            *_THIRD_WORKER_IS_SERVED,
        ),
        members=("worker1", "worker2"),
    ),
    Case(
        "testTaskAssignmentWhenConnectorsAreDeleted",
        (
            Step(connectors=(1, 2), tasks=(6, 6), complete=True),
            Step(delete=("connector3",), connectors=(1, 1), tasks=(4, 4), revoked=5, complete=True),
        ),
        connectors=THREE_CONNECTORS,
        members=("worker1", "worker2"),
    ),
    Case(
        "testScheduledDelayIsDisabled",
        (_TWO_WORKERS_SHARE, Step(leave=("worker2",), connectors=(2,), tasks=(8,), complete=True)),
        members=("worker1", "worker2"),
        max_delay_ms=0,
    ),
    Case(
        "testTaskAssignmentWhenTasksDuplicatedInWorkerAssignment",
        (
            Step(connectors=(2,), tasks=(8,), complete=True),
            Step(join=_DUPLICATES, connectors=(0, 1), tasks=(0, 4), revoked=10),
            Step(connectors=(1, 1), tasks=(4, 4), complete=True),
            Step(connectors=(1, 1), tasks=(4, 4), complete=True),
        ),
    ),
    Case(
        "testDuplicatedAssignmentHandleWhenTheDuplicatedAssignmentsDeleted",
        (
            Step(connectors=(2,), tasks=(8,), complete=True),
            Step(delete=("connector1",), join=_DUPLICATES, connectors=(0, 1), tasks=(0, 2), revoked=12),
            Step(connectors=(0, 1), tasks=(2, 2), complete=True),
            Step(connectors=(0, 1), tasks=(2, 2), complete=True),
        ),
    ),
)

_THREE_WORKERS_START = ToldStep(
    told={
        "worker1": Told(("connector1",), 3),
        "worker2": Told(("connector2",), 3),
        "worker3": Told((), 2),
    },
    join=_empty("worker3"),
)
_TWO_ARE_LEFT = {"worker1": Told(), "worker2": Told()}

# Of `WorkerCoordinatorIncrementalTest`.
COORDINATOR_ROUNDS = {
    "testTaskAssignmentWhenWorkerJoins": (
        ToldStep(told={"worker1": Told(("connector1",), 4), "worker2": Told(("connector2",), 4)}),
        ToldStep(
            join=_empty("worker3"),
            told={"worker1": Told(revoked_tasks=1), "worker2": Told(revoked_tasks=1), "worker3": Told()},
        ),
    ),
    "testTaskAssignmentWhenWorkerLeavesPermanently": (
        _THREE_WORKERS_START,
        ToldStep(leave=("worker3",), told=_TWO_ARE_LEFT, delay_ms=MAX_DELAY_MS),
        ToldStep(after_ms=HALF, told=_TWO_ARE_LEFT, delay_ms=HALF),
        ToldStep(after_ms=HALF + 1, told={"worker1": Told(tasks=1), "worker2": Told(tasks=1)}),
    ),
    "testTaskAssignmentWhenWorkerBounces": (
        _THREE_WORKERS_START,
        ToldStep(leave=("worker3",), told=_TWO_ARE_LEFT, delay_ms=MAX_DELAY_MS),
        ToldStep(after_ms=HALF, join=_empty("worker3"), told={**_TWO_ARE_LEFT, "worker3": Told()}, delay_ms=HALF),
        ToldStep(after_ms=HALF + 1, told={**_TWO_ARE_LEFT, "worker3": Told(tasks=2)}),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossStep:
    """A question to the rule on lost work, and its answer.

    Attributes:
        members: the present members.
        previous: those of the round before.
        idle: the present ones that have nothing.
        after_ms: time that passes first.
        lost: whether work is lost.
        wait_ms: for how long it waits; ``None`` when it does not wait.
        candidates: the members remembered to get it.
        receivers: the members that get it now.
    """

    members: tuple[str, ...]
    previous: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    after_ms: int = 0
    lost: bool = True
    wait_ms: int | None = None
    candidates: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()


_ALL = ("worker0", "worker1", "worker2")
_STAYED = ("worker0", "worker2")
_NOTHING_LOST = LossStep(members=_ALL, lost=False)
_WORKER1_LEFT = LossStep(members=_STAYED, previous=_ALL, wait_ms=MAX_DELAY_MS)
_WORKER1_BACK = LossStep(
    members=(*_STAYED, "worker1"),
    previous=_STAYED,
    idle=("worker1",),
    after_ms=HALF,
    wait_ms=HALF,
    candidates=("worker1",),
)

LOSSES = {
    "testLostAssignmentHandlingWhenWorkerBounces": (
        _NOTHING_LOST,
        _WORKER1_LEFT,
        _WORKER1_BACK,
        LossStep(members=_ALL, previous=_ALL, idle=("worker1",), after_ms=HALF, receivers=("worker1",)),
    ),
    "testLostAssignmentHandlingWhenWorkerLeavesPermanently": (
        _NOTHING_LOST,
        _WORKER1_LEFT,
        LossStep(members=_STAYED, previous=_STAYED, after_ms=HALF, wait_ms=HALF),
        LossStep(members=_STAYED, previous=_STAYED, after_ms=HALF),
    ),
    "testLostAssignmentHandlingWithMoreThanOneCandidates": (
        _NOTHING_LOST,
        LossStep(
            members=(*_STAYED, "worker3"),
            previous=_ALL,
            idle=("worker3",),
            wait_ms=MAX_DELAY_MS,
            candidates=("worker3",),
        ),
        LossStep(
            members=(*_ALL, "worker3"),
            previous=(*_STAYED, "worker3"),
            idle=("worker1", "worker3"),
            after_ms=HALF,
            wait_ms=HALF,
            candidates=("worker3", "worker1"),
        ),
        LossStep(
            members=(*_ALL, "worker3"),
            previous=(*_ALL, "worker3"),
            after_ms=HALF,
            receivers=("worker3", "worker1"),
        ),
    ),
    "testLostAssignmentHandlingWhenWorkerBouncesBackButFinallyLeaves": (
        _NOTHING_LOST,
        _WORKER1_LEFT,
        _WORKER1_BACK,
        LossStep(members=_STAYED, previous=_ALL, after_ms=HALF),
    ),
}
