"""Settings of the Kafka clients of connectors and their tasks: the worker's, with what a connector may override.

Java: ``Worker.baseProducerConfigs``, ``baseConsumerConfigs`` and ``adminConfigs``.
"""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.override_policy import ClientPolicy
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig


class TaskClients:
    """Settings of the Kafka clients of one worker's tasks.

    Args:
        config: the worker's configuration.
        policy: what connectors may override.
        statistics: of clients that tasks share; ``None`` where nobody asks for them.
    """

    def __init__(
        self, config: WorkerConfig, policy: ClientPolicy, statistics: StatisticsCollector | None = None
    ) -> None:
        self._statistics = statistics
        self._config = config
        self._policy = policy
        self._topic_admins: WeakValueDictionary[frozenset[tuple[str, str]], TopicAdmin] = WeakValueDictionary()
        self._opening = threading.Lock()

    def producer(self, id: TaskId, config: ConnectorConfig) -> dict[str, str]:
        """Return the settings of a source task's producer.

        Raises:
            ConnectError: an override is not allowed; the other methods also raise it.
        """
        given = self._given("producer", config)
        return clients.producer_settings(self._config.bootstrap_servers, f"connector-producer-{id}", given)

    def transactional_producer(self, id: TaskId, config: ConnectorConfig) -> dict[str, str]:
        """Return the settings of the producer of a source task that writes in transactions."""
        faster = {"max.in.flight.requests.per.connection": "5"}  # with idempotence the order stays
        own = {**self.producer(id, config), **faster, **self._given("producer", config)}
        return clients.transactional_settings(own, f"{self._config.transactional_id_prefix}{id}")

    def dead_letter_producer(self, id: TaskId, config: ConnectorConfig) -> dict[str, str]:
        """Return the settings of the producer of a task's dead letter queue."""
        own = {"enable.idempotence": "false"}  # nobody needs the order of dead letters
        given = {**own, **self._given("producer", config)}
        return clients.producer_settings(self._config.bootstrap_servers, f"connector-dlq-producer-{id}", given)

    def consumer(self, id: TaskId, config: ConnectorConfig) -> dict[str, str]:
        """Return the settings of a sink task's consumer."""
        bootstrap, group = self._config.bootstrap_servers, f"connect-{id.connector}"
        return clients.consumer_settings(bootstrap, f"connector-consumer-{id}", group, self._given("consumer", config))

    def topic_admin(self, consumer: Settings) -> TopicAdmin:
        """Return an admin client for the topics of a sink task; tasks with the same access share it.

        Args:
            consumer: settings of the task's consumer.

        Raises:
            ConfigError: a setting is wrong.
        """
        settings = clients.admin_settings_of(consumer)
        with self._opening:
            key = frozenset(settings.items())
            admin = self._topic_admins.get(key) or TopicAdmin(
                {**settings, "client.id": "connector-adminclient-topics"}, self._statistics
            )
            self._topic_admins[key] = admin
            return admin

    def admin(self, client_id: str, config: ConnectorConfig) -> dict[str, str]:
        """Return the settings of a connector's admin client, based on the worker's un-prefixed settings."""
        given = {**self._config.client_settings, **self._given("admin", config)}
        return clients.admin_settings(self._config.bootstrap_servers, client_id, given)

    def _given(self, client: str, config: ConnectorConfig) -> dict[str, str]:
        overrides = config.with_prefix(f"{client}.override.")
        self._policy.require(overrides)
        return {**self._config.client_overrides(f"{client}."), **overrides}
