"""Declared connectors in YAML."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Annotated, TypeAlias

import dagster as dg
from pydantic import Field, InstanceOf

from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.asset_decorator import apply_connector
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.components.scaffolders import ConnectorScaffolder
from connect_dagster.orchestration.components.translation import (
    ComponentTranslator,
    Props,
    ResolvedDataTranslation,
    ResolvedTranslation,
)
from connect_dagster.orchestration.components.yaml_values import EnvReference, ResolvedWorkspace, resolved
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.definitions import JOB_PREFIX, declared_connectors_definitions
from connect_dagster.orchestration.event_iterator import KafkaConnectApplyConfig, KafkaConnectEvent
from connect_dagster.orchestration.sensors.polling import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState


class ConnectorModel(dg.Model):
    """A connector with its configuration."""

    name: str = Field(description="Name of the connector.")
    connector_class: str = Field(description="Its plugin, as `connector.class` takes it.")
    config: dict[str, bool | int | float | str | EnvReference | None] = Field(
        default={}, description="Its configuration; `{env: NAME}` stands for a variable, and keeps secrets out of here."
    )
    tasks_max: int | str = Field(default=1, description="Maximum number of its tasks.")
    state: str = Field(default=DesiredState.RUNNING, description="Its state: RUNNING, PAUSED or STOPPED.")


class ConnectorFileModel(dg.Model):
    """A connector in a separate file."""

    file: str = Field(description="Properties or JSON, as connect-standalone takes them; beside this file.")
    state: str | None = Field(default=None, description="Its state; by default the state in the file.")


def _resolve(context: dg.ResolutionContext, model: ConnectorModel | ConnectorFileModel) -> KafkaConnectConnectorSpec:
    if isinstance(model, ConnectorFileModel):
        return _of_file(context, model)
    return KafkaConnectConnectorSpec(
        resolved(context, model.name),
        resolved(context, model.connector_class),
        {key: resolved(context.at_path("config").at_path(key), value) for key, value in model.config.items()},
        int(resolved(context, model.tasks_max)),
        _state(context, model.state, model.name),
    )


def _of_file(context: dg.ResolutionContext, model: ConnectorFileModel) -> KafkaConnectConnectorSpec:
    path = context.resolve_source_relative_path(resolved(context, model.file))
    try:
        spec = KafkaConnectConnectorSpec.from_file(path)
    except ConnectError as error:
        raise dg.DagsterInvalidDefinitionError(str(error)) from error
    return spec if model.state is None else replace(spec, state=_state(context, model.state, spec.name))


def _state(context: dg.ResolutionContext, text: str, name: str) -> DesiredState:
    given = str(resolved(context, text))
    try:
        return DesiredState(given.upper())
    except ValueError:
        allowed = ", ".join(DesiredState)
        raise dg.DagsterInvalidDefinitionError(
            f"state of connector '{name}' must be one of {allowed}, but is '{given}'"
        ) from None


ResolvedConnector: TypeAlias = Annotated[
    InstanceOf[KafkaConnectConnectorSpec],
    dg.Resolver(_resolve, model_field_type=ConnectorModel | ConnectorFileModel),
]


@dg.scaffold_with(ConnectorScaffolder)
class KafkaConnectConnectorComponent(dg.Component, dg.Model, dg.Resolvable):
    """Declares Kafka Connect connectors; Dagster creates, changes, keeps them as declared, and shows them as assets.

    Definitions load without a request to the cluster. Job ``kafka_connect_<folder>_apply`` validates, compares, applies
    the changes, and waits; with ``dry_run: true`` it prints the difference alone, as does ``connect-dagster diff``.

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
    polling_sensor: bool = Field(default=True, description="Whether a sensor reports states, lag and progress.")

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

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the assets, checks, sensors and jobs of the connectors."""
        folder = context.path.stem
        status = dg.DefaultSensorStatus.RUNNING if self.sensors_running else dg.DefaultSensorStatus.STOPPED
        driven = declared_connectors_definitions(
            self.workspace,
            self.connectors,
            translator=self.translator,
            job_prefix=self.job_prefix or f"{JOB_PREFIX}_{identifier(folder)}",
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
