"""Equal load for the members of a group: what those with too much give away, and who gets what is to be run.

Connectors and tasks are counted apart. Follows ``IncrementalCooperativeAssignor``, ties included.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping

from connect_dagster.java.hashes import string_order
from connect_dagster.protocol.work import KINDS, Item


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
