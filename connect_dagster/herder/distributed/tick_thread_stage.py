"""The operation of the herder's thread: why a request waits (Java: ``Stage``, ``TickThreadStage``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class _Stage:
    description: str
    began: datetime
    ended: datetime | None = None


class TickThreadStage:
    """The latest stage; one thread enters stages, any thread may read.

    Args:
        first: description of the stage before the first that is entered.
    """

    def __init__(self, first: str) -> None:
        self._current = _Stage(first, datetime.now(UTC))

    @contextmanager
    def __call__(self, description: str) -> Iterator[None]:
        """Enter a stage, such as ``ensuring membership in the cluster``; afterwards return to an unfinished one."""
        before = self._current
        self._current = mine = _Stage(description, datetime.now(UTC))
        try:
            yield
        finally:
            self._current = before if before.ended is None else replace(mine, ended=datetime.now(UTC))

    @property
    def summary(self) -> str:
        """A sentence for users, with Java's text (``Stage.summarize``)."""
        stage = self._current
        began = _instant(stage.began)
        if stage.ended is None:
            return f"The worker is currently {stage.description}, which began at {began}."
        return (
            f"The last operation the worker completed was {stage.description}, which began at {began} "
            f"and completed at {_instant(stage.ended)}."
        )


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
