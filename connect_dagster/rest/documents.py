"""Reading request bodies: JSON to checked values, with errors a person can act on.

Accepts and refuses what Kafka Connect's Jackson mappers do (entities/CreateConnectorRequest,
ConnectorOffsets): numbers and booleans in configuration maps become strings, spelt as they were sent; unknown
fields are refused. All that is unreadable is a 500 there, and so here. Does not interpret the values.

The first problem ends the reading: a body of megabytes can have millions of them.
"""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.plugin.connector_file import DesiredState

T = TypeVar("T")

JSON_KINDS = {
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}
# One of these stands before each value, but for a body's first, or before its key.
_MARKS = (b",", b"[", b"{")
_BODY = "the body"
# Large bodies side by side would leave the threads of the herder and of other requests little time.
_ONE_AT_A_TIME = threading.Lock()

ConfigMap = dict[str, str | None]


class UnreadableRequest(ConnectError):
    """The body is missing, is not JSON, or has another shape than the endpoint reads."""


@dataclass(frozen=True, slots=True)
class CreateConnectorRequest:
    """Body of ``POST /connectors``."""

    name: str | None = None
    config: ConfigMap | None = None
    initial_state: DesiredState | None = None


def most_values(body: bytes | bytearray) -> int:
    """Return the number of JSON values that a body can have at most; marks inside of texts count too."""
    return sum(map(body.count, _MARKS))


def read_config(body: bytes) -> ConfigMap:
    """Return a map of strings: a configuration, a patch of one (values may be null), or a logger's level.

    Raises:
        UnreadableRequest: no body, no JSON, or not a map of scalars.
    """
    return _read(body, _config, "a JSON object of configuration keys and values")


def read_create_request(body: bytes) -> CreateConnectorRequest:
    """Return the body of ``POST /connectors``. Raises UnreadableRequest."""
    return _read(body, _create_request, 'a JSON object with "name" and "config"')


def read_task_configs(body: bytes) -> list[dict[str, str]]:
    """Return the body of ``POST …/tasks``, without keys that have no value. Raises UnreadableRequest."""
    read = _read(body, _configs, "a JSON array of task configurations")
    return [{key: value for key, value in config.items() if value is not None} for config in read]


def read_offsets(body: bytes) -> list[ConnectorOffset]:
    """Return the body of ``PATCH …/offsets``; empty when it lists none. Raises UnreadableRequest."""
    return _read(body, _offsets, 'a JSON object with "offsets"', numbers_as_text=False)


def _read(body: bytes, shape: Callable[[Any, str], T], expected: str, *, numbers_as_text: bool = True) -> T:
    with _ONE_AT_A_TIME, _without_collections():
        value = _parse(body, numbers_as_text=numbers_as_text) if body.strip() else None
        if value is None:
            raise UnreadableRequest(f"The request has no body; {expected} is expected")
        return shape(value, _BODY)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep Python from looking for cycles, while no other thread runs: there are none in JSON's values.

    It would begin again and again while many of them are made, and look at all objects of the worker.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _parse(body: bytes, *, numbers_as_text: bool) -> Any:
    number = str if numbers_as_text else None
    try:
        return json.loads(body, parse_int=number, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableRequest(f"The request body is not valid JSON: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    # Python's parser takes NaN and Infinity, which JSON does not know.
    raise ValueError(f"`{name}` is not a JSON value")


def _array(value: Any, place: str, item: Callable[[Any, str], T]) -> list[T]:
    if not isinstance(value, list):
        raise _unexpected(place, "an array", value)
    return [item(one, _inside(place, number)) for number, one in enumerate(value)]


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unexpected(place, "an object", value)
    return value


def _fields(value: Any, place: str, known: Iterable[str]) -> dict[str, Any]:
    for field in (document := _object(value, place)):
        if field not in known:
            properties = ", ".join(f'"{name}"' for name in known)
            unknown = f'Unrecognized field "{_inside(place, field)}"; see the known properties of {properties}'
            raise UnreadableRequest(unknown)
    return document


def _create_request(value: Any, place: str) -> CreateConnectorRequest:
    fields = _fields(value, place, ("name", "config", "initial_state"))
    return CreateConnectorRequest(
        _if_any(fields.get("name"), "name", _text),
        _if_any(fields.get("config"), "config", _config),
        _if_any(fields.get("initial_state"), "initial_state", _state),
    )


def _configs(value: Any, place: str) -> list[ConfigMap]:
    return _array(value, place, _config)


def _offsets(value: Any, place: str) -> list[ConnectorOffset]:
    offsets = _fields(value, place, ("offsets",)).get("offsets")
    return [] if offsets is None else _array(offsets, "offsets", _offset)


def _config(value: Any, place: str) -> ConfigMap:
    return {
        key: None if text is None else _text(text, _inside(place, key)) for key, text in _object(value, place).items()
    }


def _text(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        raise _unexpected(place, "a string", value)
    return value


def _state(value: Any, place: str) -> DesiredState:
    try:
        return DesiredState[value.upper()]
    except (KeyError, AttributeError):
        allowed = ", ".join(DesiredState.__members__)
        raise UnreadableRequest(f"Cannot read {place}: `{value}` is none of {allowed}") from None


def _offset(value: Any, place: str) -> ConnectorOffset:
    fields = _fields(value, place, ("partition", "offset"))
    partition, offset = (_if_any(fields.get(name), _inside(place, name), _object) for name in ("partition", "offset"))
    return ConnectorOffset(partition, offset)


def _if_any(value: Any, place: str, read: Callable[[Any, str], T]) -> T | None:
    return None if value is None else read(value, place)


def _inside(place: str, name: str | int) -> str:
    return str(name) if place == _BODY else f"{place}.{name}"


def _unexpected(place: str, expected: str, value: Any) -> UnreadableRequest:
    kind = JSON_KINDS.get(type(value), "a string")
    return UnreadableRequest(f"Cannot read {place}: expected {expected}, got {kind}")
