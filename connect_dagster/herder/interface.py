"""The operations of a worker, for the REST API and the command line.

Every method blocks until the operation is done, and raises an error of :mod:`connect_dagster.errors`, which has the
REST status. Independent of HTTP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import Status, TargetState, TaskId
from connect_dagster.worker.metrics.families import Family

ConnectorConfig = Mapping[str, str | None]

INITIAL_TARGETS = {
    DesiredState.RUNNING: TargetState.STARTED,
    DesiredState.PAUSED: TargetState.PAUSED,
    DesiredState.STOPPED: TargetState.STOPPED,
}


def without_nulls(config: ConnectorConfig) -> dict[str, str]:
    """Return a configuration without the keys whose value is null."""
    return {key: value for key, value in config.items() if value is not None}


class ConnectorType(Enum):
    """Direction of a connector; UNKNOWN when its class cannot be loaded."""

    SOURCE = "source"
    SINK = "sink"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Response of ``GET /``."""

    version: str
    commit: str
    kafka_cluster_id: str


class Health(Enum):
    """Response of ``GET /health`` (KIP-1017)."""

    STARTING = "starting"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Health with the sentence that explains it."""

    health: Health
    message: str


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector: its raw configuration, tasks and direction."""

    name: str
    config: dict[str, str]
    tasks: tuple[TaskId, ...]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector's reported states, tasks sorted by id."""

    name: str
    connector: Status
    tasks: tuple[tuple[int, Status], ...]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """The configurations of a connector and of its tasks that are stored now.

    A version grows with each change. In a group it is an offset of the config topic: of the connector's record, or of
    the commit of its tasks' records. In standalone mode it counts the configurations since the worker's start.

    Attributes:
        offset: version of the connector's configuration.
        tasks_offset: version of its tasks' configurations; ``None`` before the first.
        tasks: the tasks that they are of.
        planned: whether they were made from the connector's stored configuration.
    """

    offset: int | None
    tasks_offset: int | None
    tasks: tuple[TaskId, ...]
    planned: bool


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task with its raw configuration."""

    id: TaskId
    config: dict[str, str]


@dataclass(frozen=True, slots=True)
class Created:
    """Result of putting a configuration: the connector, and whether it was created."""

    info: ConnectorInfo
    created: bool


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """A request of ``POST /connectors/{c}/restart`` (KIP-745)."""

    connector: str
    only_failed: bool = False
    include_tasks: bool = False

    @property
    def impact(self) -> int:
        """Return the rank among requests for one connector (Java: ``RestartRequest.impactRank``)."""
        return 2 * (not self.only_failed) + self.include_tasks


@dataclass(frozen=True, slots=True)
class ConnectorOffset:
    """Offset of one partition (KIP-875); the offset ``None`` resets it. A sink refuses the partition ``None``."""

    partition: dict[str, Any] | None
    offset: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One plugin as ``GET /connector-plugins`` lists it; ``type`` is Java's word (``sink``, ``converter``, …)."""

    class_name: str
    type: str
    version: str | None


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """Level of a logger, and when it was last changed through REST, in epoch milliseconds."""

    level: str
    last_modified: int | None


class RequestTargetError(ConnectError):
    """Another worker must do this (Java: ``RequestTargetException``); the REST API forwards the request to it.

    Args:
        message: the role that this worker does not have.
        forward_url: advertised URL of the other worker, with a ``/`` at its end; ``None`` while it is not known.
    """

    java_name = "org.apache.kafka.connect.runtime.distributed.RequestTargetException"

    def __init__(self, message: str, forward_url: str | None) -> None:
        super().__init__(message)
        self.forward_url = forward_url


class NotLeaderError(RequestTargetError):
    """Only the leader may do this (Java: ``NotLeaderException``)."""

    java_name = "org.apache.kafka.connect.runtime.distributed.NotLeaderException"


class NotAssignedError(RequestTargetError):
    """Only the worker that runs the connector or task may do this (Java: ``NotAssignedException``)."""

    java_name = "org.apache.kafka.connect.runtime.distributed.NotAssignedException"


class RebalanceNeededError(ConnectError):
    """The worker's view is older than a change that awaits a rebalance (Java: ``RebalanceNeededException``)."""

    java_name = "org.apache.kafka.connect.runtime.distributed.RebalanceNeededException"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "Cannot complete request momentarily due to stale configuration "
            "(typically caused by a concurrent config change)"
        )


class Herder(ABC):
    """Operations on the connectors of a worker or a cluster (Java: ``Herder``)."""

    def stage(self) -> str | None:
        """Return a sentence on the current operation, for requests that time out (Java: ``Stage.summarize``).

        It begins ``The worker is currently …`` or ``The last operation the worker completed was …``; ``None`` when
        it is not known. Does not block.
        """
        return None

    def masked(self, text: str) -> str:
        """Return the text of an error without values of config providers and without secrets."""
        return text

    @abstractmethod
    def server_info(self) -> ServerInfo:
        """Return the version of the API and the id of the Kafka cluster."""

    @abstractmethod
    def health(self) -> HealthReport:
        """Return whether the herder's own thread responds (KIP-1017)."""

    @abstractmethod
    def progress(self) -> dict[str, Any]:
        """Return the latest progress record of each task that runs here, by ``connector-task``."""

    @abstractmethod
    def metrics(self) -> Sequence[Family]:
        """Return all metrics of this worker, with their names in Prometheus."""

    @abstractmethod
    def connectors(self) -> list[str]:
        """Return the sorted names of all connectors in this worker's view of the group; does not block."""

    def known_connector_info(self, name: str) -> ConnectorInfo:
        """Return the same as :meth:`connector_info`, without blocking. Raises NotFoundError."""
        return self.connector_info(name)

    @abstractmethod
    def connector_info(self, name: str) -> ConnectorInfo:
        """Return configuration, tasks and type. Raises NotFoundError."""

    @abstractmethod
    def connector_status(self, name: str) -> ConnectorStatus:
        """Return the reported states. Raises NotFoundError (`No status found for connector x`)."""

    @abstractmethod
    def stored_config(self, name: str) -> StoredConfig:
        """Return the versions of the stored configurations, at least as new as any change that was acknowledged.

        Raises:
            NotFoundError: the connector does not exist.
            ConnectError: the config topic cannot be read.
        """

    @abstractmethod
    def task_status(self, task: TaskId) -> Status:
        """Return the reported state of a task. Raises NotFoundError (`No status found for task x-0`)."""

    @abstractmethod
    def tasks(self, name: str) -> list[TaskInfo]:
        """Return the task configurations. Raises NotFoundError."""

    @property
    def requires_signature(self) -> bool:
        """Return whether other workers must sign their requests now; does not block."""
        return False

    @abstractmethod
    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signature: RequestSignature | None
    ) -> None:
        """Publish task configurations that the connector's worker made; workers send this request to their leader.

        Raises:
            RestError: the signature is missing, wrong, or cannot be checked yet (400, 403, 503).
            NotLeaderError: this worker is not the leader.
            NotFoundError: the connector does not exist.
        """

    @abstractmethod
    def fence_zombies(self, name: str, signature: RequestSignature | None) -> None:
        """Fence producers of earlier tasks of an exactly-once source (KIP-618). Raises as :meth:`put_task_configs`."""

    @abstractmethod
    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        """Validate, store and start. Raises BadRequestError (invalid), AlreadyExistsError."""

    @abstractmethod
    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        """Merge keys into the stored configuration, ``None`` deletes one (KIP-477)."""

    @abstractmethod
    def delete_connector(self, name: str) -> None:
        """Stop the connector and delete its configuration; its offsets stay. Raises NotFoundError."""

    @abstractmethod
    def restart_connector(self, name: str) -> None:
        """Restart the connector object alone. Raises NotFoundError."""

    @abstractmethod
    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        """Restart selected parts (KIP-745); return the states, RESTARTING for these parts."""

    @abstractmethod
    def restart_task(self, task: TaskId) -> None:
        """Stop and start one task. Raises NotFoundError (unknown connector or task)."""

    @abstractmethod
    def pause_connector(self, name: str) -> None:
        """Set the target state PAUSED. Raises NotFoundError (`Unknown connector x`)."""

    @abstractmethod
    def resume_connector(self, name: str) -> None:
        """Set the target state STARTED. Raises NotFoundError."""

    @abstractmethod
    def stop_connector(self, name: str) -> None:
        """Set the target state STOPPED and drop the tasks. Raises NotFoundError."""

    @abstractmethod
    def active_topics(self, name: str) -> list[str]:
        """Return the topics used since creation or the last reset, sorted; empty for an unknown connector."""

    @abstractmethod
    def reset_active_topics(self, name: str) -> None:
        """Reset the active topics."""

    @property
    @abstractmethod
    def topic_tracking(self) -> tuple[bool, bool]:
        """Return ``topic.tracking.enable`` and ``topic.tracking.allow.reset``."""

    @abstractmethod
    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        """Return the committed offsets of a source, or of a sink's consumer group. Raises NotFoundError."""

    @abstractmethod
    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        """Write offsets of a STOPPED connector; return the message for the user. Raises BadRequestError."""

    @abstractmethod
    def reset_connector_offsets(self, name: str) -> str:
        """Delete all offsets of a STOPPED connector; return the message for the user."""

    @abstractmethod
    def plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        """Return the discovered plugins, sinks first, each type sorted by class name."""

    @abstractmethod
    def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        """Return the ConfigKeyInfo of each key of a plugin. Raises NotFoundError."""

    @abstractmethod
    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        """Return the ConfigInfos of a connector configuration. Raises BadRequestError without ``connector.class``."""

    @abstractmethod
    def loggers(self) -> dict[str, LoggerLevel]:
        """Return the levels of all loggers by name; the root logger is ``root``."""

    @abstractmethod
    def logger(self, name: str) -> LoggerLevel:
        """Return the level of a logger. Raises NotFoundError."""

    @abstractmethod
    def set_logger_level(self, namespace: str, level: str) -> list[str]:
        """Set a level for a namespace on this worker; return the loggers that changed, sorted."""

    @abstractmethod
    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        """Set a level for a namespace on all workers (KIP-976)."""
