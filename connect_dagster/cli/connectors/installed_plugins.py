"""The plugins installed here as a worker would list and validate them, for commands that work without one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from connect_dagster.cli.connectors.rest_access import Trouble
from connect_dagster.client.types import ConfigValidation, ConnectorPlugin
from connect_dagster.errors import ConnectError
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.worker.config.worker import WorkerConfig

_JSON = "org.apache.kafka.connect.json.JsonConverter"
# What a worker must have; connectors are validated without its brokers.
_WORKER = {"bootstrap.servers": "127.0.0.1:9092", "key.converter": _JSON, "value.converter": _JSON}


class InstalledPlugins:
    """Connectors of this environment, validated as a worker with default options validates them."""

    url = "http://127.0.0.1:8083"
    where = "This installation"

    @cached_property
    def _plugins(self) -> Plugins:
        return Plugins()

    @cached_property
    def _validator(self) -> Validator:
        return Validator(self._plugins, WorkerConfig.parse(_WORKER))

    def plugins(self) -> list[ConnectorPlugin]:
        """Return the connector classes."""
        return [
            ConnectorPlugin.model_validate({"class": one.class_name, "type": one.kind.value, "version": one.version})
            for one in self._plugins.all((Kind.SOURCE, Kind.SINK))
        ]

    def validate(self, config: Mapping[str, str | None]) -> ConfigValidation:
        """Validate a configuration, which has a ``connector.class``.

        Raises:
            Trouble: it cannot be validated, for example as its placeholders cannot be resolved.
        """
        try:
            return ConfigValidation.model_validate(self._validator.validate(dict(config)))
        except ConnectError as error:
            raise Trouble(str(error)) from error
