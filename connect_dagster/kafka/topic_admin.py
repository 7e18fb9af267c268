"""Describe and create topics (Java: ``org.apache.kafka.connect.util.TopicAdmin``).

The one place that creates topics: those of source connectors, dead letter queues, and a group's internal topics.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition, cimpl
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from connect_dagster.errors import ConnectError, RetriableError, java_text
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.rights import text_with_right
from connect_dagster.kafka.settings.java_settings import Settings

log = logging.getLogger(__name__)

BROKER_DEFAULT = -1
"""Number of partitions or replicas that leaves the choice to the brokers."""

CLEANUP_POLICY = "cleanup.policy"
COMPACT = "compact"

_API_MILLISECONDS = 60_000
_BACKOFF_SECONDS = 0.1
_CREATE_BACKOFF_SECONDS = 0.5
_NEW_TOPIC_SECONDS = 5.0
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
# librdkafka writes ids in the ordinary alphabet of Base64, Kafka (Uuid.toString) in the one for URLs.
_AS_KAFKA_WRITES = str.maketrans("+/", "-_")
_UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED

_TIMED_OUT = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError.REQUEST_TIMED_OUT})
_DISCONNECTED = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE})
_UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
_UNAUTHORIZED = frozenset({KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED})
_UNSUPPORTED = frozenset({KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE})
_RETRIABLE = _TIMED_OUT | _DISCONNECTED | {KafkaError.INVALID_REPLICATION_FACTOR}


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create (Java: ``NewTopic``).

    Attributes:
        name: the topic.
        partitions: their number; -1 for the brokers' default.
        replication_factor: replicas of each partition; -1 for the brokers' default.
        settings: settings of the topic, such as ``cleanup.policy``.
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
    """An admin client for topics, each call with a time limit. Any thread may call it.

    Args:
        settings: settings of an admin client, in Java's names.
        statistics: of the client; ``None`` where nobody asks for them.
    """

    def __init__(self, settings: Settings, statistics: StatisticsCollector | None = None) -> None:
        self._statistics = statistics
        self._servers = settings.get("bootstrap.servers", "<unknown>")
        self._seconds = int(settings.get("default.api.timeout.ms", _API_MILLISECONDS)) / 1000
        self._client_id = settings.get("client.id", "")
        self._settings = clients.without_consumer_keys(settings)
        self._stopped = threading.Event()
        self._renewing = threading.Lock()
        self._refusal: ConnectError | None = None
        self._client = self._open_client()

    def _open_client(self) -> AdminClient:
        self._refusal = None
        statistics = {} if self._statistics is None else self._statistics.callback(of_admin=True)
        return clients.admin(self._settings, {"error_cb": self._refused, **statistics})

    def serve(self) -> None:
        """Take the client's statistics, which wait for it; to be called from time to time."""
        self._served()

    def _served(self) -> AdminClient:
        """Return the client, after its callbacks: its errors wait for them."""
        client = self._client
        client.poll(0)
        return client

    def _refused(self, error: KafkaError) -> None:
        self._refusal = self._refusal or clients.refusal(self._client_id, error)

    def stop(self) -> None:
        """End all waits for topics that cannot be created yet."""
        self._stopped.set()

    def exists(self, topic: str) -> bool:
        """Return whether a topic exists.

        Raises:
            RetriableError: no response in time.
            ConnectError: the brokers refuse the request, or this client.
        """
        try:
            self._describe(topic, self._seconds)
        except (KafkaException, FutureTimeout) as error:
            code = _code(error)
            if code in _UNKNOWN:
                log.debug("Topic '%s' does not exist on the brokers at %s", topic, self._servers)
                return False
            self._raise_refusal(error)
            if code in _UNAUTHORIZED:
                text = f"Not authorized to describe topic(s) '{topic}' on the brokers {self._servers}"
                raise ConnectError(text) from error
            if code in _TIMED_OUT | _DISCONNECTED:
                raise RetriableError(f"Timed out while describing topics '{topic}'") from error
            raise ConnectError(f"Error while attempting to describe topics '{topic}': {error}") from error
        return True

    def partitions(self, topic: str, seconds: float) -> list[int]:
        """Return the numbers of a topic's partitions, none when it does not exist.

        Raises:
            RetriableError: no response in time.
        """
        try:
            return sorted(partition.id for partition in self._describe(topic, seconds).partitions)
        except KafkaException as error:
            if _code(error) in _UNKNOWN:
                return []
            text = text_with_right(error.args[0], topic=topic, on_topic="Describe")
            raise RetriableError(f"Could not look up topic '{topic}': {text}") from error

    def id_of(self, topic: str, seconds: float) -> str | None:
        """Return the id of a topic as :meth:`ids` does, ``None`` when the topic does not exist.

        Raises:
            RetriableError: no response in time.
        """
        try:
            return str(self._describe(topic, seconds).topic_id).translate(_AS_KAFKA_WRITES)
        except (KafkaException, FutureTimeout) as error:
            if _code(error) in _UNKNOWN:
                return None
            raise RetriableError(f"Could not look up topic '{topic}': {_text(error)}") from error

    def ids(self, topics: Iterable[str], seconds: float) -> dict[str, str]:
        """Return the ids of topics (KIP-516), without those that are missing or not known within this time.

        They are as ``kafka-topics`` shows them. A topic that was deleted and created again has another id. Brokers
        before Kafka 2.8 have none.
        """
        names = list(topics)
        if not names:
            return {}
        futures = self._served().describe_topics(TopicCollection(names), request_timeout=seconds)
        found: dict[str, str] = {}
        for name, future in futures.items():
            try:
                found[name] = str(future.result(seconds + 1).topic_id).translate(_AS_KAFKA_WRITES)
            except (KafkaException, FutureTimeout) as error:
                log.debug("The id of topic '%s' is not known now: %s", name, _text(error))
        return {name: id for name, id in found.items() if id != _NO_ID}

    def _describe(self, topic: str, seconds: float) -> TopicDescription:
        # Unlike list_topics() this does not make the brokers create the topic with their own settings.
        futures = self._served().describe_topics(TopicCollection([topic]), request_timeout=seconds)
        description: TopicDescription = futures[topic].result(seconds + 1)
        return description

    def create(self, topic: NewTopic) -> bool | None:
        """Create a topic.

        Returns:
            ``True`` when it was created, ``False`` when it existed, ``None`` when this client may not create it.

        Raises:
            ConnectError: the brokers refuse the topic or this client, or do not respond in time.
        """
        new = cimpl.NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config=dict(topic.settings),
        )
        futures = self._served().create_topics([new], operation_timeout=self._seconds, request_timeout=self._seconds)
        try:
            futures[topic.name].result(self._seconds + 1)
        except (KafkaException, FutureTimeout) as error:
            code = _code(error)
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            self._raise_refusal(error)
            if code in _UNAUTHORIZED | _UNSUPPORTED:
                log.debug("Not able or authorized to create topic '%s' upon the brokers %s", topic.name, self._servers)
                return None
            raise ConnectError(_not_created(topic.name, error)) from error
        log.info("Created topic %s on brokers at %s", topic, self._servers)
        return True

    def create_with_retry(self, topic: NewTopic) -> bool | None:
        """Create a topic, and try again while brokers are missing, until ``default.api.timeout.ms`` is over.

        Returns:
            As :meth:`create`.

        Raises:
            ConnectError: it cannot be created within that time, or :meth:`stop` was called.
        """
        deadline, logged = time.monotonic() + self._seconds, ""
        while True:
            try:
                return self.create(topic)
            except ConnectError as error:
                cause, remaining = error.__cause__, deadline - time.monotonic()
                if cause is None or _code(cause) not in _RETRIABLE or remaining <= 0 or error is self._refusal:
                    raise
                if (text := _text(cause)) != logged:
                    log.warning(
                        "'%s' topic creation failed due to '%s', retrying, %dms remaining",
                        topic.name,
                        text,
                        remaining * 1000,
                    )
                    logged = text
                if self._stopped.wait(_CREATE_BACKOFF_SECONDS):
                    raise

    def cleanup_policies(self, topic: str) -> set[str] | None:
        """Return the cleanup policies of a topic, ``None`` when this client may not know them.

        Raises:
            ConnectError: the brokers do not describe the topic.
        """
        resource = ConfigResource(ResourceType.TOPIC, topic)
        deadline = time.monotonic() + _NEW_TOPIC_SECONDS
        while True:
            futures = self._served().describe_configs([resource], request_timeout=self._seconds)
            try:
                entry = futures[resource].result(self._seconds + 1).get(CLEANUP_POLICY)
            except KafkaException as error:
                code = _code(error)
                if code in _UNKNOWN and time.monotonic() < deadline:
                    # The topic was created just now, and not all brokers know it yet.
                    time.sleep(_BACKOFF_SECONDS)
                    continue
                if code in _UNAUTHORIZED | _UNSUPPORTED | _UNKNOWN:
                    return None
                raise ConnectError(
                    f"Error while attempting to describe topic config for topic '{topic}' on brokers at "
                    f"{self._servers}: {_text(error)}"
                ) from error
            return {policy.strip().lower() for policy in entry.value.split(",")} - {""} if entry is not None else None

    def end_offsets(
        self, topic: str, partitions: list[int], seconds: float, isolation: IsolationLevel = _UNCOMMITTED
    ) -> dict[int, int]:
        """Return the end offsets of partitions.

        Args:
            topic: the topic.
            partitions: their numbers.
            seconds: time limit.
            isolation: by default open transactions are included.

        Raises:
            RetriableError: no response in time, or no leader now.
            ConnectError: the brokers refuse the request.
        """
        return self._offsets(topic, partitions, OffsetSpec.latest(), seconds, isolation)  # type: ignore[no-untyped-call]

    def beginning_offsets(self, topic: str, partitions: list[int], seconds: float) -> dict[int, int]:
        """Return the first offsets of partitions. Raises as :meth:`end_offsets`."""
        return self._offsets(topic, partitions, OffsetSpec.earliest(), seconds)  # type: ignore[no-untyped-call]

    def _offsets(
        self,
        topic: str,
        partitions: list[int],
        spec: OffsetSpec,
        seconds: float,
        isolation: IsolationLevel = _UNCOMMITTED,
    ) -> dict[int, int]:
        specs = {TopicPartition(topic, number): spec for number in partitions}
        client = self._served()
        futures = client.list_offsets(specs, isolation_level=isolation, request_timeout=seconds)
        try:
            found = {one.partition: future.result(seconds + 1).offset for one, future in futures.items()}
        except FutureTimeout as error:
            raise RetriableError(f"Timed out while waiting to get offsets of topic '{topic}'") from error
        except KafkaException as error:
            refused = _UNAUTHORIZED | _UNSUPPORTED
            if _code(error) not in _TIMED_OUT | _DISCONNECTED | refused:
                self._renew(client)
            kind = ConnectError if _code(error) in refused else RetriableError
            text = f"Error while getting offsets of topic '{topic}' on brokers at {self._servers}: {_text(error)}"
            raise kind(text) from error
        # With librdkafka 2.16 a request that timed out is not an error, but a negative offset.
        if any(offset < 0 for offset in found.values()):
            raise RetriableError(f"Timed out while waiting to get offsets of topic '{topic}'")
        return found

    def _renew(self, client: AdminClient) -> None:
        """Replace the client, as librdkafka 2.16 continues to request a leader of an old epoch."""
        with self._renewing:
            if self._client is client:  # else another thread has replaced it
                self._client = self._open_client()

    def _raise_refusal(self, error: Exception) -> None:
        self._served()
        if self._refusal is not None:
            raise self._refusal from error


def _not_created(topic: str, error: Exception) -> str:
    code = _code(error)
    if code == KafkaError.INVALID_CONFIG:
        return f"Unable to create topic(s) '{topic}': {_text(error)}"
    if code in _TIMED_OUT | _DISCONNECTED:
        return (
            f"Timed out while checking for or creating topic(s) '{topic}'. This could indicate a connectivity issue, "
            "unavailable topic partitions, or if this is your first use of the topic it may have taken too long to "
            "create."
        )
    return f"Error while attempting to create/find topic(s) '{topic}': {_text(error)}"


def _code(error: BaseException) -> int:
    return int(error.args[0].code()) if isinstance(error, KafkaException) else KafkaError._TIMED_OUT


def _text(error: BaseException) -> str:
    return str(error.args[0].str()) if isinstance(error, KafkaException) else str(error)
