"""The work of a worker of a group: connectors and tasks, and its assignment to members in one rebalance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from connect_dagster.java.hashes import string_order
from connect_dagster.protocol.states import TaskId


@dataclass(frozen=True, slots=True)
class Work:
    """Connectors and tasks, in an order that matters where decisions must equal Java's.

    Attributes:
        connectors: names of the connector objects.
        tasks: the tasks.
    """

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    def __str__(self) -> str:
        return f"connectors [{', '.join(self.connectors)}] and tasks [{', '.join(map(str, self.tasks))}]"

    def plus(self, other: Work) -> Work:
        """Return this work, then the rest of the other work."""
        return Work(
            tuple(dict.fromkeys((*self.connectors, *other.connectors))),
            tuple(dict.fromkeys((*self.tasks, *other.tasks))),
        )

    def minus(self, other: Work) -> Work:
        """This work without the other's."""
        return Work(
            tuple(name for name in self.connectors if name not in other.connectors),
            tuple(id for id in self.tasks if id not in other.tasks),
        )


Item: TypeAlias = str | TaskId
"""A connector object, by its name, or a task: an item of one kind of set, where decisions treat both alike."""

KINDS: tuple[type[str], type[TaskId]] = (str, TaskId)
"""Each is balanced for itself, in this order."""


def items_of(work: Work) -> tuple[Item, ...]:
    """Connectors, then tasks, in the work's order, each once."""
    return tuple(dict.fromkeys((*work.connectors, *work.tasks)))


def as_work(items: Iterable[Item]) -> Work:
    """Return the items as connectors and tasks, in the order given."""
    items = tuple(items)
    return Work(
        connectors=tuple(item for item in items if isinstance(item, str)),
        tasks=tuple(item for item in items if isinstance(item, TaskId)),
    )


def in_order(items: Iterable[Item]) -> list[Item]:
    """Return the connectors by name, then tasks by connector and number, names compared as Java compares strings."""
    return sorted(items, key=_order)


def _order(item: Item) -> tuple[int, bytes, int]:
    if isinstance(item, TaskId):
        return 1, string_order(item.connector), item.task
    return 0, string_order(item), 0


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """The decision for one member.

    Attributes:
        assigned: what is new for it; in an eager round everything it has to run.
        revoked: what it has to stop; always empty in an eager round.
    """

    assigned: Work
    revoked: Work


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """The decision for all members.

    Attributes:
        members: the assignment of each member, by member id.
        allocations: what each member runs once it has done so, by member id; who owns what, for the leader to forward
            requests (Java: ``WorkerCoordinator.LeaderState``).
        delay_ms: milliseconds after which every member has to join again; 0 for no further join.
    """

    members: Mapping[str, MemberAssignment]
    allocations: Mapping[str, Work]
    delay_ms: int
