"""Identity and states of connectors and tasks, as Kafka Connect reports them.

Names and values only; the life cycles change states.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One task of a connector (Java: ``ConnectorTaskId``)."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


class State(StrEnum):
    """A reported state of a connector or a task (Java: ``AbstractStatus.State``)."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    DESTROYED = "DESTROYED"
    RESTARTING = "RESTARTING"


class TargetState(Enum):
    """A requested state of a connector (Java: ``TargetState``)."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class Status:
    """One reported state, with the worker that reported it.

    Attributes:
        state: the reported state.
        worker_id: ``host:port`` of the reporting worker.
        trace: the failure, first line as Java words it; ``None`` unless FAILED.
        version: the plugin's version; ``None`` where Java reports none (UNASSIGNED and RESTARTING tasks).
        generation: the group generation of the report; 0 in standalone mode.
        config_offset: version of the configuration that the part was started with (see ``StoredConfig``); ``None``
            from a worker that does not report it.
    """

    state: State
    worker_id: str
    trace: str | None = None
    version: str | None = None
    generation: int = 0
    config_offset: int | None = None
