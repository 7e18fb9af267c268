"""Declared connectors in YAML."""

from collections.abc import Iterator
from functools import cached_property

import dagster as dg
from pydantic import Field

from connect_dagster.orchestration.asset_decorator import apply_connector
from connect_dagster.orchestration.components.declared_connectors import ResolvedConnector
from connect_dagster.orchestration.components.scaffolders import ConnectorScaffolder
from connect_dagster.orchestration.components.translation import (
    ComponentTranslator,
    Props,
    ResolvedDataTranslation,
    ResolvedTranslation,
)
from connect_dagster.orchestration.components.yaml_values import ResolvedWorkspace
from connect_dagster.orchestration.definitions import JOB_PREFIX, declared_connectors_definitions
from connect_dagster.orchestration.event_iterator import KafkaConnectApplyConfig, KafkaConnectEvent
from connect_dagster.orchestration.names import identifier
from connect_dagster.orchestration.sensors.polling import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


@dg.scaffold_with(ConnectorScaffolder)
class KafkaConnectConnectorComponent(dg.Component, dg.Model, dg.Resolvable):
    """Declares Kafka Connect connectors; Dagster creates, changes, keeps them as declared, and shows them as assets.

    The cluster is not asked when definitions load. Job ``kafka_connect_<folder>_apply`` validates, compares, changes
    what differs, and waits; with ``dry_run: true`` it prints the difference alone, as does ``connect-dagster diff``.

    Examples:
        .. code-block:: yaml

            # defs.yaml
            type: connect_dagster.KafkaConnectConnectorComponent
            attributes:
              workspace:
                url: http://127.0.0.1:8083
                password: {env: CONNECT_PASSWORD}
              connectors:
                - name: local-file-source
                  connector_class: FileStreamSource
                  config:
                    file: /tmp/test.txt
                    topic: connect-test
                - file: local-file-sink.properties
                  state: PAUSED
    """

    workspace: ResolvedWorkspace
    connectors: list[ResolvedConnector] = Field(description="The connectors.")
    translation: ResolvedTranslation = Field(default=None, description="Attributes of the connectors' assets.")
    data_translation: ResolvedDataTranslation = Field(
        default=None, description="Attributes of the assets of what they read and write."
    )
    job_prefix: str | None = Field(
        default=None, description="Begin of the jobs' names; kafka_connect_ and the folder's name by default."
    )
    sensor_interval_seconds: int = Field(default=30, description="Seconds between two looks at a connector.")
    sensors_running: bool = Field(default=True, description="Whether connectors are kept as declared from the start.")
    polling_sensor: bool = Field(default=True, description="Whether a sensor reports states, lag and progress.")

    @cached_property
    def translator(self) -> ComponentTranslator:
        """Return the translator that makes the assets."""
        return ComponentTranslator(self)

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

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the assets, checks, sensors and jobs of the connectors."""
        folder = context.path.stem
        status = dg.DefaultSensorStatus.RUNNING if self.sensors_running else dg.DefaultSensorStatus.STOPPED
        driven = declared_connectors_definitions(
            self.workspace,
            self.connectors,
            translator=self.translator,
            job_prefix=self.job_prefix or f"{JOB_PREFIX}_{folder}",
            minimum_interval_seconds=self.sensor_interval_seconds,
            default_sensor_status=status,
            execute=self.execute,
        )
        watched = dg.Definitions(sensors=[self._polling_sensor(folder)] if self.polling_sensor else [])
        return dg.Definitions.merge(driven, watched)

    def _polling_sensor(self, folder: str) -> dg.SensorDefinition:
        names = frozenset(connector.name for connector in self.connectors)
        return build_kafka_connect_polling_sensor(
            workspace=self.workspace,
            dagster_kafka_connect_translator=self.translator,
            connector_selector_fn=lambda props: props.name in names,
            name=f"kafka_connect_{identifier(self.workspace.cluster)}__{identifier(folder)}_status_sensor",
        )
