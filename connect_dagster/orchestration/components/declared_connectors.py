"""Declared connectors in YAML: with their configuration, or as a file."""

from dataclasses import replace
from typing import Annotated, TypeAlias

import dagster as dg
from pydantic import Field, InstanceOf

from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.components.yaml_values import EnvReference, resolved
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.plugin.connector_file import DesiredState


class ConnectorModel(dg.Model):
    """A connector with its configuration."""

    name: str = Field(description="Name of the connector.")
    connector_class: str = Field(description="Its plugin, as `connector.class` takes it.")
    config: dict[str, bool | int | float | str | EnvReference | None] = Field(
        default={}, description="Its configuration; `{env: NAME}` stands for a variable, and keeps secrets out of here."
    )
    tasks_max: int | str = Field(default=1, description="How many tasks it may have at most.")
    state: str = Field(default=DesiredState.RUNNING, description="The state it is to be in: RUNNING, PAUSED, STOPPED.")


class ConnectorFileModel(dg.Model):
    """A connector in a separate file."""

    file: str = Field(description="Properties or JSON, as connect-standalone takes them; beside this file.")
    state: str | None = Field(default=None, description="The state it is to be in; the file's otherwise.")


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
