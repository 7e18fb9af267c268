"""Invariants of the group loop, whatever the group, the brokers and the users do.

A simulated world answers at random. Its chances come from a seed: drawn one by one they take minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.herder.distributed import group_messages as messages
from connect_dagster.herder.distributed.group_loop import TRANSITIONS, step, transition
from connect_dagster.herder.distributed.group_state import GroupState, Phase
from connect_dagster.herder.interface import ConnectorStatus, ConnectorType
from connect_dagster.herder.restart_plan import RestartPlan
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.group_structs import (
    CONFIG_MISMATCH,
    NO_ERROR,
    Assignment,
    ConnectProtocol,
    work_of,
)
from connect_dagster.protocol.states import State, Status
from connect_dagster.protocol.work import Item, Work, as_work, items_of
from tests.unit.herder.distributed.group_values import ME, OTHER, RULES, configured, told, work

ITEMS = items_of(work("a", "b", "c", "a-0", "a-1", "b-0", "c-0"))
# The config topic over time; the world moves from one to a later one.
HISTORY = (
    configured(10),
    configured(20, a=2),
    configured(30, a=2, b=1),
    configured(31, a=2, b=1),
    configured(40, a=1, b=1, c=1),
    configured(50, b=1, c=1),
    configured(60, a=2, c=1),
)
STEPS = 300


@dataclass(slots=True)
class World:
    """Everything around the loop, and what the loop has done to it.

    Attributes:
        chance: chooses the answers.
        state: of the loop.
        now: the time.
        version: of the config topic.
        running: connectors and tasks that run.
        published: the work that the leader learns of in the next JoinGroup.
        sent: the same of the JoinGroup that is under way.
        rejoin: whether a rebalance was requested that has not come yet.
        to_stop: work that was revoked since the last join, each with the number of its stops.
        confirmed_at: when the membership was confirmed last.
        leased: whether the work may write.
        reached: rows of the table that applied, by their id.
    """

    chance: Random
    state: GroupState
    now: float = 0.0
    version: int = 0
    running: set[Item] = field(default_factory=set)
    published: Assignment | None = None
    sent: Assignment | None = None
    rejoin: bool = True
    to_stop: dict[Item, int] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    confirmed_at: float = 0.0
    leased: bool = False

    def yes(self) -> bool:
        return self.chance.random() < 0.5

    def rarely(self) -> bool:
        return self.chance.random() < 0.1

    def some(self, items: tuple[Item, ...]) -> Work:
        return as_work(item for item in items if self.yes())

    def config(self) -> ClusterConfigState:
        """The topic as it is read now, which is never older than the loop has seen it."""
        self.version = min(len(HISTORY) - 1, self.version + (self.chance.randint(0, 2) if self.rarely() else 0))
        return HISTORY[self.version]

    def config_at_end(self) -> ClusterConfigState:
        """The topic as it is read to its end, which is often where the leader has read to."""
        told = self.state.assignment
        if told is not None and self.yes():
            same = [version for version, config in enumerate(HISTORY) if config.offset == told.offset]
            self.version = max([self.version, *same])
        return self.config()

    def run(self, steps: int) -> None:
        event: messages.Event = messages.Tick()
        for _ in range(steps):
            self.now += self.chance.choice([0.0, 0.1, 3.0])
            before = self.state
            if isinstance(event, messages.StillMember):
                self.confirmed_at = self.now
            self.reached.add(id(transition(before, event, self.now)))
            self.state, actions = step(before, event, self.now)
            self.check_questions(actions)
            for action in actions:
                self.do(action)
            self.check_work(before, event, actions)
            event = self.answer(actions[-1]) if self.state.phase is not Phase.IDLE else messages.Tick()

    # What the loop does

    def do(self, action: messages.Action) -> None:
        match action:
            case messages.Stop(stopped):
                self.running.difference_update(items_of(stopped))
                for item in items_of(stopped):
                    if item in self.to_stop:
                        self.to_stop[item] += 1
            case messages.Start(started, stage):
                items = set(items_of(started))
                assert items <= set(items_of(self.state.owned)), "only owned work starts"
                assert not items & self.running, "running work does not start"
                assert self.leased, "work starts when it may write"
                if stage.endswith("after a rebalance"):
                    assert self.state.assignment is not None
                    assert self.state.assignment.error == NO_ERROR
                    assert self.state.config.offset == self.state.assignment.offset, "the leader knew the same"
                self.running |= items
            case messages.RegainLease(generation):
                assert generation == self.state.generation
                assert set(self.to_stop.values()) <= {1}, "nothing writes that was revoked"
                assert self.running <= set(items_of(self.state.owned)), "nothing writes that is not owned"
                self.leased = True
            case messages.ReportAgain(work):
                assert self.leased, "a state is reported when it may be written"
                assert self.running <= set(items_of(work)), "all that was kept is reported"
            case messages.PublishOwned(allocation):
                self.published = allocation
            case messages.RequestRejoin():
                self.rejoin = True
            case messages.Join():
                assert set(self.to_stop.values()) <= {1}, "revoked work stops exactly once before the next join"
                self.to_stop = {}
                if self.state.protocol is ConnectProtocol.EAGER:
                    assert not self.running, "an eager worker joins without work"
            case messages.Leave():
                assert not self.running, "a worker leaves without work"
            case messages.Rest():
                waiting = set(items_of(self.state.owned)) - self.running
                deleted = {name for name in waiting if isinstance(name, str) and not self.state.config.contains(name)}
                assert waiting <= deleted | (waiting if self.rejoin else set()), "a worker rests when all work runs"
                assert self.state.rejoin_at > self.confirmed_at, "a delay that is over is not slept through"

    def check_questions(self, actions: tuple[messages.Action, ...]) -> None:
        questions = [isinstance(action, messages.Question) for action in actions]
        assert not any(questions[:-1]), "the answer to a question begins the next step"
        assert any(questions) is (self.state.phase is not Phase.IDLE), "a round ends without a question"

    def check_work(self, before: GroupState, event: messages.Event, actions: tuple[messages.Action, ...]) -> None:
        assert self.running <= set(items_of(self.state.running)), "the loop knows all that runs"
        lost = isinstance(event, messages.CoordinatorAway | messages.ConfigNotRead)
        if lost and before.phase is not Phase.SERVING:
            assert not self.running, "without a membership nothing runs"
            assert self.state.assignment is None
        if self.state.assignment is not None and self.state.protocol is not ConnectProtocol.EAGER:
            assert self.published is not None
            assert set(items_of(work_of(self.published.assigned))) == set(items_of(self.state.owned))
        else:
            assert self.published is None

    # How the world answers

    def answer(self, question: messages.Action) -> messages.Event:
        match question:
            case messages.ReadToEnd():
                return messages.ConfigNotRead() if self.rarely() else messages.ConfigRead(self.config_at_end())
            case messages.CheckLease():
                lost = self.rarely()
                self.rejoin |= lost
                self.leased = not lost
                return messages.LeaseLost() if lost else messages.LeaseHeld()
            case messages.FindCoordinator():
                if self.rarely():
                    return messages.CoordinatorAway(3000)
                self.rejoin |= self.rarely()
                return messages.CoordinatorFound(self.rejoin)
            case messages.Join():
                return self.joined()
            case messages.ConfirmMembership():
                assignment = self.state.assignment
                return messages.StillMember(assignment is not None and assignment.leader == ME)
            case messages.CheckKey():
                return messages.KeyChecked(self.yes(), self.yes(), self.rarely())
            case messages.ClaimPrivileges():
                return messages.PrivilegesClaimed() if self.yes() else messages.PrivilegesNotClaimed()
            case messages.RenewKey():
                return messages.KeyRenewed() if self.yes() else messages.KeyNotRenewed(self.rarely())
            case messages.PlanRestarts():
                return messages.RestartsPlanned(self.restarts())
            case messages.TakeChanges():
                return self.changes()
        raise AssertionError(f"nobody answers {question}")

    def offset(self) -> int:
        """Mostly what this worker has read, sometimes more or less."""
        seen = self.state.config.offset
        return self.chance.choice(HISTORY).offset if self.rarely() else seen

    def names(self) -> frozenset[str]:
        return frozenset(name for name in ("a", "b", "c") if self.yes())

    def joined(self) -> messages.Event:
        if self.sent is None:
            self.sent = self.published
        cut_off = not self.leased and self.yes()
        if cut_off or self.rarely():
            return messages.JoinPending()
        allocation, self.sent, self.rejoin = self.sent, None, False
        kept = items_of(work_of(allocation.assigned)) if allocation is not None else ()
        protocol = self.state.protocol
        error = CONFIG_MISMATCH if self.rarely() else NO_ERROR
        offset = self.offset()
        leader = ME if self.yes() else OTHER
        if error != NO_ERROR:
            refused = told(error=error, offset=offset, leader=leader, protocol=protocol)
            return messages.Joined(self.state.generation + 1, protocol, refused, allocation)
        fresh = self.some(tuple(item for item in ITEMS if item not in kept))
        revoked = self.some(kept) if protocol is not ConnectProtocol.EAGER else Work()
        delay = self.chance.choice([0, 0, 2000])
        self.to_stop = dict.fromkeys(items_of(revoked), 0)
        assignment = told(fresh, revoked, offset=offset, leader=leader, protocol=protocol, delay=delay)
        return messages.Joined(self.state.generation + 1, protocol, assignment, allocation)

    def restarts(self) -> tuple[RestartPlan, ...]:
        if not self.yes():
            return ()
        chosen = self.some(ITEMS)
        return tuple(
            RestartPlan(
                name in chosen.connectors,
                tuple(id for id in chosen.tasks if id.connector == name),
                ConnectorStatus(name, Status(State.RESTARTING, "w:1"), (), ConnectorType.SOURCE),
            )
            for name in sorted({*chosen.connectors, *(id.connector for id in chosen.tasks)})
        )

    def changes(self) -> messages.Event:
        if not self.yes():
            return messages.Changes(messages.ConfigUpdates(), self.config())
        reconfigured = self.names()
        updates = messages.ConfigUpdates(self.yes() or bool(reconfigured), self.names(), self.names(), reconfigured)
        return messages.Changes(updates, self.config())


@pytest.mark.parametrize("protocol", list(ConnectProtocol))
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, STEPS))
def test_whatever_happens(protocol: ConnectProtocol, seed: int, steps: int) -> None:
    World(Random(seed), replace(GroupState(RULES, protocol), config=HISTORY[0])).run(steps)


def test_the_world_reaches_every_row_of_the_table() -> None:
    reached: set[int] = set()
    for seed in range(60):
        protocol = list(ConnectProtocol)[seed % 3]
        world = World(Random(seed), replace(GroupState(RULES, protocol), config=HISTORY[0]), reached=reached)
        world.run(400)
    missing = {
        (row.phase.name, row.event.__name__, row.guard.__name__) for row in TRANSITIONS if id(row) not in reached
    }
    # The world runs no requests, and a real member always joins when it has to.
    assert missing == {
        ("SERVING", "ConfigRead", "always"),
        ("SERVING", "ConfigNotRead", "always"),
        ("MEMBER", "StillMember", "not_carried_out"),
    }
