"""The sensor that polls a Connect cluster and reports events to Dagster's event log.

It polls often and writes rarely, because the event log is never pruned: it observes a connector at once when its
states or its configuration changed, and otherwise once in an interval. A change also evaluates the check
``connector_state``, so that a failure shows in the graph without a run. When offsets advanced, the assets that the
connector writes (the topics of a source, the tables of a sink) are materialised, so that freshness policies and
automation conditions of assets downstream work; of MirrorMaker's topics those whose records moved.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import dagster as dg
from dagster import (
    AssetCheckEvaluation,
    AssetKey,
    AssetMaterialization,
    AssetObservation,
    DagsterInstance,
    TableSchema,
)
from pydantic import BaseModel, ConfigDict, Field

from connect_dagster.client.datasets import KafkaConnectDatasetProps, KafkaConnectTopicProps
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import Connector
from connect_dagster.kafka.access import Brokers
from connect_dagster.orchestration._compat import TableMetadataSet
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet
from connect_dagster.orchestration.assets.specs import ConnectorSelectorFn
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator, config_version
from connect_dagster.orchestration.assets.workspace_data import live_props
from connect_dagster.orchestration.checks.connector_checks import require_brokers
from connect_dagster.orchestration.checks.sink_bounds import UNBOUNDED, SinkBounds
from connect_dagster.orchestration.checks.state import state_evaluation
from connect_dagster.orchestration.cluster import brokers_by_alias, check_sources
from connect_dagster.orchestration.observations.metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_columns import SchemaRegistryError, registered_columns
from connect_dagster.orchestration.observations.topics import version_tags
from connect_dagster.orchestration.observations.trend import ConnectorMark, ConnectorTrend
from connect_dagster.orchestration.sensors.cursor import SensorCursor
from connect_dagster.orchestration.sensors.sink_evaluations import CheckMemory, SinkEvaluations
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

# When columns are asked for no more, as Dagster ends a tick after a minute; one such request takes this long.
COLUMNS_UNTIL_SECONDS = 36.0
REGISTRY_TIMEOUT = 2.0

EVENT_INTERVAL_SECONDS = 900
MOST_WARNINGS = 20

AssetEvent: TypeAlias = AssetObservation | AssetMaterialization | AssetCheckEvaluation


class ConnectorMemory(BaseModel):
    """State of a connector in the cursor.

    Attributes:
        mark: Of its last poll.
        observed_at: When it was last observed, in epoch seconds.
        state_hash: Hash of states and configuration it was observed with.
        materialized_at: When its outputs were last materialised.
        materialized_version: Hash of the offsets they were materialised with.
        checks: Last evaluations of its checks, by name.
    """

    model_config = ConfigDict(frozen=True)

    mark: ConnectorMark | None = None
    observed_at: float = 0.0
    state_hash: str = ""
    materialized_at: float = 0.0
    materialized_version: str = ""
    checks: dict[str, CheckMemory] = Field(default={})


class KafkaConnectPollingSensorCursor(SensorCursor):
    """Cursor of the sensor.

    Attributes:
        connectors: Connectors by name.
        resume_after: Name of the last connector polled when a tick ran out of time.
    """

    connectors: dict[str, ConnectorMemory] = Field(default={})
    resume_after: str | None = None


def build_kafka_connect_polling_sensor(
    *,
    workspace: KafkaConnectWorkspace,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
    event_interval_seconds: int = EVENT_INTERVAL_SECONDS,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    mirror_sources: Sequence[KafkaConnectWorkspace] = (),
    max_lag: int | None = None,
    max_dead_letters: int | None = None,
    observe_topics: bool = False,
) -> dg.SensorDefinition:
    """Create a sensor that polls a Connect cluster and reports its connectors and their progress.

    Works for all connectors, operated by Dagster or not, on workers of this project or of Java.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster. With ``bootstrap_servers`` lag, rates and end offsets
            are reported too, with ``schema_registry_url`` the columns of topics.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Gives the keys of the assets; the
            one their definitions are made with.
        connector_selector_fn (Optional[ConnectorSelectorFn]): Selects the connectors to report. Defaults to all.
        name (Optional[str]): Name of the sensor. Defaults to ``kafka_connect_<cluster>__connector_status_sensor``.
        minimum_interval_seconds (int): Seconds between two polls. Defaults to 30.
        event_interval_seconds (int): Seconds between two events of an asset, unless a state or the configuration
            changed. It decides how fast the event log grows: by default, ten connectors that always move records
            add less than 20 MB a day to SQLite. Defaults to 900.
        default_status (DefaultSensorStatus): Whether it runs at first. Defaults to RUNNING.
        mirror_sources (Sequence[KafkaConnectWorkspace]): The clusters that MirrorMaker's connectors mirror, each with
            ``kafka_cluster`` and ``bootstrap_servers``; with them the lag of mirrored topics is reported.
        max_lag (Optional[int]): Bound of :func:`build_connector_lag_checks`: with it the sensor evaluates that check
            of each sink, at once when it starts to fail, and otherwise every ``event_interval_seconds``.
        max_dead_letters (Optional[int]): Bound ``max_growth`` of :func:`build_dead_letter_checks`, whose check is
            evaluated in the same way.
        observe_topics (bool): Whether topics are observable assets. Automation conditions look at the data versions of
            those, so that materialisations get them too. Defaults to False.

    Returns:
        SensorDefinition: The sensor.

    Raises:
        DagsterInvalidDefinitionError: One of ``mirror_sources`` has no alias or no brokers, or a bound is given and
            the workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectWorkspace, build_kafka_connect_polling_sensor

            workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083", bootstrap_servers="127.0.0.1:9092")
            defs = dg.Definitions(sensors=[build_kafka_connect_polling_sensor(workspace=workspace)])
    """
    check_sources(mirror_sources)
    bounds = SinkBounds(max_lag, max_dead_letters)
    if bounds != UNBOUNDED:
        require_brokers(workspace, "sinks")
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()

    @dg.sensor(
        name=name or f"kafka_connect_{identifier(workspace.cluster)}__connector_status_sensor",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Observes connectors, and materialises their outputs when their offsets advance.",
    )
    def connector_status_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = KafkaConnectPollingSensorCursor.read(context.cursor)
        try:
            with workspace.initialized() as ready:
                sources = brokers_by_alias(mirror_sources)
                tick = PollingTick(ready, translator, context.instance, cursor, event_interval_seconds, sources, bounds)
                tick.has_observable_topics = observe_topics
                events = list(tick.events(connector_selector_fn))
        except KafkaConnectError as error:
            return dg.SkipReason(str(error))
        for warning in tick.warnings[:MOST_WARNINGS]:
            context.log.warning(warning)
        seen, moved = (
            sum(isinstance(one, kind) for one in events) for kind in (AssetObservation, AssetMaterialization)
        )
        message = f"Polled {tick.polled} connectors: {seen} observations, {moved} outputs advanced"
        return dg.SensorResult(asset_events=events, cursor=tick.cursor.model_dump_json(), skip_reason=message)

    return connector_status_sensor


class PollingTick:
    """One tick: polls the cluster, yields the events, and advances the cursor.

    Attributes:
        has_observable_topics: Whether topics are observable assets, whose materialisations need data versions.

    Args:
        workspace: The cluster, its fields resolved.
        translator: Gives the keys of assets.
        instance: Has the events of runs, which are not reported again.
        cursor: The cursor of the last tick.
        event_interval: Seconds between two events of an asset that did not change.
        sources: Kafka clusters that connectors mirror, by their aliases.
        bounds: Bounds of sinks, whose checks are evaluated.
    """

    def __init__(
        self,
        workspace: KafkaConnectWorkspace,
        translator: DagsterKafkaConnectTranslator,
        instance: DagsterInstance,
        cursor: KafkaConnectPollingSensorCursor,
        event_interval: float,
        sources: Mapping[str, Brokers] | None = None,
        bounds: SinkBounds = UNBOUNDED,
    ) -> None:
        self.cursor = cursor
        self.polled = 0
        self.has_observable_topics = False
        self._workspace = workspace
        self._translator = translator
        self._instance = instance
        self._event_interval = event_interval
        self._columns_until = time.monotonic() + COLUMNS_UNTIL_SECONDS
        self._poll = ConnectorPoll(workspace, sources)
        self._evaluations = SinkEvaluations(bounds, instance, event_interval)

    @property
    def warnings(self) -> list[str]:
        """Warnings about failed requests."""
        return self._poll.warnings

    def events(self, selector: ConnectorSelectorFn | None) -> Iterator[AssetEvent]:
        """Yield observations and checks of connectors, and materialisations of their data. Raises KafkaConnectError."""
        connectors = self._chosen(selector)
        known = self.cursor.connectors
        self.cursor.connectors = {name: memory for name, memory in known.items() if name in connectors}
        order = rotated(list(connectors), self.cursor.resume_after)
        generation = self._poll.generation()
        for snapshot in self._poll.snapshots(connectors[name] for name in order):
            self.polled += 1
            yield from self._events(snapshot, generation)
        self.cursor.resume_after = order[self.polled - 1] if self.polled < len(order) else None

    def _chosen(self, selector: ConnectorSelectorFn | None) -> Mapping[str, Connector]:
        found = self._poll.connectors()
        if selector is None:
            return found
        return {name: one for name, one in found.items() if selector(live_props(self._workspace, one))}

    def _events(self, snapshot: ConnectorSnapshot, generation: int | None) -> Iterator[AssetEvent]:
        name, now = snapshot.connector.name, time.time()
        memory = self.cursor.connectors.get(name, ConnectorMemory())
        mark = ConnectorMark.of(snapshot, now, memory.mark)
        news: dict[str, Any] = {"mark": mark}
        state_hash = _state_hash(snapshot.connector)
        key = self._translator.get_asset_spec(live_props(self._workspace, snapshot.connector)).key
        if state_hash != memory.state_hash or now - memory.observed_at >= self._event_interval:
            trend = ConnectorTrend.between(memory.mark, mark)
            metadata = observation_metadata(snapshot, self._workspace.url, trend=trend, generation=generation)
            yield AssetObservation(key, metadata=metadata)
            if state_hash != memory.state_hash:
                yield state_evaluation(key, snapshot.connector)
            news |= {"observed_at": now, "state_hash": state_hash}
        due = self._evaluations.due(key, snapshot, memory.checks, now)
        yield from (evaluation for evaluation, _ in due.values())
        news["checks"] = memory.checks | {name: kept for name, (_, kept) in due.items()}
        # Offsets that cannot be read now are reported later: an event has offsets that were read.
        advanced = snapshot.offsets is not None and mark.offsets_version not in ("", memory.materialized_version)
        if advanced and now - memory.materialized_at >= self._event_interval:
            yield from self._materializations(snapshot, now)
            news |= {"materialized_at": now, "materialized_version": mark.offsets_version}
        self.cursor.connectors[name] = memory.model_copy(update=news)

    def _materializations(self, snapshot: ConnectorSnapshot, now: float) -> Iterator[AssetMaterialization]:
        outputs = {self._translator.get_asset_spec(output).key: output for output in snapshot.lineage.outputs}
        reported = self._reported(list(outputs))
        for key, output in outputs.items():
            known, version = reported.get(key, {}), snapshot.version_of(output)
            if version in ("", KafkaConnectMetadataSet.extract(known).offsets_version):
                # Nothing has moved there, or a run has reported these offsets, or the sensor before its cursor was
                # reset.
                continue
            columns = self._columns(output, known)
            metadata = {**materialization_metadata(snapshot, output, now), **columns}
            yield AssetMaterialization(key, metadata=metadata, tags=self._versions(snapshot, output))

    def _versions(self, snapshot: ConnectorSnapshot, output: KafkaConnectDatasetProps) -> Mapping[str, str]:
        """Return the tag with the data version of an observable topic, which Observe gives it too."""
        if not self.has_observable_topics or not isinstance(output, KafkaConnectTopicProps):
            return {}
        return version_tags(snapshot.bounds, output.topic)

    def _reported(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Mapping[str, Any]]:
        """Return the metadata of the newest materialisations, read at once: a flow may have thousands of topics."""
        if not keys:
            return {}
        found = (record.asset_entry for record in self._instance.get_asset_records(keys))
        events = {entry.asset_key: entry.last_materialization for entry in found}
        return {
            key: event.asset_materialization.metadata
            for key, event in events.items()
            if event is not None and event.asset_materialization is not None
        }

    def _columns(self, output: KafkaConnectDatasetProps, last: Mapping[str, Any]) -> TableMetadataSet:
        """Return the columns in the registry, or those a run reported: the UI shows the newest materialisation's."""
        last_columns = TableMetadataSet.extract(last)
        known = TableMetadataSet(column_schema=last_columns.column_schema, column_lineage=last_columns.column_lineage)
        columns = self._registered(output) if isinstance(output, KafkaConnectTopicProps) else None
        return known if columns in (None, last_columns.column_schema) else TableMetadataSet(column_schema=columns)

    def _registered(self, topic: KafkaConnectTopicProps) -> TableSchema | None:
        registry = self._workspace.schema_registry_url
        if registry is None or time.monotonic() > self._columns_until:
            return None
        try:
            access = self._workspace.schema_registry_access
            return registered_columns(registry, topic.topic, REGISTRY_TIMEOUT, access)
        except SchemaRegistryError as error:
            self.warnings.append(str(error))
            return None


def rotated(names: list[str], last: str | None) -> list[str]:
    """Return sorted names, starting after ``last`` and wrapping around."""
    ordered = sorted(names)
    return sorted(ordered, key=lambda name: last is not None and name <= last)


def _state_hash(connector: Connector) -> str:
    """Return a hash of states and configuration."""
    status = connector.status
    states = [status.connector, *status.tasks]
    text = "|".join(f"{part.state}@{part.worker_id}" for part in states)
    return config_version({**connector.info.config, "": text})
