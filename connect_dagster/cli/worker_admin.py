"""Admin clients of a worker and of its connectors: their settings, and the first question to the brokers."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaException

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.config import Type, parse_value, under_prefix
from connect_dagster.worker.config.worker import WorkerConfig

_CLUSTER_SECONDS = 6.0
_ADMIN_MILLISECONDS = 30_000


class WorkerAdmin:
    """Settings of the admin clients of the worker and of its connectors."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._given = {**config.client_settings, **config.client_overrides("admin.")}

    @property
    def seconds(self) -> float:
        """How long the brokers may take to answer. Raises ConfigError for a value that is no number."""
        value = self._given.get("request.timeout.ms", str(_ADMIN_MILLISECONDS))
        return int(parse_value("admin.request.timeout.ms", value, Type.INT)) / 1000

    def cluster_id(self) -> str:
        """Id of the Kafka cluster. Raises ConnectError when it cannot be reached in time."""
        try:
            settings = self._settings("connect-worker-adminclient", {})
            client = clients.admin(settings, {"log_level": 0})
            cluster = client.list_topics(timeout=_CLUSTER_SECONDS)
        except KafkaException as error:
            raise ConnectError(
                "Failed to connect to and describe Kafka cluster at bootstrap.servers="
                f"{self._config.bootstrap_servers} within {_CLUSTER_SECONDS:.0f} s ({error.args[0].str()}). "
                "Check worker's broker connection and security properties."
            ) from error
        return str(cluster.cluster_id)

    def for_connector(self, connector: Mapping[str, str]) -> Settings:
        """Settings for a connector, with its overrides."""
        overrides = under_prefix(connector, "admin.override.")
        return self._settings(f"connector-worker-adminclient-{connector.get('name', '')}", overrides)

    def _settings(self, client_id: str, overrides: Mapping[str, str]) -> Settings:
        return clients.admin_settings(self._config.bootstrap_servers, client_id, {**self._given, **overrides})
