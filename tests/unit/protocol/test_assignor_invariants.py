"""What holds of a group that the incremental assignor leads, whatever happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.protocol.eager_assignor import assign_eagerly
from connect_dagster.protocol.work import Work, items_of
from tests.rebalancing_group import MAX_DELAY_MS, Group, is_idle, work_of

MEMBERS = [f"connect-localhost:{port}-{'0123456789abcdef'[port % 16]}" for port in range(8083, 8092)]
NAMES = [f"connector{number}" for number in range(6)]

connectors = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9))
members = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=6, unique=True)
some_work = connectors.map(work_of)
max_delays_ms = st.sampled_from([0, 1, 1000, MAX_DELAY_MS])

joins = st.tuples(st.just("join"), st.sampled_from(MEMBERS))
returns = st.tuples(st.just("return"), st.sampled_from(MEMBERS), some_work)
leaves = st.tuples(st.just("leave"), st.sampled_from(MEMBERS))
resizes = st.tuples(st.just("configure"), st.sampled_from(NAMES), st.integers(0, 9))
deletes = st.tuples(st.just("delete"), st.sampled_from(NAMES))
waits = st.tuples(st.just("wait"), st.sampled_from([1, 40, 1000, MAX_DELAY_MS // 2, MAX_DELAY_MS]))
rounds = st.tuples(st.just("rebalance"), st.sets(st.sampled_from(MEMBERS), max_size=2), st.booleans())
new_leaders = st.tuples(st.just("lead anew"))
events = st.lists(st.one_of(joins, returns, leaves, resizes, deletes, waits, rounds, new_leaders), max_size=25)


unhurried = settings(deadline=None)  # the machine may be busy


@st.composite
def groups(draw: st.DrawFn) -> Group:
    """A group with a past."""
    group = Group(draw(connectors), draw(members), draw(max_delays_ms))
    for event in draw(events):
        match event:
            case "join", str(member):
                group.allocations.setdefault(member, Work())
            case "return", str(member), Work() as work:
                group.allocations.setdefault(member, work)
            case "leave", str(member) if len(group.allocations) > 1:
                group.allocations.pop(member, None)
            case "configure", str(name), int(tasks):
                group.connectors[name] = tasks
            case "delete", str(name):
                group.connectors.pop(name, None)
            case "wait", int(milliseconds):
                group.now_ms += milliseconds
            case "rebalance", set(undelivered), bool(missed):
                group.rebalance(undelivered=undelivered, leader_missed_a_round=missed)
            case ("lead anew",):
                group.lead_anew()
    return group


@unhurried
@given(groups())
def test_a_group_settles_with_everything_on_one_member_and_balanced(group: Group) -> None:
    group.settle()
    held = Counter(item for work in group.allocations.values() for item in items_of(work))
    assert held == Counter(items_of(group.configured))
    assert _is_balanced(len(work.connectors) for work in group.allocations.values())
    assert _is_balanced(len(work.tasks) for work in group.allocations.values())


@unhurried
@given(groups())
def test_a_settled_group_stays_as_it_is(group: Group) -> None:
    group.settle()
    settled = dict(group.allocations)
    for passed_ms in (0, 1, MAX_DELAY_MS):
        group.now_ms += passed_ms
        assert is_idle(group.rebalance())
    assert group.allocations == settled


@unhurried
@given(groups())
def test_no_round_has_something_started_that_runs_elsewhere(group: Group) -> None:
    group.settle()
    for each in group.rounds:
        running = {item for work in each.allocations.values() for item in items_of(work)}
        started = [item for told in each.decided.members.values() for item in items_of(told.assigned)]
        assert running.isdisjoint(started)
        assert len(set(started)) == len(started)


@unhurried
@given(connectors, members)
def test_a_member_that_joins_is_given_its_share_and_nothing_else_moves(
    connectors: dict[str, int], members: list[str]
) -> None:
    group = Group(connectors, members)
    group.settle()
    before = dict(group.allocations)
    group.allocations["newcomer"] = Work()
    changes = group.settle()
    given_work = group.allocations.pop("newcomer")
    assert changes <= 2
    assert len(given_work.connectors) == len(group.configured.connectors) // (len(members) + 1)
    assert len(given_work.tasks) == len(group.configured.tasks) // (len(members) + 1)
    for member, work in group.allocations.items():
        assert set(items_of(work)) == set(items_of(before[member])) - set(items_of(given_work))


@unhurried
@given(connectors, members)
def test_a_member_that_returns_in_time_gets_its_work_back_and_nothing_else_moves(
    connectors: dict[str, int], members: list[str]
) -> None:
    group = Group(connectors, [*members, "bounced"])
    group.settle()
    before = dict(group.allocations)
    lost = group.allocations.pop("bounced")
    assert group.rebalance().delay_ms == (MAX_DELAY_MS if lost else 0)
    group.now_ms += MAX_DELAY_MS // 3
    group.allocations["bounced"] = Work()
    group.settle()
    kept = {member: set(items_of(work)) for member, work in group.allocations.items() if member != "bounced"}
    assert all(kept[member] >= set(items_of(before[member])) for member in kept)
    # A member that had nothing all the time may look like the one that came back.
    if all(before.values()):
        assert set(items_of(group.allocations["bounced"])) == set(items_of(lost))


@unhurried
@given(connectors, members)
def test_an_eager_round_balances_everything(connectors: dict[str, int], members: list[str]) -> None:
    allocations = assign_eagerly(work_of(connectors), members).allocations
    assert set(allocations) == set(members)
    held = Counter(item for work in allocations.values() for item in items_of(work))
    assert held == Counter(items_of(work_of(connectors)))
    assert _is_balanced(len(items_of(work)) for work in allocations.values())


def _is_balanced(counts: Iterable[int]) -> bool:
    ordered = sorted(counts)
    return ordered[-1] - ordered[0] <= 1
