"""Connector and task that a thread works for, in each of its log lines (KIP-449)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_TASK = "task-"


@dataclass(frozen=True, slots=True)
class Scope:
    """The subject of a line.

    Attributes:
        connector: name of the connector; empty for the worker itself.
        part: ``worker`` or ``task-N``.
    """

    connector: str = ""
    part: str = ""

    @property
    def task(self) -> int | None:
        """Return the number of the task, ``None`` for what is not about one."""
        return int(self.part.removeprefix(_TASK)) if self.part.startswith(_TASK) else None


_WORKER = Scope()
_scope = ContextVar("connector context", default=_WORKER)


def current_scope() -> Scope:
    """Return the scope of this thread."""
    return _scope.get()


def set_context(connector: str, part: str) -> None:
    """Have the lines of this thread begin with ``[connector|part]``; the part is ``worker`` or ``task-N``.

    A thread that runs in a copy of this thread's context (``contextvars.copy_context``) has it as well.
    """
    _scope.set(Scope(connector, part))


@contextmanager
def context(connector: str, part: str) -> Iterator[None]:
    """The same for a block of code."""
    before = _scope.get()
    set_context(connector, part)
    try:
        yield
    finally:
        _scope.set(before)
