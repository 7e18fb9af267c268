"""A connector's configuration in a file, as ``connect-standalone`` takes it (Java: ``ConnectStandalone``).

The file is a JSON map of strings, a create request as for ``POST /connectors``, or properties. Where Java reads
damaged JSON as properties, and then misses the name in it, the error here names the error of the JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.java.properties import parse_properties, read_text


class DesiredState(StrEnum):
    """The state a user wants a connector in: when it is created (KIP-980), and later by resume, pause and stop."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """Content of a connector file.

    Attributes:
        name: name of the connector.
        config: its configuration, the name included.
        initial_state: the state to create it in; ``None`` for running.
    """

    name: str
    config: dict[str, str | None]
    initial_state: DesiredState | None = None


def read_connector_file(path: str | Path) -> ConnectorFile:
    """Read a connector's configuration.

    Raises:
        ConfigError: the file cannot be read, or is malformed; names the file and the place.
        ConnectError: the name is missing, or given twice.
    """
    text = read_text(path)
    if not text.lstrip().startswith(("{", "[")):
        return _flat(path, dict(parse_properties(text, str(path))))
    document = _json(path, text)
    if any(isinstance(value, dict | list) for value in document.values()):
        return _request(path, document)
    return _flat(path, _strings(document))


def _json(path: str | Path, text: str) -> dict[str, Any]:
    """Return the document, numbers as they are written."""
    try:
        document = json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path} must hold a JSON object, not an array")
    return document


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _flat(path: str | Path, config: dict[str, str | None]) -> ConnectorFile:
    name = config.get("name")
    if name is None:
        raise ConnectError(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    return ConnectorFile(name, config)


def _request(path: str | Path, document: dict[str, Any]) -> ConnectorFile:
    config = document.get("config")
    if not isinstance(config, dict) or any(isinstance(value, dict | list) for value in config.values()):
        raise ConfigError(
            f"{path} must hold a JSON object of strings, or one with 'name' and an object of strings as 'config'"
        )
    config = _strings(config)
    name = _strings({"name": document.get("name")})["name"]
    if config.setdefault("name", name) != name:
        raise ConnectError(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'"
        )
    found = _flat(path, config)
    return ConnectorFile(found.name, config, _initial_state(path, document.get("initial_state")))


def _strings(values: dict[str, Any]) -> dict[str, str | None]:
    """Scalars as Jackson makes strings of them; numbers are text already."""
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}


def _initial_state(path: str | Path, given: Any) -> DesiredState | None:
    if given is None:
        return None
    try:
        return DesiredState(str(given).upper())
    except ValueError:
        allowed = ", ".join(DesiredState)
        raise ConfigError(f"{path}: initial_state must be one of {allowed}, but is '{given}'") from None
