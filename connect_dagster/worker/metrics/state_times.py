"""How much of its time a task has spent in each state (Java: ``StateTracker``)."""

from __future__ import annotations

from connect_dagster.protocol.states import State


class StateTimes:
    """The state now, and the time spent in those before it.

    Args:
        state: the state to begin with.
        now: seconds of a clock that never goes back.
    """

    __slots__ = ("_seconds", "_since", "state")

    def __init__(self, state: State, now: float) -> None:
        self.state = state
        self._since = now
        self._seconds: dict[State, float] = {}

    def change(self, state: State, now: float) -> None:
        """Come to another state."""
        self._seconds[self.state] = self._in(self.state, now)
        self.state, self._since = state, now

    def ratio(self, state: State, now: float) -> float:
        """Part of the time since the beginning that was spent in a state, from 0 to 1."""
        total = sum(self._in(one, now) for one in {*self._seconds, self.state})
        return self._in(state, now) / total if total > 0 else 0.0

    def _in(self, state: State, now: float) -> float:
        return self._seconds.get(state, 0.0) + (now - self._since if state is self.state else 0.0)
