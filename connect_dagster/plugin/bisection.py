"""Finds the records of a batch that fail: halves what fails, keeps what works.

One such record among n costs about 2·log2(n) attempts, whose sizes halve: together little more than two attempts at
the whole batch. For sink tasks that report such records to the errant record reporter; the worker uses it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass
class Bisection(Generic[Part, Result]):
    """Results of the parts of a batch, in their order.

    Attributes:
        whole: known to fail as a whole.
        attempt: handles a part; raises where one of its records fails.
        halve: splits a part in two; returns none for a part that is a single record.
        rejected: returns the result of a single record that fails with this error.
        is_fatal: whether an error ends the bisection, because no single record is its cause.
        waiting: the parts that are not attempted yet, the next one last.

    Example:
        >>> for written in Bisection(rows, write, halves, rejected=report):
        ...     ...
    """

    whole: Part
    attempt: Callable[[Part], Result]
    halve: Callable[[Part], Sequence[Part]]
    rejected: Callable[[Part, Exception], Result]
    is_fatal: Callable[[Exception], bool] = lambda _: False
    waiting: list[Part] = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = list(reversed(self.halve(self.whole) or [self.whole]))

    def __iter__(self) -> Iterator[Result]:
        while self.waiting:
            part = self.waiting.pop()
            try:
                result = self.attempt(part)
            except Exception as error:
                if self.is_fatal(error):
                    raise
                if halves := self.halve(part):
                    self.waiting += reversed(halves)
                    continue
                result = self.rejected(part, error)
            yield result
