"""Reading request bodies: JSON to checked values, with errors a person can act on.

Accepts and refuses what Kafka Connect's Jackson mappers do (entities/CreateConnectorRequest,
ConnectorOffsets): numbers and booleans in configuration maps become strings, spelt as they were sent; unknown
fields are refused. All that is unreadable is a 500 there, and so here. Does not interpret the values.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.plugin.connector_file import DesiredState

T = TypeVar("T")

JSON_KINDS = {dict: "an object", list: "an array", bool: "a boolean", int: "a number", float: "a number"}


class UnreadableRequest(ConnectError):
    """The body is missing, is not JSON, or has another shape than the endpoint reads."""


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        raise ValueError(f"expected a string, got {JSON_KINDS[type(value)]}")
    return value


def _initial_state(value: Any) -> DesiredState:
    try:
        return DesiredState[value.upper()]
    except (KeyError, AttributeError):
        allowed = ", ".join(DesiredState.__members__)
        raise ValueError(f"`{value}` is none of {allowed}") from None


Text = Annotated[str, BeforeValidator(_text)]
ConfigMap = dict[str, Text | None]
CONFIG_MAP = TypeAdapter(ConfigMap)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CreateConnectorRequest(_Document):
    """Body of ``POST /connectors``."""

    name: Text | None = None
    config: ConfigMap | None = None
    initial_state: Annotated[DesiredState, BeforeValidator(_initial_state)] | None = None


class _Offset(_Document):
    partition: dict[str, Any] | None = None
    offset: dict[str, Any] | None = None


class _Offsets(_Document):
    offsets: list[_Offset] | None = None


TASK_CONFIGS = TypeAdapter(list[ConfigMap])
CREATE_CONNECTOR = TypeAdapter(CreateConnectorRequest)
OFFSETS = TypeAdapter(_Offsets)


def read_config(body: bytes) -> ConfigMap:
    """Return a map of strings: a configuration, a patch of one (values may be null), or a logger's level.

    Raises:
        UnreadableRequest: no body, no JSON, or not a map of scalars.
    """
    return _read(body, CONFIG_MAP, "a JSON object of configuration keys and values", numbers_as_text=True)


def read_create_request(body: bytes) -> CreateConnectorRequest:
    """Return the body of ``POST /connectors``. Raises UnreadableRequest."""
    expected = 'a JSON object with "name" and "config"'
    return _read(body, CREATE_CONNECTOR, expected, numbers_as_text=True)


def read_task_configs(body: bytes) -> list[dict[str, str]]:
    """Return the body of ``POST …/tasks``, without keys that have no value. Raises UnreadableRequest."""
    expected = "a JSON array of task configurations"
    read = _read(body, TASK_CONFIGS, expected, numbers_as_text=True)
    return [{key: value for key, value in config.items() if value is not None} for config in read]


def read_offsets(body: bytes) -> list[ConnectorOffset]:
    """Return the body of ``PATCH …/offsets``; empty when it lists none. Raises UnreadableRequest."""
    document = _read(body, OFFSETS, 'a JSON object with "offsets"', numbers_as_text=False)
    return [ConnectorOffset(entry.partition, entry.offset) for entry in document.offsets or ()]


def _read(body: bytes, shape: TypeAdapter[T], expected: str, *, numbers_as_text: bool) -> T:
    value = _parse(body, numbers_as_text=numbers_as_text) if body.strip() else None
    if value is None:
        raise UnreadableRequest(f"The request has no body; {expected} is expected")
    try:
        return shape.validate_python(value)
    except ValidationError as error:
        raise UnreadableRequest(_first_problem(error, shape)) from error


def _parse(body: bytes, *, numbers_as_text: bool) -> Any:
    number = str if numbers_as_text else None
    try:
        return json.loads(body, parse_int=number, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableRequest(f"The request body is not valid JSON: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    # Python's parser takes NaN and Infinity, which JSON does not know.
    raise ValueError(f"`{name}` is not a JSON value")


def _first_problem(error: ValidationError, shape: TypeAdapter[Any]) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"]) or "the body"
    if problem["type"] == "extra_forbidden":
        return f'Unrecognized field "{place}"; see the known properties of {_known(shape)}'
    cause = problem.get("ctx", {}).get("error")
    kind = JSON_KINDS.get(type(problem["input"]), "a string")
    return f"Cannot read {place}: {cause or problem['msg'] + ', got ' + kind}"


def _known(shape: TypeAdapter[Any]) -> str:
    return ", ".join(f'"{name}"' for name in shape.json_schema().get("properties", {}))
