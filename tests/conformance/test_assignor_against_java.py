"""Our incremental assignor beside Kafka's: the same decisions in the same rounds, ties and orders included."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from connect_dagster.protocol.rebalance_delay import revocation_backoff_ms
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import GroupAssignment, Work
from tests.conformance.java_assignor import JavaDecision, decide
from tests.golden_answers import Golden, digest
from tests.rebalancing_group import Group, Round, work_of

Works = Mapping[str, tuple[Collection[str], Collection[TaskId]]]

SCENARIOS = 400
LONGEST_DELAYS_MS = (0, 1, 2, 40, 1600, 63_999, 300_000)
# Java compares UTF-16 units: U+1F600 lies before U+FF21 there, and after it by code points.
NAMES = [*(f"connector{number}" for number in range(12)), "Ωmega", "Ａ wide", "😀 narrow", "a b", "-", "Z"]
CLIENTS = [*(f"connect-localhost:{port}" for port in range(8083, 8090)), "Ａ", "😀"]


def test_the_same_decisions_in_random_groups(golden: Golden) -> None:
    scenarios = [_random_scenario(random.Random(seed)) for seed in range(SCENARIOS)]
    # Megabytes of decisions, so that digests of them are recorded.
    javas = golden.answer("decisions", lambda: [list(map(_digest, decisions)) for decisions in decide(scenarios)])
    assert len(javas) == SCENARIOS
    for seed, ((_, rounds), decisions) in enumerate(zip(scenarios, javas, strict=True)):
        for number, (ours, java) in enumerate(zip(rounds, decisions, strict=True)):
            assert _digest(ours.decided) == java, f"scenario {seed}, round {number}: {_comparable(ours.decided)}"


def test_the_scenarios_reach_what_there_is_to_decide() -> None:
    decided = [each.decided for seed in range(SCENARIOS) for each in _random_scenario(random.Random(seed))[1]]
    backed_off = {revocation_backoff_ms(1, longest) for longest in LONGEST_DELAYS_MS} - {0, 1}
    assert any(each.delay_ms in backed_off for each in decided)
    assert any(each.delay_ms == max(LONGEST_DELAYS_MS) for each in decided)
    assert sum(any(told.revoked for told in each.members.values()) for each in decided) > SCENARIOS
    assert any(each.delay_ms and any(told.revoked for told in each.members.values()) for each in decided)
    assert max(len(each.members) for each in decided) > 12  # beyond the smallest table of a HashMap


def test_the_same_back_off(golden: Golden) -> None:
    longest = [*range(200), *(random.Random(7).randrange(1 << 31) for _ in range(400)), (1 << 31) - 1]
    scenarios = [(delay, _rounds_that_cannot_revoke(delay)) for delay in longest]
    javas = golden.answer("waits", lambda: [[each.delay_ms for each in found] for found in decide(scenarios)])
    for (delay, rounds), java in zip(scenarios, javas, strict=True):
        waits = [each.decided.delay_ms for each in rounds]
        assert waits == java, delay
        # Each time that it is due, the revocation is tried again, and not followed.
        assert waits == [0, *(wait for n in range(1, 5) for wait in (0, revocation_backoff_ms(n, delay)))]


def _digest(decision: GroupAssignment | JavaDecision) -> str:
    delay_ms, *parts = _comparable(decision)
    return digest([delay_ms, *({member: _plain(*work) for member, work in part.items()} for part in parts)])


def _plain(connectors: Collection[str], tasks: Collection[TaskId]) -> list[Any]:
    """Return work for JSON; sets in a fixed order, as theirs means nothing."""
    plain: list[list[Any]] = [list(connectors), [[task.connector, task.task] for task in tasks]]
    return [sorted(one) for one in plain] if isinstance(connectors, set) else plain


def _comparable(decision: GroupAssignment | JavaDecision) -> tuple[int, Works, Works, Works]:
    if isinstance(decision, GroupAssignment):
        assigned = {member: told.assigned for member, told in decision.members.items()}
        revoked = {member: told.revoked for member, told in decision.members.items()}
    else:
        assigned, revoked = dict(decision.assigned), dict(decision.revoked)
    sets = {member: (set(work.connectors), set(work.tasks)) for member, work in revoked.items()}
    return decision.delay_ms, _pairs(assigned), sets, _pairs(decision.allocations)


def _pairs(works: Mapping[str, Work]) -> Works:
    return {member: (work.connectors, work.tasks) for member, work in works.items()}


def _random_scenario(chance: random.Random) -> tuple[int, list[Round]]:
    """A longest delay, and rounds with whatever may happen between them."""
    longest = chance.choice(LONGEST_DELAYS_MS)
    connectors = {name: chance.randrange(6) for name in chance.sample(NAMES, chance.randrange(7))}
    group = Group(connectors, [_member(chance) for _ in range(chance.choice([1, 2, 3, 14]))], longest)
    for _ in range(chance.randrange(4, 16)):
        for event in chance.choices(EVENTS, weights=WEIGHTS, k=chance.randrange(3)):
            event(group, chance)
        _pass_time(group, chance)
        group.rebalance(
            undelivered={member for member in group.allocations if chance.random() < 0.08},
            leader_missed_a_round=chance.random() < 0.08,
        )
    return longest, group.rounds


def _member(chance: random.Random) -> str:
    id = uuid.UUID(int=chance.getrandbits(128))
    return f"{chance.choice(CLIENTS)}-{id}"


def _join(group: Group, chance: random.Random) -> None:
    group.allocations[_member(chance)] = Work()


def _leave(group: Group, chance: random.Random) -> None:
    if len(group.allocations) > 1:
        del group.allocations[chance.choice(list(group.allocations))]


def _return(group: Group, chance: random.Random) -> None:
    """A member that was away comes with what it once had, which others may have as well by now."""
    once = chance.choice(group.rounds).allocations if group.rounds else {}
    for member in chance.sample(list(once), min(1, len(once))):
        group.allocations.setdefault(member, once[member])


def _come_with_work(group: Group, chance: random.Random) -> None:
    """A member of which the leader knows nothing, with work that may or may not be configured."""
    names = chance.sample(NAMES, 2)
    group.allocations[_member(chance)] = work_of({name: chance.randrange(4) for name in names})


def _configure(group: Group, chance: random.Random) -> None:
    group.connectors[chance.choice(NAMES)] = chance.randrange(9)


def _delete(group: Group, chance: random.Random) -> None:
    for name in chance.sample(list(group.connectors), min(len(group.connectors), chance.choice([1, 1, 1, 20]))):
        del group.connectors[name]


def _pass_time(group: Group, chance: random.Random) -> None:
    delay = group.rounds[-1].decided.delay_ms if group.rounds else 0
    group.now_ms += chance.choice([0, 1, delay // 2, delay - 1 if delay else 0, delay, delay, delay + 1, 1000])


def _rounds_that_cannot_revoke(longest_delay_ms: int) -> list[Round]:
    """One member has all, and never hears that it is to give away half."""
    group = Group({"a": 2, "b": 2}, ["first"], longest_delay_ms)
    group.rebalance()
    group.allocations["second"] = Work()
    for _ in range(8):
        group.now_ms += group.rebalance(undelivered=group.allocations).delay_ms
    return group.rounds


Event = Callable[[Group, random.Random], None]
EVENTS: list[Event] = [_join, _leave, _return, _come_with_work, _configure, _delete]
WEIGHTS = [5, 4, 2, 1, 4, 2]
