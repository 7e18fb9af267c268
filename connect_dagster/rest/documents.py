"""Reading request bodies: JSON to checked values, with errors a person can act on.

Accepts and refuses what Kafka Connect's Jackson mappers do (entities/CreateConnectorRequest,
ConnectorOffsets): numbers and booleans in configuration maps become strings, spelt as they were sent; unknown
fields are refused. All that is unreadable is a 500 there, and so here, and errors begin with Jackson's sentence. Does
not interpret the values.

The first problem ends the reading: a body of megabytes can have millions of them.
"""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.java.jackson import closing_brackets
from connect_dagster.plugin.connector_file import DesiredState

T = TypeVar("T")

# One of these stands before each value, but for a body's first, or before its key.
_MARKS = (b",", b"[", b"{")
_BODY = "the body"
_ENTITIES = "org.apache.kafka.connect.runtime.rest.entities"
_MOST_SHOWN = 100
_MOST_READ_AGAIN = 100_000
# Large bodies side by side would leave the threads of the herder and of other requests little time.
_ONE_AT_A_TIME = threading.Lock()

ConfigMap = dict[str, str | None]


class UnreadableRequest(ConnectError):
    """The body is missing, is not JSON, or has another shape than the endpoint reads."""


class _Number(str):
    """A number of a configuration, spelt as it was sent."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of JSON values, in our words and in Jackson's.

    Attributes:
        ours: as in "got an object".
        value: as in "from Object value".
        token: of the parser, as in ``JsonToken.START_OBJECT``.
        argument: of a constructor that takes it, ``None`` where Jackson looks for none.
        shown: with a constructor, as in "from Number value (12)".
    """

    ours: str
    value: str
    token: str
    argument: str | None = None
    shown: str = ""


_OBJECT = _Kind("an object", "Object value", "START_OBJECT")
_ARRAY = _Kind("an array", "Array value", "START_ARRAY")
_TRUE = _Kind("a boolean", "Boolean value", "VALUE_TRUE", "boolean/Boolean", "boolean value ({})")
_FALSE = _Kind("a boolean", "Boolean value", "VALUE_FALSE", "boolean/Boolean", "boolean value ({})")
_WHOLE = _Kind("a number", "Integer value", "VALUE_NUMBER_INT", "int/Int", "Number value ({})")
_FRACTION = _Kind("a number", "Floating-point value", "VALUE_NUMBER_FLOAT", "double/Double", "Number value ({})")
_STRING = _Kind("a string", "String value", "VALUE_STRING", "String", "String value ('{}')")


@dataclass(frozen=True, slots=True)
class _Target:
    """The shape that a value should have, in our words and as a class of Java's.

    Attributes:
        ours: as in "expected an object".
        java: the class, with its parameters.
        built_from: JSON kinds for which Jackson looks for a constructor of the class before it refuses them.
        fields: that an object may have, in Jackson's order.
    """

    ours: str
    java: str
    built_from: tuple[_Kind, ...] = ()
    fields: tuple[str, ...] = ()

    def refuse(self, value: Any, place: str) -> UnreadableRequest:
        """Return the error for a value of another shape."""
        if value is None:
            return UnreadableRequest(f"Cannot read {place}: expected {self.ours}, got null")
        kind = _kind(value)
        if kind in self.built_from:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            shown = kind.shown.format(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")
            said = (
                f"Cannot construct instance of `{self.java.partition('<')[0]}` (although at least one Creator exists): "
                f"no {kind.argument}-argument constructor/factory method to deserialize from {shown}"
            )
        else:
            said = f"Cannot deserialize value of type `{self.java}` from {kind.value} (token `JsonToken.{kind.token}`)"
        return UnreadableRequest(f"{said}\n at {place}: expected {self.ours}, got {kind.ours}")

    def refuse_field(self, field: str, place: str) -> UnreadableRequest:
        """Return the error for a field that the class does not have."""
        count = "one known property" if len(self.fields) == 1 else f"{len(self.fields)} known properties"
        known = ", ".join(f'"{name}"' for name in self.fields)
        return UnreadableRequest(
            f'Unrecognized field "{field}" (class {self.java}), not marked as ignorable ({count}: {known})\n at {place}'
        )


_SCALARS = (_STRING, _WHOLE, _FRACTION, _TRUE, _FALSE)
_REQUEST = _Target("an object", f"{_ENTITIES}.CreateConnectorRequest", _SCALARS, ("config", "name", "initial_state"))
_CHANGES = _Target("an object", f"{_ENTITIES}.ConnectorOffsets", _SCALARS, ("offsets",))
_CHANGE = _Target("an object", f"{_ENTITIES}.ConnectorOffset", _SCALARS, ("partition", "offset"))
_CHANGE_LIST = _Target("an array", f"java.util.ArrayList<{_ENTITIES}.ConnectorOffset>")
_ANY_MAP = _Target("an object", "java.util.LinkedHashMap<java.lang.String,java.lang.Object>", (_STRING,))
_TEXT_MAP = _Target("an object", "java.util.LinkedHashMap<java.lang.String,java.lang.String>", (_STRING,))
_TEXT_MAPS = _Target("an array", "java.util.ArrayList<java.util.Map<java.lang.String,java.lang.String>>")
_TEXT = _Target("a string", "java.lang.String")
_INITIAL_STATE = f"{_ENTITIES}.CreateConnectorRequest$InitialState"


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
        try:
            value = _parse(body, numbers_as_text=numbers_as_text) if body.strip() else None
        except UnreadableRequest as invalid:
            _refuse_earlier(invalid, shape, numbers_as_text=numbers_as_text)
            raise
        if value is None:
            raise UnreadableRequest(f"The request has no body; {expected} is expected")
        return shape(value, _BODY)


def _refuse_earlier(invalid: UnreadableRequest, shape: Callable[[Any, str], T], *, numbers_as_text: bool) -> None:
    """Raise the error of a value before that of the syntax, as Jackson does, which reads one value after the other."""
    if not isinstance(error := invalid.__cause__, json.JSONDecodeError) or error.pos > _MOST_READ_AGAIN:
        return
    before = error.doc[: error.pos].rstrip().removesuffix(",").encode(errors="surrogatepass")
    try:
        value = _parse(before + closing_brackets(before), numbers_as_text=numbers_as_text)
    except UnreadableRequest:
        return  # it ends within a value, which Jackson does not refuse before its end
    shape(value, _BODY)


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
    number = _Number if numbers_as_text else None
    try:
        return json.loads(body, parse_int=number, parse_float=number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableRequest(f"The request body is not valid JSON: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    # Python's parser takes NaN and Infinity, which JSON does not know.
    raise ValueError(f"`{name}` is not a JSON value")


def _kind(value: Any) -> _Kind:
    match value:
        case dict():
            return _OBJECT
        case list():
            return _ARRAY
        case bool():
            return _TRUE if value else _FALSE
        case _Number():
            return _WHOLE if value.lstrip("-").isdecimal() else _FRACTION
        case int():
            return _WHOLE
        case float():
            return _FRACTION
        case _:
            return _STRING


def _array(value: Any, place: str, target: _Target, item: Callable[[Any, str], T]) -> list[T]:
    if not isinstance(value, list):
        raise target.refuse(value, place)
    return [item(one, _inside(place, number)) for number, one in enumerate(value)]


def _object(value: Any, place: str, target: _Target = _ANY_MAP) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise target.refuse(value, place)
    return value


def _fields(value: Any, place: str, target: _Target) -> dict[str, Any]:
    for field in (document := _object(value, place, target)):
        if field not in target.fields:
            raise target.refuse_field(field, _inside(place, field))
    return document


def _create_request(value: Any, place: str) -> CreateConnectorRequest:
    fields = _fields(value, place, _REQUEST)
    return CreateConnectorRequest(
        _if_any(fields.get("name"), "name", _text),
        _if_any(fields.get("config"), "config", _config),
        _if_any(fields.get("initial_state"), "initial_state", _state),
    )


def _configs(value: Any, place: str) -> list[ConfigMap]:
    return _array(value, place, _TEXT_MAPS, _config)


def _offsets(value: Any, place: str) -> list[ConnectorOffset]:
    offsets = _fields(value, place, _CHANGES).get("offsets")
    return [] if offsets is None else _array(offsets, "offsets", _CHANGE_LIST, _offset)


def _config(value: Any, place: str) -> ConfigMap:
    texts = _object(value, place, _TEXT_MAP)
    return {key: None if text is None else _text(text, _inside(place, key)) for key, text in texts.items()}


def _text(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        raise _TEXT.refuse(value, place)
    return str(value)


def _state(value: Any, place: str) -> DesiredState:
    if isinstance(value, dict | list):
        raise _Target("a string", _INITIAL_STATE).refuse(value, place)
    name = _text(value, place).upper()
    if name not in DesiredState.__members__:
        raise UnreadableRequest(
            f"Cannot construct instance of `{_INITIAL_STATE}`, problem: No enum constant "
            f"{_INITIAL_STATE.replace('$', '.')}.{name}\n at {place}: `{value}` is none of "
            f"{', '.join(DesiredState.__members__)}"
        )
    return DesiredState[name]


def _offset(value: Any, place: str) -> ConnectorOffset:
    fields = _fields(value, place, _CHANGE)
    partition, offset = (_if_any(fields.get(name), _inside(place, name), _object) for name in _CHANGE.fields)
    return ConnectorOffset(partition, offset)


def _if_any(value: Any, place: str, read: Callable[[Any, str], T]) -> T | None:
    return None if value is None else read(value, place)


def _inside(place: str, name: str | int) -> str:
    return str(name) if place == _BODY else f"{place}.{name}"
