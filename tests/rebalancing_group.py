"""A group of workers on paper: members that do as the leader's incremental assignor tells them, and report it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from connect_dagster.protocol.incremental_assignor import IncrementalAssignor
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import GroupAssignment, Work

MAX_DELAY_MS = 300_000


@dataclass(frozen=True, slots=True)
class Round:
    """What the assignor was asked, and what it decided."""

    configured: Work
    allocations: Mapping[str, Work]
    generation: int
    last_completed_generation: int
    now_ms: int
    decided: GroupAssignment


class Group:
    """Members, connectors and a clock.

    Attributes:
        connectors: number of tasks by the name of the connector.
        allocations: what each member has, in the order of their joining.
        now_ms: the clock; time passes when a test says so.
        rounds: what was decided so far.
    """

    def __init__(self, connectors: Mapping[str, int], members: Iterable[str], max_delay_ms: int = MAX_DELAY_MS) -> None:
        self.connectors = dict(connectors)
        self.allocations = dict.fromkeys(members, Work())
        self.now_ms = 1_700_000_000_000
        self.rounds: list[Round] = []
        self._max_delay_ms = max_delay_ms
        self._generation = 1000
        self.lead_anew()

    @property
    def configured(self) -> Work:
        return work_of(self.connectors)

    def lead_anew(self) -> None:
        """The leader is another worker, that remembers nothing."""
        self._assignor = IncrementalAssignor(self._max_delay_ms)

    def rebalance(self, *, undelivered: Collection[str] = (), leader_missed_a_round: bool = False) -> GroupAssignment:
        """One round.

        Args:
            undelivered: the members that do not get their assignment and keep what they have.
            leader_missed_a_round: whether the leader did not complete the round before.
        """
        self._generation += 1
        last_completed = self._generation - (2 if leader_missed_a_round else 1)
        asked = (self.configured, dict(self.allocations), self._generation, last_completed, self.now_ms)
        configured, allocations, generation, last_completed, now_ms = asked
        decided = self._assignor.assign(
            configured=configured,
            allocations=allocations,
            generation=generation,
            last_completed_generation=last_completed,
            now_ms=now_ms,
        )
        self.rounds.append(Round(*asked, decided))
        for member, told in decided.members.items():
            if member not in undelivered:
                # As a worker does: what is new comes before what it keeps.
                kept = without(self.allocations[member], told.revoked)
                self.allocations[member] = together(told.assigned, kept)
        return decided

    def settle(self, *, rounds: int = 30) -> int:
        """Rebalance, each time after the delay, until two rounds change nothing; returns how many came before them.

        Raises AssertionError when that takes too many rounds.
        """
        quiet = 0
        for done in range(rounds):
            decided = self.rebalance()
            self.now_ms += decided.delay_ms
            quiet = quiet + 1 if is_idle(decided) else 0
            if quiet == 2:
                return done - 1
        raise AssertionError(f"the group did not settle: {self.rounds[-2:]}")


def work_of(connectors: Mapping[str, int]) -> Work:
    """Connectors with so many tasks each."""
    return Work(
        tuple(connectors), tuple(TaskId(name, number) for name, tasks in connectors.items() for number in range(tasks))
    )


def together(work: Work, other: Work) -> Work:
    return Work(work.connectors + other.connectors, work.tasks + other.tasks)


def without(work: Work, other: Work) -> Work:
    return Work(
        tuple(name for name in work.connectors if name not in other.connectors),
        tuple(task for task in work.tasks if task not in other.tasks),
    )


def is_idle(decided: GroupAssignment) -> bool:
    """Whether nobody starts or stops anything, and nobody is to come back."""
    return decided.delay_ms == 0 and not any(told.assigned or told.revoked for told in decided.members.values())
