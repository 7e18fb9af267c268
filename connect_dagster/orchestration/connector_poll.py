"""Reading connectors from a worker, and their topics' bounds from the brokers: what a sensor or a job observes.

What cannot be read of one connector is a warning, not the end: its states are reported all the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from confluent_kafka import KafkaException

from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.connector_snapshot import ConnectorSnapshot
from connect_dagster.orchestration.lineage import connector_lineage
from connect_dagster.orchestration.records import Connector, TaskProgress
from connect_dagster.orchestration.topic_offsets import fetch_topic_bounds
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

REQUEST_TIMEOUT = 5.0

Read = TypeVar("Read")


class ConnectorPoll:
    """One look at a worker; collects warnings on the way."""

    def __init__(self, workspace: KafkaConnectWorkspace) -> None:
        self.workspace = workspace
        self.client: KafkaConnectClient = workspace.get_client(timeout=REQUEST_TIMEOUT)
        self.warnings: list[str] = []

    def connectors(self) -> dict[str, Connector]:
        """Configurations and states by name. Raises KafkaConnectError."""
        return self.client.connectors()

    def progress(self) -> dict[str, TaskProgress]:
        """Spark progress of all tasks; empty from a Java worker."""
        return self._readable(self.client.progress) or {}

    def snapshot(self, connector: Connector, progress: Mapping[str, TaskProgress]) -> ConnectorSnapshot:
        """Everything the worker knows about a connector."""
        name = connector.name
        topics = self._readable(lambda: self.client.active_topics(name)) or []
        tasks = [f"{name}-{task.id}" for task in connector.status.tasks]
        return ConnectorSnapshot(
            connector,
            connector_lineage(connector.info.config, topics),
            self._readable(lambda: tuple(self.client.offsets(name))),
            {task: progress[task] for task in tasks if task in progress},
        )

    def with_bounds(self, snapshots: Sequence[ConnectorSnapshot]) -> Sequence[ConnectorSnapshot]:
        """The snapshots with the bounds of their topics, fetched at once; unchanged when brokers fail."""
        if self.workspace.bootstrap_servers is None:
            return snapshots
        topics = {topic for snapshot in snapshots for topic in snapshot.lineage.topics}
        try:
            bounds = fetch_topic_bounds(self.workspace.bootstrap_servers, topics, REQUEST_TIMEOUT)
        except KafkaException as error:
            self.warnings.append(f"No end offsets and lag this time: {error}")
            return snapshots
        return [snapshot.with_bounds(bounds) for snapshot in snapshots]

    def _readable(self, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except KafkaConnectError as error:
            self.warnings.append(str(error))
            return None
