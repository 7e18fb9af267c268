"""Resources in YAML: their fields, and ``{env: NAME}`` for secrets.

A template ``{{ env.NAME }}`` becomes text when definitions load; ``{env: NAME}`` becomes an ``EnvVar``, which is
resolved when a run or a tick needs it, so that a secret never becomes part of a definition.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import dagster as dg
from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


class EnvReference(dg.Model):
    """An environment variable, resolved when a run or a tick needs it."""

    env: str = Field(description="Name of the environment variable.")


ConfigModel: TypeAlias = dict[str, bool | int | float | str | EnvReference | None]
"""Configuration of a connector in YAML."""


def _config(context: dg.ResolutionContext, model: ConfigModel) -> dict[str, Any]:
    return {key: resolved(context.at_path(key), value) for key, value in model.items()}


ResolvedConfig: TypeAlias = Annotated[dict[str, Any], dg.Resolver(_config, model_field_type=ConfigModel)]


def resource_model(resource: type[BaseModel], *, without: Collection[str] = ()) -> type[dg.Model]:
    """Return the YAML model of a resource: its fields, which also accept templates and ``{env: …}`` for text.

    Args:
        resource: The resource's class.
        without: Fields that are left out.
    """
    fields: dict[str, Any] = {
        name: (_yaml_type(field), Field(default=field.default, description=field.description))
        for name, field in resource.model_fields.items()
        if name not in without
    }
    return create_model(f"{resource.__name__}Model", __base__=dg.Model, **fields)


def given_fields(context: dg.ResolutionContext, model: BaseModel) -> dict[str, Any]:
    """Return the fields given in YAML, with templates resolved."""
    return {name: resolved(context.at_path(name), getattr(model, name)) for name in model.model_fields_set}


def resolved(context: dg.ResolutionContext, value: Any) -> Any:
    """Return a value from YAML, with templates resolved and environment references as ``EnvVar``."""
    match value:
        case EnvReference():
            return dg.EnvVar(value.env)
        case Mapping():
            return {key: resolved(context.at_path(key), each) for key, each in value.items()}
        case _:
            return context.resolve_value(value)


def _yaml_type(field: FieldInfo) -> Any:
    annotation: Any = field.annotation
    if annotation == dict[str, str]:
        return dict[str, str | EnvReference]
    return annotation | str | EnvReference if annotation in (str, str | None) else annotation | str


def _workspace(context: dg.ResolutionContext, model: BaseModel) -> KafkaConnectWorkspace:
    return KafkaConnectWorkspace(**given_fields(context, model))


if TYPE_CHECKING:
    _Workspace: TypeAlias = KafkaConnectWorkspace
else:
    # Dagster looks into pydantic models before it asks their resolver, and takes none whose numbers have bounds.
    _Workspace = Any

ResolvedWorkspace: TypeAlias = Annotated[
    _Workspace,
    dg.Resolver(
        _workspace,
        model_field_type=resource_model(KafkaConnectWorkspace),
        description="How the Connect cluster is reached.",
    ),
]
