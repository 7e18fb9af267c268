"""The work of a worker of a group."""

from __future__ import annotations

from dataclasses import dataclass

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
