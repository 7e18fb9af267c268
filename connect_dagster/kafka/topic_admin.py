"""Asks whether a topic is there, and creates it (Java: ``TopicAdmin.describeTopics`` and ``createOrFindTopics``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.errors import ConnectError, RetriableError, java_text
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_settings.java_settings import Settings

log = logging.getLogger(__name__)

_API_MILLISECONDS = 60_000
_UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
_TIMED_OUT = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
    }
)
_UNAUTHORIZED = frozenset({KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED})


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic that is to be.

    Attributes:
        name: the topic.
        partitions: how many; -1 for the brokers' choice.
        replication_factor: likewise.
        settings: of the topic.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"(name={self.name}, numPartitions={self.partitions}, replicationFactor={self.replication_factor}, "
            f"replicasAssignments=null, configs={java_text(self.settings)})"
        )


class TopicAdmin:
    """Questions about topics, each with an end.

    Args:
        settings: settings of an admin client, in Java's names.
    """

    def __init__(self, settings: Settings) -> None:
        self._servers = settings.get("bootstrap.servers", "")
        self._seconds = int(settings.get("default.api.timeout.ms", _API_MILLISECONDS)) / 1000
        self._client_id = settings.get("client.id", "")
        self._refusal: ConnectError | None = None
        self._client: AdminClient = clients.admin(settings, {"error_cb": self._refused})

    def _refused(self, error: KafkaError) -> None:
        self._refusal = self._refusal or clients.refusal(self._client_id, error)

    def exists(self, topic: str) -> bool:
        """Whether there is such a topic.

        Raises:
            RetriableError: no answer in time.
            ConnectError: the brokers refuse to tell, or refuse this client.
        """
        # Unlike list_topics() this does not have the brokers make the topic, with whatever settings.
        answer = self._client.describe_topics(TopicCollection([topic]), request_timeout=self._seconds)[topic]
        try:
            answer.result(self._seconds + 1)
        except (KafkaException, FutureTimeout) as error:
            code = _code(error)
            if code in _UNKNOWN:
                log.debug("Topic '%s' does not exist on the brokers at %s", topic, self._servers)
                return False
            self._raise_refusal(error)
            if code in _UNAUTHORIZED:
                text = f"Not authorized to describe topic(s) '{topic}' on the brokers {self._servers}"
                raise ConnectError(text) from error
            if code in _TIMED_OUT:
                raise RetriableError(f"Timed out while describing topics '{topic}'") from error
            raise ConnectError(f"Error while attempting to describe topics '{topic}': {error}") from error
        return True

    def create(self, plan: TopicPlan) -> bool | None:
        """Create a topic; answers whether it was not there before, ``None`` when this client may not create it.

        Raises:
            ConnectError: the brokers refuse the plan or this client, or do not answer in time.
        """
        new = NewTopic(
            plan.name,
            num_partitions=plan.partitions,
            replication_factor=plan.replication_factor,
            config=dict(plan.settings),
        )
        answers = self._client.create_topics([new], operation_timeout=self._seconds, request_timeout=self._seconds)
        try:
            answers[plan.name].result(self._seconds + 1)
        except (KafkaException, FutureTimeout) as error:
            code = _code(error)
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            self._raise_refusal(error)
            if code in _UNAUTHORIZED or code == KafkaError.UNSUPPORTED_VERSION:
                log.debug("Not able or authorized to create topic '%s' upon the brokers %s", plan.name, self._servers)
                return None
            raise ConnectError(_not_created(plan.name, code, error)) from error
        log.info("Created topic %s on brokers at %s", plan, self._servers)
        return True

    def _raise_refusal(self, error: Exception) -> None:
        if self._refusal is not None:
            raise self._refusal from error


def _not_created(topic: str, code: int, error: Exception) -> str:
    if code == KafkaError.INVALID_CONFIG:
        return f"Unable to create topic(s) '{topic}': {_text(error)}"
    if code in _TIMED_OUT:
        return (
            f"Timed out while checking for or creating topic(s) '{topic}'. This could indicate a connectivity issue, "
            "unavailable topic partitions, or if this is your first use of the topic it may have taken too long to "
            "create."
        )
    return f"Error while attempting to create/find topic(s) '{topic}': {_text(error)}"


def _code(error: Exception) -> int:
    return int(error.args[0].code()) if isinstance(error, KafkaException) else KafkaError._TIMED_OUT


def _text(error: Exception) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else str(error)
