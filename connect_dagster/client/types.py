"""Values of a Connect worker's responses: connectors with their states, offsets and progress.

Parsed once at the border from the JSON of Kafka Connect's REST API, so the rest of the package handles no raw
maps. Independent of HTTP and of Dagster. Fields that a newer worker adds are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from connect_dagster.protocol.states import State as State


class Direction(StrEnum):
    """Direction in which a connector moves records."""

    SOURCE = "source"
    SINK = "sink"
    UNKNOWN = "unknown"


class Response(BaseModel):
    """Base of everything parsed from a worker's JSON."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


class ServerInfo(Response):
    """``GET /``: version of the worker and id of its Kafka cluster."""

    version: str
    commit: str
    kafka_cluster_id: str


class WorkerHealth(Response):
    """``GET /health``.

    Attributes:
        status: starting, healthy or unhealthy.
        message: What that means.
    """

    status: str
    message: str


class ConnectorState(Response):
    """State of the connector object itself.

    Attributes:
        state: The reported state.
        worker_id: The worker that reported it.
        trace: The failure; None without one.
        current: Whether the part runs the stored configuration; None where the worker does not report that.
    """

    state: State
    worker_id: str
    trace: str | None = None
    current: bool | None = None

    @property
    def words(self) -> str:
        """Return the state as text, marked when it is the state of a former configuration."""
        outdated = self.current is False and self.state is not State.UNASSIGNED
        return f"{self.state.value} with a former configuration" if outdated else self.state.value


class TaskState(ConnectorState):
    """State of one task."""

    id: int


class ConnectorStatus(Response):
    """``GET /connectors/{c}/status``."""

    name: str
    connector: ConnectorState
    tasks: tuple[TaskState, ...] = ()
    type: Direction = Direction.UNKNOWN

    def tasks_in(self, state: State) -> int:
        """Return the number of tasks in ``state``."""
        return sum(task.state is state for task in self.tasks)

    def has_reached(self, state: State) -> bool:
        """Return whether the connector and every task of it are in ``state``.

        RUNNING needs a task, and no part that still runs a former configuration: others, as the tasks of a paused
        connector, get the stored one later.
        """
        if self.connector.state is not state or self.tasks_in(state) < len(self.tasks):
            return False
        return state is not State.RUNNING or bool(self.tasks and not self._runs_former_config)

    @property
    def _runs_former_config(self) -> bool:
        return any(part.current is False for part in (self.connector, *self.tasks))

    @property
    def has_failed(self) -> bool:
        """Return True if the connector or a task of it FAILED."""
        return self.connector.state is State.FAILED or self.tasks_in(State.FAILED) > 0

    def summary(self) -> str:
        """Return the states on one line, like ``PAUSED, task 0 PAUSED``."""
        return ", ".join([self.connector.words, *(f"task {task.id} {task.words}" for task in self.tasks)])

    def traces(self) -> list[tuple[str, str]]:
        """Return ``("task 0", trace)`` for each trace the worker reports."""
        owners = [("connector", self.connector), *((f"task {task.id}", task) for task in self.tasks)]
        return [(owner, state.trace) for owner, state in owners if state.trace]


class ConnectorInfo(Response):
    """``GET /connectors/{c}``: the configuration as it was given."""

    name: str
    config: dict[str, str | None]


class Connector(Response):
    """One entry of ``GET /connectors?expand=status&expand=info``.

    Attributes:
        status: Its states.
        info: Its configuration.
        secret_keys: Keys its plugin defines as PASSWORD, where it was asked; not part of the response.
    """

    status: ConnectorStatus
    info: ConnectorInfo
    secret_keys: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return the connector's name."""
        return self.info.name

    @property
    def connector_class(self) -> str:
        """Class of its plugin, as it was configured."""
        return self.info.config.get("connector.class") or ""


class PartitionOffset(Response):
    """Offset of one source partition, or of one topic partition of a sink (KIP-875)."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None


class TaskProgress(Response):
    """Progress of one task's Spark stream, from our extension ``GET /dagster/progress``."""

    batch_id: int = Field(0, alias="batchId")
    input_rows_per_second: float = Field(0.0, alias="inputRowsPerSecond")
    processed_rows_per_second: float = Field(0.0, alias="processedRowsPerSecond")
    duration_ms: dict[str, float] = Field(default_factory=dict, alias="durationMs")
    total_input_rows: int = Field(0, alias="totalInputRows")


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One number of ``GET /metrics``."""

    name: str
    labels: Mapping[str, str]
    value: float


class ConnectorPlugin(Response):
    """One entry of ``GET /connector-plugins``."""

    plugin_class: str = Field(alias="class")
    type: str
    version: str | None = None


class ValidatedValue(Response):
    """Result of the validation of one key."""

    name: str
    value: str | None = None
    errors: tuple[str, ...] = ()
    recommended_values: tuple[str | None, ...] = ()


class KeyDefinition(Response):
    """Definition of one key by a plugin."""

    name: str
    type: str
    required: bool = False
    default_value: str | None = None
    documentation: str | None = None


class ValidatedKey(Response):
    """Definition and value of one key; keys the plugin does not know have no definition."""

    definition: KeyDefinition | None = None
    value: ValidatedValue | None = None


class ConfigValidation(Response):
    """``PUT /connector-plugins/{class}/config/validate``."""

    name: str
    error_count: int
    configs: tuple[ValidatedKey, ...]

    def errors(self) -> dict[str, tuple[str, ...]]:
        """Errors by key, of the keys that have any."""
        values = (key.value for key in self.configs if key.value is not None)
        return {value.name: value.errors for value in values if value.errors}

    def secret_keys(self) -> frozenset[str]:
        """Return the keys that the plugin defines as PASSWORD."""
        definitions = (key.definition for key in self.configs if key.definition is not None)
        return frozenset(definition.name for definition in definitions if definition.type == "PASSWORD")
