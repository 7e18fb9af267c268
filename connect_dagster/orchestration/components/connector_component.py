"""Declared connectors in YAML."""

from dataclasses import replace
from typing import Annotated, TypeAlias

import dagster as dg
from pydantic import Field, InstanceOf

from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.components.bounded_sinks import BoundedSinks
from connect_dagster.orchestration.components.declared_component import DeclaredConnectorsComponent
from connect_dagster.orchestration.components.scaffolders import ConnectorScaffolder
from connect_dagster.orchestration.components.yaml_values import ConfigModel, ResolvedWorkspace, resolved
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.plugin.connector_file import DesiredState


class ConnectorModel(dg.Model):
    """A connector with its configuration."""

    name: str = Field(description="Name of the connector.")
    connector_class: str = Field(description="Its plugin, as `connector.class` takes it.")
    config: ConfigModel = Field(
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
class KafkaConnectConnectorComponent(DeclaredConnectorsComponent, BoundedSinks):
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

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the assets, checks, sensors and jobs of the connectors."""
        return self.declared_defs(context.path.stem, self.workspace, self.connectors, bounds=self.bounds())
