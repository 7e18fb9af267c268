"""The time for which a worker is certainly still a member of its group.

The brokers declare a worker dead when they have not heard of it for the session timeout, and others take its work. The
worker itself must know by then: one that was frozen, or cut off, may not write offsets, states or configurations over
its successor's. So it holds a lease that every response to a heartbeat renews, counted from the sending of that
heartbeat. Java has no such lease.

A worker that has lost its membership runs its work on without the lease. A new membership does not give the lease back
by itself: the work may be another's by now, until the herder has stopped what the new assignment takes away.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# Linux's clock that also counts while the machine sleeps, as the brokers' does.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def wakeful_clock() -> float:
    """Seconds that go on while the process is frozen, and where possible while the machine sleeps."""
    return time.monotonic() if _BOOT_CLOCK is None else time.clock_gettime(_BOOT_CLOCK)


class Lease:
    """Membership until proven otherwise; any thread may ask.

    Args:
        seconds: the session timeout.
        clock: see :func:`wakeful_clock`; the caller of :meth:`renew` reads it as well.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = wakeful_clock) -> None:
        self._seconds = seconds
        self.clock = clock
        self._confirmed = float("-inf")
        self._generation: int | None = None
        self._lost = False

    @property
    def held(self) -> bool:
        """Return whether the brokers still count this worker in, and it runs no more than its assignment."""
        return not self._lost and self.remaining > 0

    @property
    def remaining(self) -> float:
        """Seconds until the lease ends; negative when it has ended."""
        return self._confirmed + self._seconds - self.clock()

    def renew(self, asked: float) -> None:
        """Take the lease: the brokers confirmed the membership.

        Args:
            asked: when they were asked, by the clock.
        """
        self._confirmed = max(self._confirmed, asked)

    def join(self, generation: int, asked: float) -> None:
        """Take the lease, or after a loss the time of it, which :meth:`regain` gives back.

        Args:
            generation: of the group.
            asked: as for :meth:`renew`.
        """
        self._generation = generation
        self.renew(asked)

    def extend(self, asked: float) -> None:
        """Renew a lease that is held, and no other: the brokers respond, though not about the membership.

        Args:
            asked: when they were asked, by the clock.
        """
        if self.held:
            self.renew(asked)

    def lose(self) -> None:
        """Drop the lease until :meth:`regain`: the brokers denied the membership, or the worker gave it up."""
        self._confirmed = float("-inf")
        self._generation = None
        self._lost = True

    def regain(self, generation: int) -> None:
        """Take the lease back, unless it was lost again: what the assignment of this generation revokes has stopped."""
        if generation == self._generation:
            self._lost = False
