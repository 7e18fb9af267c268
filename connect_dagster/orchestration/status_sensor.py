"""The sensor that polls a Connect worker and writes what it sees into Dagster's event log.

Each poll is an observation of every connector. Where a connector's offsets moved since the last poll, its
outputs (topics of a source, the files of a sink) get a materialisation, so that freshness and downstream
automation work.
"""

import time
from collections.abc import Iterator
from typing import TypeAlias

import dagster as dg
from dagster import AssetMaterialization, AssetObservation
from pydantic import BaseModel, ValidationError

from connect_dagster.orchestration.asset_keys import connector_key
from connect_dagster.orchestration.client import KafkaConnectError
from connect_dagster.orchestration.connector_metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.connector_poll import ConnectorPoll
from connect_dagster.orchestration.connector_snapshot import ConnectorSnapshot
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

# A tick has 60 s; what is left over goes first in the next one.
TICK_BUDGET_SECONDS = 40.0

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
        tick = StatusPoll(kafka_connect, StatusCursor.read(context.cursor))
        try:
            events = list(tick.events())
        except KafkaConnectError as error:
            return dg.SkipReason(str(error))
        for warning in tick.poll.warnings:
            context.log.warning(warning)
        moved = sum(isinstance(event, AssetMaterialization) for event in events)
        told = f"Observed {len(events) - moved} connectors; {moved} of their outputs advanced"
        return dg.SensorResult(asset_events=events, cursor=tick.cursor.model_dump_json(), skip_reason=told)

    return connector_status_sensor


class StatusPoll:
    """One tick: polls the worker, tells the events, and moves the cursor on."""

    def __init__(self, workspace: KafkaConnectWorkspace, cursor: StatusCursor) -> None:
        self.cursor = cursor
        self.poll = ConnectorPoll(workspace)
        self._cluster = workspace.cluster
        self._deadline = time.monotonic() + TICK_BUDGET_SECONDS

    def events(self) -> Iterator[AssetEvent]:
        """Observations of the connectors, materialisations of what advanced. Raises KafkaConnectError."""
        for snapshot in self.poll.with_bounds(list(self._snapshots())):
            key = connector_key(self._cluster, snapshot.connector.name)
            yield AssetObservation(key, metadata=observation_metadata(snapshot, self.poll.client.url))
            yield from self._materializations(snapshot)

    def _snapshots(self) -> Iterator[ConnectorSnapshot]:
        connectors = self.poll.connectors()
        progress = self.poll.progress()
        self.cursor.offsets = {name: seen for name, seen in self.cursor.offsets.items() if name in connectors}
        for name in rotated(list(connectors), self.cursor.resume_after):
            yield self.poll.snapshot(connectors[name], progress)
            self.cursor.resume_after = name
            if time.monotonic() > self._deadline:
                return
        self.cursor.resume_after = None

    def _materializations(self, snapshot: ConnectorSnapshot) -> Iterator[AssetEvent]:
        if not self._advanced(snapshot):
            return
        now = time.time()
        for output in snapshot.lineage.outputs:
            yield AssetMaterialization(output, metadata=materialization_metadata(snapshot, output, now))

    def _advanced(self, snapshot: ConnectorSnapshot) -> bool:
        """Whether there are offsets that differ from the last ones seen, which these replace."""
        name, offsets = snapshot.connector.name, snapshot.offsets_text
        if not offsets or offsets == self.cursor.offsets.get(name):
            return False
        self.cursor.offsets[name] = offsets
        return True


def rotated(names: list[str], last: str | None) -> list[str]:
    """Sorted names, beginning after ``last``, around to it."""
    ordered = sorted(names)
    return sorted(ordered, key=lambda name: last is not None and name <= last)
