"""The sensor that polls a Connect worker and writes what it sees into Dagster's event log.

Each poll is an observation of every connector. Where a connector's offsets moved since the last poll, its
outputs (topics of a source, the files of a sink) get a materialisation, so that freshness and downstream
automation work.
"""

import time
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import dagster as dg
from confluent_kafka import KafkaException
from dagster import AssetMaterialization, AssetObservation
from pydantic import BaseModel, ValidationError

from connect_dagster.orchestration.asset_keys import connector_key
from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.connector_metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.connector_snapshot import ConnectorSnapshot
from connect_dagster.orchestration.lineage import connector_lineage
from connect_dagster.orchestration.records import Connector, TaskProgress
from connect_dagster.orchestration.topic_offsets import fetch_topic_bounds
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

# A tick has 60 s; what is left over goes first in the next one.
TICK_BUDGET_SECONDS = 40.0
REQUEST_TIMEOUT = 5.0

AssetEvent: TypeAlias = AssetObservation | AssetMaterialization


class StatusCursor(BaseModel):
    """What the sensor remembers between ticks.

    Attributes:
        offsets: Committed offsets of each connector as JSON text, as last seen.
        resume_after: Name of the last connector polled when a tick ran out of time.
    """

    offsets: dict[str, str] = {}
    resume_after: str | None = None

    @classmethod
    def read(cls, text: str | None) -> "StatusCursor":
        """The cursor a tick left; a fresh one when there is none, or none that can be read."""
        try:
            return cls.model_validate_json(text) if text else cls()
        except ValidationError:
            return cls()


def build_connector_status_sensor(*, minimum_interval_seconds: int = 30) -> dg.SensorDefinition:
    """Creates the sensor ``kafka_connect__connector_status_sensor``.

    Needs a resource ``kafka_connect`` (:class:`KafkaConnectWorkspace`).

    Args:
        minimum_interval_seconds (int): Seconds between two polls. Defaults to 30.
    """

    @dg.sensor(
        name="kafka_connect__connector_status_sensor",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Observes connectors, and materialises what they write when their offsets advance.",
    )
    def connector_status_sensor(
        context: dg.SensorEvaluationContext, kafka_connect: KafkaConnectWorkspace
    ) -> dg.SensorResult | dg.SkipReason:
        poll = StatusPoll(kafka_connect, StatusCursor.read(context.cursor))
        try:
            events = list(poll.events())
        except KafkaConnectError as error:
            return dg.SkipReason(str(error))
        for warning in poll.warnings:
            context.log.warning(warning)
        moved = sum(isinstance(event, AssetMaterialization) for event in events)
        told = f"Observed {len(events) - moved} connectors, {moved} of their outputs advanced"
        return dg.SensorResult(asset_events=events, cursor=poll.cursor.model_dump_json(), skip_reason=told)

    return connector_status_sensor


class StatusPoll:
    """One poll: reads the worker, tells the events, and moves the cursor on."""

    def __init__(self, workspace: KafkaConnectWorkspace, cursor: StatusCursor) -> None:
        self.cursor = cursor
        self.warnings: list[str] = []
        self._workspace = workspace
        self._client: KafkaConnectClient = workspace.get_client(timeout=REQUEST_TIMEOUT)
        self._deadline = time.monotonic() + TICK_BUDGET_SECONDS

    def events(self) -> Iterator[AssetEvent]:
        """Observations of the connectors, materialisations of what advanced. Raises KafkaConnectError."""
        for snapshot in self._with_bounds(list(self._snapshots())):
            yield self._observation(snapshot)
            yield from self._materializations(snapshot)

    def _snapshots(self) -> Iterator[ConnectorSnapshot]:
        connectors = self._client.connectors()
        progress = self._client.progress()
        self.cursor.offsets = {name: seen for name, seen in self.cursor.offsets.items() if name in connectors}
        for name in rotated(list(connectors), self.cursor.resume_after):
            yield self._snapshot(connectors[name], progress)
            self.cursor.resume_after = name
            if time.monotonic() > self._deadline:
                return
        self.cursor.resume_after = None

    def _snapshot(self, connector: Connector, progress: Mapping[str, TaskProgress]) -> ConnectorSnapshot:
        name = connector.name
        tasks = [f"{name}-{task.id}" for task in connector.status.tasks]
        return ConnectorSnapshot(
            connector,
            connector_lineage(connector.info.config, self._client.active_topics(name)),
            tuple(self._client.offsets(name)),
            {task: progress[task] for task in tasks if task in progress},
        )

    def _with_bounds(self, snapshots: list[ConnectorSnapshot]) -> list[ConnectorSnapshot]:
        """The snapshots with the bounds of their topics, fetched at once; unchanged when brokers fail."""
        if self._workspace.bootstrap_servers is None:
            return snapshots
        topics = {topic for snapshot in snapshots for topic in snapshot.lineage.topics}
        try:
            bounds = fetch_topic_bounds(self._workspace.bootstrap_servers, topics, REQUEST_TIMEOUT)
        except KafkaException as error:
            self.warnings.append(f"No end offsets and lag this time: {error}")
            return snapshots
        return [snapshot.with_bounds(bounds) for snapshot in snapshots]

    def _observation(self, snapshot: ConnectorSnapshot) -> AssetEvent:
        key = connector_key(self._workspace.cluster, snapshot.connector.name)
        return AssetObservation(key, metadata=observation_metadata(snapshot, self._client.url))

    def _materializations(self, snapshot: ConnectorSnapshot) -> Iterator[AssetEvent]:
        if not self._advanced(snapshot):
            return
        now = time.time()
        for output in snapshot.lineage.outputs:
            yield AssetMaterialization(output, metadata=materialization_metadata(snapshot, output, now))

    def _advanced(self, snapshot: ConnectorSnapshot) -> bool:
        """Whether the offsets differ from the last poll's, which the cursor forgets for these."""
        before = self.cursor.offsets.get(snapshot.connector.name)
        self.cursor.offsets[snapshot.connector.name] = snapshot.offsets_text
        return bool(snapshot.offsets) and snapshot.offsets_text != before


def rotated(names: list[str], last: str | None) -> list[str]:
    """Sorted names, beginning after ``last``, around to it."""
    ordered = sorted(names)
    return sorted(ordered, key=lambda name: last is not None and name <= last)
