"""When work may move between members: what a leader remembers of waiting and revoking, from round to round.

Two rules share one delay (Kafka: ``scheduled.rebalance.max.delay.ms``). Work of a member that left waits for the
member to return (KIP-415). And a second revocation right after the first waits, each time longer, so that workers that
join one after the other do not stop the same tasks over and over (KAFKA-12495).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, replace

from connect_dagster.java.hashes import hash_map_order

_BACKOFF_BASE = 40


@dataclass(frozen=True, slots=True)
class RebalanceDelay:
    """The memory of a leader of delays and revocations.

    Attributes:
        delay_ms: the delay in the members' last assignment.
        due_ms: the time at which the wait ends; ``None`` while nothing waits.
        candidates: members that had nothing when the wait began or joined without anything during it: likely the
            lost one returned, they get its work. The first to be seen comes first.
        revoked: whether the last round revoked work to balance the load.
        successive: how many rounds in a row would have revoked work after one that did.
    """

    delay_ms: int = 0
    due_ms: int | None = None
    candidates: tuple[str, ...] = ()
    revoked: bool = False
    successive: int = 0

    def over(self) -> RebalanceDelay:
        """Nothing waits any longer."""
        return replace(self, delay_ms=0, due_ms=None, candidates=())


@dataclass(frozen=True, slots=True)
class LostWork:
    """The decision about work that a member had and no member has now.

    Attributes:
        delay: what to remember.
        reassigned: whether it is assigned in this round.
        receivers: the members that get it in turn; empty for the member with the least.
    """

    delay: RebalanceDelay
    reassigned: bool
    receivers: tuple[str, ...] = ()


def decide_lost_work(
    delay: RebalanceDelay,
    *,
    anything_lost: bool,
    members: Collection[str],
    idle_members: Iterable[str],
    previous_members: Set[str],
    max_delay_ms: int,
    now_ms: int,
) -> LostWork:
    """Decide whether lost work moves now or waits (Java: ``IncrementalCooperativeAssignor.handleLostAssignments``).

    A round that follows a revocation is treated as if work was lost even when none is, as Java does.

    Args:
        delay: what the leader remembers.
        anything_lost: whether work is on no member that was on one, and is still configured.
        members: ids of the present members.
        idle_members: those of them that have nothing, in Java's order.
        previous_members: ids of the members of the last round.
        max_delay_ms: the longest wait; 0 for none.
        now_ms: the present time.
    """
    if not anything_lost and not delay.revoked:
        return LostWork(delay.over(), reassigned=True)
    # No member left, so none has to return: the members did not get their last assignment.
    nobody_left = delay.due_ms is None and previous_members <= set(members)
    if nobody_left or max_delay_ms == 0:
        return LostWork(delay, reassigned=True)
    if delay.due_ms is not None and delay.due_ms <= now_ms:
        receivers = tuple(candidate for candidate in delay.candidates if candidate in members)
        return LostWork(replace(delay.over(), revoked=False), reassigned=True, receivers=receivers)
    wait_ms = max_delay_ms if delay.due_ms is None else min(delay.due_ms - now_ms, max_delay_ms)
    candidates = tuple(dict.fromkeys((*delay.candidates, *hash_map_order(idle_members))))
    return LostWork(replace(delay, delay_ms=wait_ms, due_ms=now_ms + wait_ms, candidates=candidates), reassigned=False)


def decide_revocation(
    delay: RebalanceDelay, *, anything_to_revoke: bool, max_delay_ms: int, now_ms: int
) -> tuple[RebalanceDelay, bool]:
    """Decide whether work is revoked in this round to balance the load; not to be asked while a delay is active.

    Returns:
        What to remember, and whether to revoke.
    """
    if not anything_to_revoke:
        return (replace(delay, revoked=False, successive=0) if delay.revoked else delay), False
    if not delay.revoked:
        return replace(delay, revoked=True), True
    successive = delay.successive + 1
    wait_ms = revocation_backoff_ms(successive, max_delay_ms)
    if wait_ms == 0:
        return replace(delay, successive=successive), True
    return replace(delay, successive=successive, delay_ms=wait_ms, due_ms=now_ms + wait_ms), False


def revocation_backoff_ms(successive: int, max_delay_ms: int) -> int:
    """Return the delay before work is revoked again: 40 to the power of the rounds in a row, at most the longest wait.

    Calculated in floating point as Java's ``ExponentialBackoff`` does, with what is lost by it.
    """
    if max_delay_ms <= 1:
        return max_delay_ms
    exponent = min(float(successive), math.log(max_delay_ms) / math.log(_BACKOFF_BASE))
    return min(int(math.pow(_BACKOFF_BASE, exponent)), max_delay_ms)
