"""The connectors of a cluster, in YAML."""

import logging
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Annotated

import dagster as dg
from pydantic import Field, PrivateAttr

from connect_dagster.client.datasets import KafkaConnectConnectorProps
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import Direction
from connect_dagster.orchestration._compat import (
    DefsStateConfig,
    DefsStateConfigArgs,
    ResolvedDefsStateConfig,
    last_state,
)
from connect_dagster.orchestration.asset_decorator import apply_connector, connector_assets
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectWorkspaceData
from connect_dagster.orchestration.checks.state import build_connector_state_checks
from connect_dagster.orchestration.components.bounded_sinks import BoundedSinks
from connect_dagster.orchestration.components.polled_connectors import PolledConnectors
from connect_dagster.orchestration.components.restart_policy import ResolvedRestartPolicy, policy_of
from connect_dagster.orchestration.components.scaffolders import WorkspaceScaffolder
from connect_dagster.orchestration.components.translation import (
    ComponentTranslator,
    Props,
    ResolvedDataTranslation,
    ResolvedTranslation,
)
from connect_dagster.orchestration.components.yaml_values import ResolvedWorkspace, resolved
from connect_dagster.orchestration.definitions import JOB_PREFIX
from connect_dagster.orchestration.event_iterator import KafkaConnectApplyConfig, KafkaConnectEvent
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.sensors.auto_restart import build_kafka_connect_auto_restart_sensor
from connect_dagster.orchestration.sensors.polling import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

log = logging.getLogger(__name__)

ConnectorSelector = Callable[[KafkaConnectConnectorProps], bool]


class ConnectorSelection(dg.Model):
    """Connectors that every given key selects."""

    by_name: list[str] | None = Field(default=None, description="Names of the connectors.")
    by_pattern: list[str] | None = Field(
        default=None, description="Patterns of their names, as in a shell: `orders-*`; one of them has to match."
    )
    by_type: Direction | None = Field(default=None, description="source or sink.")


def _resolve_selector(context: dg.ResolutionContext, model: ConnectorSelection) -> ConnectorSelector:
    names: list[str] | None = resolved(context, model.by_name)
    patterns: list[str] | None = resolved(context, model.by_pattern)
    direction = model.by_type
    if names is None and patterns is None and direction is None:
        raise dg.DagsterInvalidDefinitionError("connector_selector needs by_name, by_pattern or by_type")
    return lambda props: (
        (names is None or props.name in names)
        and (patterns is None or any(fnmatchcase(props.name, pattern) for pattern in patterns))
        and (direction is None or props.type is direction)
    )


@dg.scaffold_with(WorkspaceScaffolder)
class KafkaConnectWorkspaceComponent(dg.StateBackedComponent, PolledConnectors, BoundedSinks):
    """Loads the connectors of a Kafka Connect cluster, ours or Java's, and their data as assets.

    With ``auto_restart`` a sensor restarts what FAILED. Sinks with a dead letter queue have a check of its growth, and
    with ``max_lag`` all of them a check of their lag; the polling sensor evaluates both.

    The connectors are kept as state, so that definitions load while the cluster is down; ``dg dev`` refreshes it at
    each load, ``dg utils refresh-defs-state`` elsewhere.

    Examples:
        .. code-block:: yaml

            # defs.yaml
            type: connect_dagster.KafkaConnectWorkspaceComponent
            attributes:
              workspace:
                url: http://127.0.0.1:8083
                cluster: prod
                bootstrap_servers: 127.0.0.1:9092
              connector_selector:
                by_type: sink
              auto_restart:
                max_restarts: 3
                delay_seconds: 60
              max_lag: 10000
              translation:
                group_name: ingest
    """

    workspace: ResolvedWorkspace
    connector_selector: (
        Annotated[ConnectorSelector, dg.Resolver(_resolve_selector, model_field_type=ConnectorSelection)] | None
    ) = Field(default=None, description="Which connectors are loaded; all by default.")
    translation: ResolvedTranslation = Field(default=None, description="Attributes of the connectors' assets.")
    data_translation: ResolvedDataTranslation = Field(
        default=None, description="Attributes of the assets of their data."
    )
    auto_restart: ResolvedRestartPolicy = Field(
        default=False,
        description="Whether a sensor restarts FAILED connectors and tasks; or the number of restarts in a row, and "
        "the delays between them. Leave out, by `connector_selector`, connectors that another sensor restarts.",
    )
    mirror_sources: list[ResolvedWorkspace] = Field(
        default=[],
        description="Kafka clusters that MirrorMaker's connectors mirror, each with its alias `kafka_cluster` and "
        "`bootstrap_servers`: the sensor reports the lag of mirrored topics with them.",
    )
    job_prefix: str = Field(default=JOB_PREFIX, description="Begin of the jobs' names.")
    defs_state: ResolvedDefsStateConfig = DefsStateConfigArgs.local_filesystem()

    _fetched: KafkaConnectWorkspaceData | None = PrivateAttr(default=None)

    @cached_property
    def translator(self) -> ComponentTranslator:
        """Return the translator that makes the assets."""
        return ComponentTranslator(self)

    @property
    def defs_state_config(self) -> DefsStateConfig:
        """Return the place of the stored state."""
        return DefsStateConfig.from_args(
            self.defs_state, default_key=f"{type(self).__name__}[{self.workspace.cluster}]"
        )

    def get_asset_spec(self, props: Props) -> dg.AssetSpec:
        """Return the asset of a connector, or of its data.

        Override this method to change assets by their props:

        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectTableProps, KafkaConnectWorkspaceComponent

            class TaggedTables(KafkaConnectWorkspaceComponent):
                def get_asset_spec(self, props):
                    spec = super().get_asset_spec(props)
                    if isinstance(props, KafkaConnectTableProps):
                        spec = spec.merge_attributes(tags={"system": props.system})
                    return spec
        """
        return self.translator.untranslated(props)

    def execute(
        self,
        context: dg.AssetExecutionContext,
        config: KafkaConnectApplyConfig,
        kafka_connect: KafkaConnectWorkspace,
    ) -> Iterator[KafkaConnectEvent]:
        """Materialize a connector: start it, and report its offsets, topics and columns.

        Override this method to do more, or to report less:

        .. code-block:: python

            from connect_dagster import KafkaConnectWorkspaceComponent

            class BriefConnectors(KafkaConnectWorkspaceComponent):
                def execute(self, context, config, kafka_connect):
                    yield from kafka_connect.apply_and_poll(context, config)
        """
        yield from apply_connector(context, config, kafka_connect)

    async def refresh_state(self, project_root: Path) -> str:
        """Request the connectors of the cluster; the last state stays when the request fails.

        Raises:
            KafkaConnectError: The request fails.
        """
        # Dagster throws the last state away before it asks for the next one.
        self._fetched = self._fetch()
        return await super().refresh_state(project_root)

    def write_state_to_path(self, state_path: Path) -> None:
        """Write the connectors of the cluster to the state file."""
        found = self._fetched or self._fetch()
        state_path.write_text(found.model_dump_json(), encoding="utf-8")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return definitions of the cluster's connectors, from the last state when the cluster is down."""
        try:
            return super().build_defs(context)
        except KafkaConnectError as error:
            log.warning(
                "Connectors of cluster '%s' are shown as they were last seen: %s", self.workspace.cluster, error
            )
            with last_state(self.defs_state_config, context) as state_path:
                return self.build_defs_from_state(context, state_path)

    def build_defs_from_state(self, context: dg.ComponentLoadContext, state_path: Path | None) -> dg.Definitions:
        """Return the assets and checks of the connectors, and the jobs and the sensor of the cluster."""
        connectors = self._connectors(state_path)
        jobs = build_kafka_connect_jobs(workspace=self.workspace, prefix=self.job_prefix, pool=self.pool)
        bounds = self.bounds().within_reach(self.workspace)
        polling = build_kafka_connect_polling_sensor(
            workspace=self.workspace,
            dagster_kafka_connect_translator=self.translator,
            connector_selector_fn=self.connector_selector,
            event_interval_seconds=self.event_interval_seconds,
            mirror_sources=self.mirror_sources,
            max_lag=bounds.max_lag,
            max_dead_letters=bounds.max_dead_letters,
            observe_topics=self.observe_topics,
        )
        specs = {one.name: self.translator.get_asset_spec(one) for one in connectors}
        return dg.Definitions(
            assets=connector_assets(
                self.workspace,
                connectors,
                {},
                self.translator,
                self.execute,
                self.served_freshness_policy(),
                observe_topics=self.observe_topics,
                pool=self.pool,
                input_assets=self.input_assets,
            ),
            asset_checks=[
                *build_connector_state_checks(workspace=self.workspace, connectors=specs.values()),
                *bounds.checks(self.workspace, connectors, specs),
            ],
            jobs=jobs,
            sensors=[*([polling] if self.polling_sensor else []), *self._restart_sensors(jobs)],
        )

    def _restart_sensors(self, jobs: Sequence[dg.JobDefinition]) -> list[dg.SensorDefinition]:
        if (policy := policy_of(self.auto_restart)) is None:
            return []
        attempts = policy.attempts()
        return [
            build_kafka_connect_auto_restart_sensor(
                workspace=self.workspace,
                jobs=jobs,
                connector_selector_fn=self.connector_selector,
                max_restarts=attempts.most,
                back_off=attempts.back_off,
                dagster_kafka_connect_translator=self.translator,
            )
        ]

    def _fetch(self) -> KafkaConnectWorkspaceData:
        with self.workspace.initialized() as ready:
            found: KafkaConnectWorkspaceData = ready.fetch_kafka_connect_workspace_data()
            return found

    def _connectors(self, state_path: Path | None) -> list[KafkaConnectConnectorProps]:
        if state_path is None:
            return []
        known = KafkaConnectWorkspaceData.model_validate_json(state_path.read_text(encoding="utf-8"))
        return [
            props for props in known.connector_props() if not self.connector_selector or self.connector_selector(props)
        ]
