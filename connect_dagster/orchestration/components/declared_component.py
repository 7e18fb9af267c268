"""The base of components of declared connectors: their translation, sensors and jobs."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import dagster as dg
from pydantic import Field

from connect_dagster.orchestration.asset_decorator import apply_connector
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.checks.sink_bounds import UNBOUNDED, SinkBounds
from connect_dagster.orchestration.components.polled_connectors import PolledConnectors
from connect_dagster.orchestration.components.restart_policy import ResolvedRestartPolicy, RestartPolicy, policy_of
from connect_dagster.orchestration.components.translation import (
    ComponentTranslator,
    Props,
    ResolvedDataTranslation,
    ResolvedTranslation,
)
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.definitions import JOB_PREFIX, declared_connectors_definitions
from connect_dagster.orchestration.event_iterator import KafkaConnectApplyConfig, KafkaConnectEvent
from connect_dagster.orchestration.sensors.polling import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


class DeclaredConnectorsComponent(dg.Component, PolledConnectors):
    """Base of components that declare connectors of one Connect cluster."""

    translation: ResolvedTranslation = Field(default=None, description="Attributes of the connectors' assets.")
    data_translation: ResolvedDataTranslation = Field(
        default=None, description="Attributes of the assets of their data."
    )
    allow_equal_keys: bool = Field(
        default=False, description="Whether one asset key may stand for data on several servers, which are one then."
    )
    job_prefix: str | None = Field(
        default=None, description="Begin of the jobs' names; kafka_connect_ and the folder's name by default."
    )
    sensor_interval_seconds: int = Field(default=30, description="Seconds between two ticks of a connector's sensor.")
    sensors_running: bool = Field(default=True, description="Whether connectors are kept as declared from the start.")
    auto_restart: ResolvedRestartPolicy = Field(
        default=True,
        description="Whether the sensors restart FAILED connectors and tasks; or the number of attempts in a row, and "
        "the delays between them, which are those of corrections too.",
    )

    @cached_property
    def translator(self) -> ComponentTranslator:
        """Return the translator that makes the assets."""
        return ComponentTranslator(self, allow_equal_keys=self.allow_equal_keys)

    def get_asset_spec(self, props: Props) -> dg.AssetSpec:
        """Return the asset of a connector, or of its data.

        Override this method to change assets by their configuration:

        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectConnectorComponent, KafkaConnectConnectorProps

            class OwnedConnectors(KafkaConnectConnectorComponent):
                def get_asset_spec(self, props):
                    spec = super().get_asset_spec(props)
                    if isinstance(props, KafkaConnectConnectorProps):
                        spec = spec.replace_attributes(owners=[f"team:{props.name.partition('-')[0]}"])
                    return spec
        """
        return self.translator.untranslated(props)

    def execute(
        self,
        context: dg.AssetExecutionContext,
        config: KafkaConnectApplyConfig,
        kafka_connect: KafkaConnectWorkspace,
    ) -> Iterator[KafkaConnectEvent]:
        """Materialize a connector: apply it, and report its offsets, topics and columns.

        Override this method to do more, or to report less:

        .. code-block:: python

            from connect_dagster import KafkaConnectConnectorComponent

            class LoggedConnectors(KafkaConnectConnectorComponent):
                def execute(self, context, config, kafka_connect):
                    context.log.info("The connector is applied")
                    yield from kafka_connect.apply_and_poll(context, config).fetch_offsets()
        """
        yield from apply_connector(context, config, kafka_connect)

    def job_names_begin(self, folder: str) -> str:
        """Return what the names of the jobs begin with."""
        return self.job_prefix or f"{JOB_PREFIX}_{identifier(folder)}"

    def declared_defs(
        self,
        folder: str,
        workspace: KafkaConnectWorkspace,
        connectors: Sequence[KafkaConnectConnectorSpec],
        mirror_sources: Sequence[KafkaConnectWorkspace] = (),
        bounds: SinkBounds = UNBOUNDED,
    ) -> dg.Definitions:
        """Return the assets, checks, sensors and jobs of connectors.

        Args:
            folder: Name of the component's folder, a part of the names of jobs and sensors.
            workspace: The Connect cluster.
            connectors: The connectors.
            mirror_sources: As of :func:`build_kafka_connect_polling_sensor`.
            bounds: Bounds of sinks among them.
        """
        status = dg.DefaultSensorStatus.RUNNING if self.sensors_running else dg.DefaultSensorStatus.STOPPED
        restarts = policy_of(self.auto_restart)
        driven = declared_connectors_definitions(
            workspace,
            connectors,
            translator=self.translator,
            job_prefix=self.job_names_begin(folder),
            minimum_interval_seconds=self.sensor_interval_seconds,
            default_sensor_status=status,
            execute=self.execute,
            attempts=(restarts or RestartPolicy()).attempts(),
            restart_failed=restarts is not None,
            bounds=bounds,
            freshness_policy=self.served_freshness_policy(),
            observe_topics=self.observe_topics,
            pool=self.pool,
            input_assets=self.input_assets,
        )
        if not self.polling_sensor:
            return driven
        names = frozenset(connector.name for connector in connectors)
        watched = bounds.within_reach(workspace)
        polling = build_kafka_connect_polling_sensor(
            workspace=workspace,
            dagster_kafka_connect_translator=self.translator,
            connector_selector_fn=lambda props: props.name in names,
            name=f"kafka_connect_{identifier(workspace.cluster)}__{identifier(folder)}_status_sensor",
            event_interval_seconds=self.event_interval_seconds,
            mirror_sources=mirror_sources,
            max_lag=watched.max_lag,
            max_dead_letters=watched.max_dead_letters,
            observe_topics=self.observe_topics,
        )
        return dg.Definitions.merge(driven, dg.Definitions(sensors=[polling]))
