"""The operations of every herder on its own worker: versions, metrics, plugins, validation, log levels.

Java: ``AbstractHerder``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from connect_dagster.errors import BadRequestError, ConnectError
from connect_dagster.herder import loggers
from connect_dagster.herder.interface import ConnectorConfig, ConnectorType, Herder, LoggerLevel, PluginInfo, ServerInfo
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import LISTED, Kind, Plugins
from connect_dagster.worker.metrics.families import Family
from connect_dagster.worker.worker import Worker


class WorkerHerder(Herder):
    """The part of a herder that needs no other worker.

    Args:
        worker: runs connectors and tasks.
        validator: checks configurations.
        server: response of ``GET /``.
    """

    def __init__(self, worker: Worker, validator: Validator, server: ServerInfo) -> None:
        self._worker = worker
        self._validator = validator
        self._server = server

    def masked(self, text: str) -> str:
        return self._worker.masked(text)

    def server_info(self) -> ServerInfo:
        return self._server

    def progress(self) -> dict[str, Any]:
        return self._worker.progress()

    def metrics(self) -> Sequence[Family]:
        return self._worker.metrics.families(self._server.version, self._server.commit)

    @property
    def topic_tracking(self) -> tuple[bool, bool]:
        config = self._worker.config
        return config.topic_tracking_enable, config.topic_tracking_allow_reset

    def plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        kinds = (Kind.SINK, Kind.SOURCE) if connectors_only else LISTED
        return [PluginInfo(one.class_name, one.kind.value, one.version) for one in self._worker.plugins.all(kinds)]

    def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        return self._validator.plugin_config(name, version)

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        return self._validator.validate(config)

    def loggers(self) -> dict[str, LoggerLevel]:
        return loggers.levels()

    def logger(self, name: str) -> LoggerLevel:
        return loggers.level(name)

    def set_logger_level(self, namespace: str, level: str) -> list[str]:
        return loggers.set_level(namespace, level)


def connector_type(plugins: Plugins, config: ConnectorConfig | None) -> ConnectorType:
    """Return the direction of a configured connector, UNKNOWN when its class cannot be loaded."""
    try:
        described = plugins.connector((config or {}).get("connector.class") or "")
    except ConnectError:
        return ConnectorType.UNKNOWN
    return ConnectorType(described.kind.value)


def refuse_until_stopped(name: str) -> NoReturn:
    """Refuse to change the offsets of a connector that may be using them."""
    raise BadRequestError(
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done "
        f"for the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
    )
