"""Events of the connectors that a run applied, with optional metadata.

The worker receives one request per connector; optional metadata costs requests to brokers or a schema registry. When
those fail, a warning is logged and the rest is reported.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import dagster as dg
from confluent_kafka import KafkaException
from dagster import (
    AssetKey,
    AssetMaterialization,
    AssetObservation,
    AssetSpec,
    MaterializeResult,
    TableColumn,
    TableSchema,
)
from pydantic import Field

from connect_dagster.client.connector_classes import has_columns
from connect_dagster.client.datasets import KafkaConnectDatasetProps, KafkaConnectTopicProps
from connect_dagster.client.operations import GONE, Ask, Wait, ask_and_await
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import Connector, State
from connect_dagster.orchestration._compat import TableMetadataSet
from connect_dagster.orchestration.assets.columns import (
    column_lineage,
    columns_after,
    field_renames,
    record_columns,
    upstream_of,
)
from connect_dagster.orchestration.assets.metadata_sets import NAMESPACE, KafkaConnectMetadataSet
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.cluster import ConnectCluster
from connect_dagster.orchestration.connectors.apply import carry_out, plan
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.failures import one_sentence
from connect_dagster.orchestration.observations.metadata import (
    applied_metadata,
    materialization_metadata,
    offsets_metadata,
    shown_trace,
)
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_columns import (
    SchemaRegistryError,
    columns_of_newest_record,
    registered_columns,
)
from connect_dagster.orchestration.observations.topics import version_tags
from connect_dagster.plugin.connector_file import DesiredState

DECLARATION_KEY = f"{NAMESPACE}/declaration"

REGISTRY_TIMEOUT = 5.0
READING_TIMEOUT = 10.0

KafkaConnectEvent: TypeAlias = MaterializeResult[Any] | AssetMaterialization | AssetObservation


class KafkaConnectApplyConfig(dg.Config):
    """Options of applying connectors."""

    state: DesiredState | None = Field(
        default=None, description="The state they are to reach; by default the declared one, or else RUNNING."
    )
    timeout: float | None = Field(
        default=None, description="Seconds until it has to be reached; the workspace's poll_timeout if not given."
    )


@dataclass(frozen=True, slots=True)
class Declaration:
    """Declaration in an asset's metadata, passed from its definition to its run, absent from the event log.

    Attributes:
        connector: The declared connector; None when it is taken as the cluster has it.
        translator: Gives the keys of its data.
    """

    connector: KafkaConnectConnectorSpec | None
    translator: DagsterKafkaConnectTranslator


@dataclass(frozen=True, slots=True)
class AppliedConnector:
    """A connector in its target state, with metadata about it and its data.

    Attributes:
        key: Its asset.
        snapshot: What was seen of it.
        translator: Gives the keys of its data.
        metadata: For its materialisation.
        data: For events of its data, by asset.
    """

    key: AssetKey
    snapshot: ConnectorSnapshot
    translator: DagsterKafkaConnectTranslator
    metadata: dict[str, Any]
    data: dict[AssetKey, dict[str, Any]] = field(default_factory=dict)

    def add_metadata(self, key: AssetKey, **metadata: Any) -> None:
        """Add metadata to one of its data assets."""
        self.data.setdefault(key, {}).update(metadata)

    def topic_asset(self, topic: str) -> AssetKey:
        """Return the asset key of one of its topics."""
        return self.translator.get_asset_spec(self.snapshot.lineage.topic(topic)).key

    def outputs(self) -> dict[AssetKey, KafkaConnectDatasetProps]:
        """Return the data it writes, by asset."""
        return {self.translator.get_asset_spec(one).key: one for one in self.snapshot.lineage.outputs}


class KafkaConnectEventIterator(Iterator[KafkaConnectEvent]):
    """Events of applied connectors: a materialisation of each, and optional events of its data.

    Events of data are observations; new or changed columns are a materialisation, because the UI reads columns from
    nowhere else.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectConnectorSpec, KafkaConnectWorkspace, kafka_connect_assets

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})

            @kafka_connect_assets(workspace=workspace, connector=lines)
            def lines_connector(context: dg.AssetExecutionContext, kafka_connect: KafkaConnectWorkspace):
                yield from kafka_connect.apply_and_poll(context).fetch_offsets().fetch_column_metadata()
    """

    def __init__(
        self,
        workspace: ConnectCluster,
        context: dg.AssetExecutionContext,
        applied: Iterator[AppliedConnector],
        more: Sequence[Callable[[AppliedConnector], None]] = (),
    ) -> None:
        self._workspace = workspace
        self._context = context
        self._applied = applied
        self._more = tuple(more)
        self._events = self._generate()

    def __next__(self) -> KafkaConnectEvent:
        return next(self._events)

    def __iter__(self) -> Self:
        return self

    def fetch_offsets(self) -> "KafkaConnectEventIterator":
        """Add the committed offsets, and with brokers the lag, of each connector."""
        return self._with(lambda one: one.metadata.update(offsets_metadata(one.snapshot)))

    def fetch_topic_stats(self) -> "KafkaConnectEventIterator":
        """Observe each topic: its partitions, first and end offsets. Needs ``bootstrap_servers``."""
        return self._with(_add_topic_stats)

    def fetch_column_metadata(self) -> "KafkaConnectEventIterator":
        """Add the columns of topics and tables, and their lineage.

        Columns come from the workspace's schema registry, or else, with ``bootstrap_servers``, from the schema that
        the newest JSON record carries.
        """
        return self._with(self._add_columns)

    def _with(self, enrich: Callable[[AppliedConnector], None]) -> "KafkaConnectEventIterator":
        return KafkaConnectEventIterator(self._workspace, self._context, self._applied, (*self._more, enrich))

    def _generate(self) -> Iterator[KafkaConnectEvent]:
        for one in self._applied:
            for enrich in self._more:
                enrich(one)
            yield MaterializeResult(asset_key=one.key, metadata=one.metadata)
            outputs = one.outputs()
            for key, metadata in one.data.items():
                yield self._data_event(one, key, outputs.get(key), metadata)

    def _data_event(
        self, one: AppliedConnector, key: AssetKey, output: KafkaConnectDatasetProps | None, metadata: dict[str, Any]
    ) -> AssetMaterialization | AssetObservation:
        columns = TableMetadataSet.extract(metadata).column_schema
        last = self._context.instance.get_latest_materialization_event(key)
        known = last.asset_materialization.metadata if last and last.asset_materialization else {}
        if columns is None or columns == TableMetadataSet.extract(known).column_schema:
            # Where the topic is an observable asset, Observe gives it this version too.
            names = {one.topic_asset(topic): topic for topic in one.snapshot.lineage.topics}
            tags = version_tags(one.snapshot.bounds, names[key]) if key in names else {}
            return AssetObservation(key, metadata=metadata, tags=tags)
        progress = materialization_metadata(one.snapshot, output, time.time()) if output else {}
        return AssetMaterialization(key, metadata={**progress, **metadata})

    def _add_columns(self, one: AppliedConnector) -> None:
        lineage = one.snapshot.lineage
        columns = {topic: found for topic in lineage.topics if (found := self._columns(one, topic))}
        for topic, found in columns.items():
            one.add_metadata(one.topic_asset(topic), **TableMetadataSet(column_schema=found))
        config = one.snapshot.connector.info.config
        renames = field_renames(config)
        if renames is None:
            return
        for output in lineage.outputs:
            if (upstream := upstream_of(lineage, output)) is None:
                continue
            added: list[TableColumn] = []
            match upstream, output:
                case _, KafkaConnectTopicProps(topic=to) if to in columns and has_columns(config, upstream):
                    written = columns[to]
                case KafkaConnectTopicProps(topic=topic), _ if topic in columns and has_columns(config, output):
                    written, added = columns_after(columns[topic], renames), record_columns(config)
                case _:
                    continue
            source, target = (one.translator.get_asset_spec(end).key for end in (upstream, output))
            metadata = TableMetadataSet(
                column_schema=TableSchema([*written.columns, *added]),
                column_lineage=column_lineage(written, source, renames),
            )
            one.add_metadata(target, **metadata)

    def _columns(self, one: AppliedConnector, topic: str) -> TableSchema | None:
        registry, brokers = self._workspace.schema_registry_url, self._workspace.brokers
        try:
            access = self._workspace.schema_registry_access
            if registry and (columns := registered_columns(registry, topic, REGISTRY_TIMEOUT, access)):
                return columns
            if brokers:
                return columns_of_newest_record(brokers, topic, one.snapshot.bounds or {}, READING_TIMEOUT)
        except (SchemaRegistryError, KafkaException) as error:
            self._context.log.warning(f"No columns of topic '{topic}': {error}")
        return None


def apply_and_poll(
    workspace: ConnectCluster, context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig
) -> KafkaConnectEventIterator:
    """Apply the connectors whose assets a run selected; see :meth:`KafkaConnectWorkspace.apply_and_poll`."""
    specs = [spec for spec in context.assets_def.specs if spec.key in context.selected_asset_keys]
    unknown = [spec.key.to_user_string() for spec in specs if DECLARATION_KEY not in spec.metadata]
    if unknown:
        raise dg.DagsterInvariantViolationError(
            f"The assets {unknown} are not connectors. Were they defined by @kafka_connect_assets?"
        )
    return KafkaConnectEventIterator(workspace, context, _applied(workspace, context.log, specs, config))


def _applied(
    workspace: ConnectCluster,
    log: dg.DagsterLogManager,
    specs: Sequence[AssetSpec],
    config: KafkaConnectApplyConfig,
) -> Iterator[AppliedConnector]:
    for spec in specs:
        declaration: Declaration = spec.metadata[DECLARATION_KEY]
        name = KafkaConnectMetadataSet.extract(spec.metadata).connector or ""
        with one_sentence():
            client = workspace.get_client()
            goal, ask = _request(client, log, declaration.connector, config.state)
            wait = Wait(config.timeout or workspace.poll_timeout, workspace.poll_interval)
            outcome = ask_and_await(client, {name: goal}, ask, wait)
            outcome.raise_refusal()
            poll = ConnectorPoll(workspace)
            connector = poll.connectors().get(name)
            if outcome.unreached or connector is None:
                raise _unreached(name, goal, outcome.unreached.get(name, GONE), connector)
            snapshot = next(poll.snapshots([connector]))
        for warning in poll.warnings:
            log.warning(warning)
        yield AppliedConnector(spec.key, snapshot, declaration.translator, applied_metadata(connector, workspace.url))


def _request(
    client: KafkaConnectClient,
    log: dg.DagsterLogManager,
    declared: KafkaConnectConnectorSpec | None,
    state: DesiredState | None,
) -> tuple[DesiredState, Ask]:
    """Return the target state of a connector, and the request that brings it there."""
    if declared is not None:
        planned = plan(client, declared if state is None else replace(declared, state=state))
        for line in planned.lines():
            log.info(line)
        return planned.goal, lambda _: carry_out(client, planned)
    goal = state or DesiredState.RUNNING

    def ask(name: str) -> None:
        status = client.status(name)
        if status.connector.state is not State(goal.value):
            client.set_target_state(name, goal)
        if goal is DesiredState.RUNNING and status.has_failed:
            client.restart(name, only_failed=True)

    return goal, ask


def _unreached(name: str, goal: DesiredState, where: str, connector: Connector | None) -> dg.Failure:
    traces: dict[str, str] = {}
    if connector is not None:
        traces = {owner: shown_trace(trace, connector) for owner, trace in connector.status.traces()}
    reasons = "".join(f" {owner}: {trace.partition(chr(10))[0]}" for owner, trace in traces.items())
    return dg.Failure(
        f"Connector '{name}' did not reach {goal.value}: {where}.{reasons}",
        metadata={owner: dg.MetadataValue.md(f"```\n{trace}\n```") for owner, trace in traces.items()},
    )


def _add_topic_stats(one: AppliedConnector) -> None:
    bounds = one.snapshot.bounds or {}
    for topic in one.snapshot.lineage.topics:
        edges = [edge for (name, _), edge in bounds.items() if name == topic]
        if edges:
            one.add_metadata(
                one.topic_asset(topic),
                partition_count=len(edges),
                start_offset_total=sum(edge.start for edge in edges),
                end_offset_total=sum(edge.end for edge in edges),
            )
