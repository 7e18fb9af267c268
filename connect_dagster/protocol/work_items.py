"""Connectors and tasks as items of one kind of set, for decisions that treat both alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from connect_dagster.java.hashes import string_order
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work

Item: TypeAlias = str | TaskId
"""A connector object, by its name, or a task."""

KINDS: tuple[type[str], type[TaskId]] = (str, TaskId)
"""Each is balanced for itself, in this order."""


def items_of(work: Work) -> tuple[Item, ...]:
    """Connectors, then tasks, in the work's order, each once."""
    return tuple(dict.fromkeys((*work.connectors, *work.tasks)))


def as_work(items: Iterable[Item]) -> Work:
    """The items as connectors and tasks, in the order given."""
    items = tuple(items)
    return Work(
        connectors=tuple(item for item in items if isinstance(item, str)),
        tasks=tuple(item for item in items if isinstance(item, TaskId)),
    )


def in_order(items: Iterable[Item]) -> list[Item]:
    """Connectors by name, then tasks by connector and number, names compared as Java compares strings."""
    return sorted(items, key=_order)


def _order(item: Item) -> tuple[int, bytes, int]:
    if isinstance(item, TaskId):
        return 1, string_order(item.connector), item.task
    return 0, string_order(item), 0
