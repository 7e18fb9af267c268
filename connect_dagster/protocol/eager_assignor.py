"""The assignment of work when every member stops everything in each rebalance (``connect.protocol=eager``)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from connect_dagster.java.hashes import string_order
from connect_dagster.protocol.work import GroupAssignment, Item, MemberAssignment, Work, as_work, in_order, items_of


def assign_eagerly(configured: Work, members: Iterable[str]) -> GroupAssignment:
    """Deal the connectors, then on from the next member the tasks, in turn (Java: ``EagerAssignor``).

    Connector and tasks are not dealt together: with one task each, two workers would get all connectors or all tasks.

    Args:
        configured: everything the group has to run, in any order; tasks of configured connectors only.
        members: ids of the members, at least one, in any order.
    """
    ranked = sorted(members, key=string_order)
    dealt: dict[str, list[Item]] = {member: [] for member in ranked}
    for member, item in zip(cycle(ranked), in_order(items_of(configured)), strict=False):
        dealt[member].append(item)
    allocations = {member: as_work(items) for member, items in dealt.items()}
    told = {member: MemberAssignment(assigned=work, revoked=Work()) for member, work in allocations.items()}
    return GroupAssignment(members=told, allocations=allocations, delay_ms=0)
