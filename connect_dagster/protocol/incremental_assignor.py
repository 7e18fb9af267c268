"""The assignment of work when a rebalance stops only what moves (``compatible`` and ``sessioned``; KIP-415).

In the end members have equal load, connectors and tasks counted apart (Java: ``IncrementalCooperativeAssignor``, ties
included).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, cycle

from connect_dagster.java.hashes import hash_map_order, string_order
from connect_dagster.protocol.rebalance_delay import LostWork, RebalanceDelay, decide_lost_work, decide_revocation
from connect_dagster.protocol.work import (
    KINDS,
    GroupAssignment,
    Item,
    MemberAssignment,
    Work,
    as_work,
    in_order,
    items_of,
)

_NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class _Memory:
    """The memory of a leader of the round before.

    Attributes:
        assigned: what should run after it, with what was lost and waits.
        revoked: what had to stop.
        generation: of the group.
        members: ids of its members.
        delay: of what waits.
    """

    assigned: frozenset[Item] = frozenset()
    revoked: frozenset[Item] = frozenset()
    generation: int = _NO_GENERATION
    members: frozenset[str] = frozenset()
    delay: RebalanceDelay = field(default_factory=RebalanceDelay)

    def still_true(self, active: frozenset[Item], last_completed_generation: int) -> frozenset[Item]:
        """Return the assigned work, as far as the members have learned of it."""
        if self.revoked & active:
            return active
        return self.assigned if self.generation == last_completed_generation else frozenset()


class IncrementalAssignor:
    """Decides as Java's ``IncrementalCooperativeAssignor`` does, ties included.

    A worker keeps one for its whole life and asks it whenever it leads the group. Leadership lost and regained is seen
    by the generations: what was assigned is forgotten when the last completed round was another's, or did not complete.
    A delay is not forgotten, as in Java.

    Args:
        max_delay_ms: ``scheduled.rebalance.max.delay.ms``, the longest time that work of a member that left waits for
            its return, and between two revocations; 0 for no delays.
    """

    def __init__(self, max_delay_ms: int) -> None:
        self._max_delay_ms = max_delay_ms
        self._memory = _Memory()

    def assign(
        self,
        *,
        configured: Work,
        allocations: Mapping[str, Work],
        generation: int,
        last_completed_generation: int,
        now_ms: int,
    ) -> GroupAssignment:
        """Decide one round.

        Args:
            configured: everything the group has to run, in any order; tasks of consistent connectors only (Java:
                ``ClusterConfigState.tasks``).
            allocations: what each member reported to have, by member id, at least one member. Members in the order
                of the broker's JoinGroup response, connectors and tasks in the order of the member's metadata: what
                a member lists first is revoked first.
            generation: of this round.
            last_completed_generation: of the last round in which this worker got an assignment, -1 for none.
            now_ms: the present time, of a clock that the delays are measured with.
        """
        memory = self._memory
        held = {member: items_of(allocations[member]) for member in hash_map_order(allocations)}
        active = frozenset(chain.from_iterable(held.values()))
        wanted = frozenset(items_of(configured))
        known = memory.still_true(active, last_completed_generation)

        deleted = known - wanted
        lost = in_order(known - active - deleted)
        created = in_order(wanted - known - active)
        to_stop = deleted | _held_twice(held)
        # From here on, what each member will have after this round.
        loads = {member: [item for item in items if item not in to_stop] for member, items in held.items()}

        lost_work = decide_lost_work(
            memory.delay,
            anything_lost=bool(lost),
            members=held.keys(),
            idle_members=[member for member, load in loads.items() if not load],
            previous_members=memory.members,
            max_delay_ms=self._max_delay_ms,
            now_ms=now_ms,
        )
        loads = _together(loads, _dealt(lost, lost_work.receivers))
        delay, moved = self._to_balance(lost_work.delay, loads, wanted, now_ms)
        loads = _without(loads, moved)
        loads = _together(loads, spread([*created, *_for_everybody(lost, lost_work)], loads))

        revoked = {
            member: [*(item for item in items if item in to_stop), *moved.get(member, ())]
            for member, items in held.items()
        }
        all_revoked = frozenset(chain.from_iterable(revoked.values()))
        self._memory = _Memory(
            # What moves is forgotten, so that the next round finds it new; what is lost is not, so that it is missed.
            assigned=(frozenset(chain.from_iterable(loads.values())) - all_revoked) | frozenset(lost),
            revoked=all_revoked,
            generation=generation,
            members=frozenset(held),
            delay=delay,
        )
        started = _without(loads, held)
        return GroupAssignment(
            members={member: MemberAssignment(as_work(started[member]), as_work(revoked[member])) for member in held},
            allocations={member: as_work(load) for member, load in loads.items()},
            delay_ms=delay.delay_ms,
        )

    def _to_balance(
        self, delay: RebalanceDelay, loads: Mapping[str, list[Item]], wanted: frozenset[Item], now_ms: int
    ) -> tuple[RebalanceDelay, dict[str, list[Item]]]:
        """Return the state to remember, and the work that members stop so that others can run it."""
        if delay.delay_ms:
            return replace(delay, revoked=False), {}
        moved = surplus(loads, wanted)
        delay, revoke = decide_revocation(
            delay, anything_to_revoke=bool(moved), max_delay_ms=self._max_delay_ms, now_ms=now_ms
        )
        return delay, moved if revoke else {}


def _held_twice(held: Mapping[str, Iterable[Item]]) -> frozenset[Item]:
    """Return the work of more than one member: all stop it, and the next round assigns it again."""
    holders = Counter(chain.from_iterable(held.values()))
    return frozenset(item for item, count in holders.items() if count > 1)


def _for_everybody(lost: list[Item], decision: LostWork) -> list[Item]:
    return lost if decision.reassigned and not decision.receivers else []


def _dealt(items: Iterable[Item], receivers: tuple[str, ...]) -> dict[str, list[Item]]:
    """Return the connectors in turn, and from the first receiver on the tasks in turn."""
    dealt: dict[str, list[Item]] = {receiver: [] for receiver in receivers}
    for kind in KINDS:
        of_kind = (item for item in items if isinstance(item, kind))
        for receiver, item in zip(cycle(receivers), of_kind, strict=False):
            dealt[receiver].append(item)
    return dealt


def _together(loads: Mapping[str, list[Item]], more: Mapping[str, list[Item]]) -> dict[str, list[Item]]:
    return {member: [*load, *more.get(member, ())] for member, load in loads.items()}


def _without(loads: Mapping[str, list[Item]], less: Mapping[str, Iterable[Item]]) -> dict[str, list[Item]]:
    """Each member's load without what the same member has in `less`."""
    dropped = {member: frozenset(less.get(member, ())) for member in loads}
    return {member: [item for item in load if item not in dropped[member]] for member, load in loads.items()}


def surplus(loads: Mapping[str, Collection[Item]], configured: Collection[Item]) -> dict[str, list[Item]]:
    """Return the work of members beyond their share, by member id; only those who have too much appear.

    The share is the whole number of items per member. One more is for as many members as the division leaves items
    over: those who come first in `loads` among the members above the share. Given away is what a load lists first.

    Args:
        loads: what each member has, at least one member, in an order that decides ties.
        configured: everything the group has to run. With nothing configured nothing is surplus, as in Java.
    """
    given_away: dict[str, list[Item]] = {}
    for kind in KINDS if configured else ():
        share, left_over = divmod(_count(configured, kind), len(loads))
        for member, load in loads.items():
            own = [item for item in load if isinstance(item, kind)]
            if len(own) <= share:
                continue
            allowed = share + 1 if left_over > 0 else share
            left_over -= 1
            if len(own) > allowed:
                given_away.setdefault(member, []).extend(own[: len(own) - allowed])
    return given_away


def spread(items: Iterable[Item], loads: Mapping[str, Collection[Item]]) -> dict[str, list[Item]]:
    """Return the items for each member, by member id: each in turn goes to a member with the least.

    Ties go to the member that had less before, then to the smaller id.

    Args:
        items: to be run and on no member, in the order in which they are given out.
        loads: what each member has already, at least one member.
    """
    items = list(items)
    given: dict[str, list[Item]] = {member: [] for member in loads}
    for kind in KINDS:
        counts = {member: _count(load, kind) for member, load in loads.items()}
        ranked = sorted(loads, key=lambda member: (counts[member], string_order(member)))
        queue = [(counts[member], rank) for rank, member in enumerate(ranked)]
        for item in items:
            if isinstance(item, kind):
                count, rank = queue[0]
                given[ranked[rank]].append(item)
                heapq.heapreplace(queue, (count + 1, rank))
    return given


def _count(items: Collection[Item], kind: type[Item]) -> int:
    return sum(isinstance(item, kind) for item in items)
