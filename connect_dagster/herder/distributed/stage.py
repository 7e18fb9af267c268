"""What the herder's thread does, or did last: why a request waits (Java: ``Stage``, ``TickThreadStage``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class _Stage:
    what: str
    began: datetime
    ended: datetime | None = None


class Stages:
    """The latest stage; one thread enters them, any may ask."""

    def __init__(self, first: str) -> None:
        self._current = _Stage(first, datetime.now(UTC))

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Be in a stage, such as ``ensuring membership in the cluster``; then in the one before, if that goes on."""
        before = self._current
        self._current = mine = _Stage(what, datetime.now(UTC))
        try:
            yield
        finally:
            self._current = before if before.ended is None else replace(mine, ended=datetime.now(UTC))

    @property
    def summary(self) -> str:
        """A sentence for users, in Java's words (``Stage.summarize``)."""
        stage = self._current
        began = _instant(stage.began)
        if stage.ended is None:
            return f"The worker is currently {stage.what}, which began at {began}."
        return (
            f"The last operation the worker completed was {stage.what}, which began at {began} "
            f"and completed at {_instant(stage.ended)}."
        )

    @property
    def what(self) -> str:
        """The latest stage itself."""
        return self._current.what


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
