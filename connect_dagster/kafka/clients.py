"""librdkafka's clients from Java's settings, and the settings of a worker's and of its tasks' clients.

The order is Kafka Connect's: framework default, then the worker's ``producer.``/``consumer.``/``admin.`` settings, then
the connector's overrides (Java: ``Worker.baseProducerConfigs`` and its siblings). ``kafka.settings`` translates them
for librdkafka; Spark's Kafka source, whose client is Java's own, takes them as they are.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.errors import ConfigError, ConnectError, RetriableError, java_text
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.librdkafka import Rebootstrap, connect_by, handle_of
from connect_dagster.kafka.settings import ClientKind, to_librdkafka
from connect_dagster.kafka.settings.java_settings import Settings, rows
from connect_dagster.kafka.settings.security import client_tokens, jvm_security, relay_of
from connect_dagster.kafka.transactions import cause_of

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import ClusterMetadata

    from connect_dagster.kafka.security.sasl_relay import SaslRelay

log = logging.getLogger(__name__)
Client = TypeVar("Client")
Polled = TypeVar("Polled")

_SERVERS = "bootstrap.servers"
_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')
_NO_EXTRA: Mapping[str, Any] = {}
# librdkafka has the same code for a connection that ends while it logs in, and for one that logs in again within a
# second, which brokers do not take (KIP-368).
_PASSING_LOGINS = ("handshake failed: Local: ", "handshake failed: Broker: Request not valid in current SASL state")
_MAX_INT = 2**31 - 1
_MOST_IN_FLIGHT = 5  # of an idempotent producer
_TRANSACTION_MS = 60_000
_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


class _Watched:
    """The part of a client that finds its brokers again."""

    def __init__(self, config: Mapping[str, Any], relay: SaslRelay | None) -> None:
        self._rebootstrap = Rebootstrap(config)
        if relay is None:
            super().__init__(config)  # type: ignore[call-arg]
            return
        super().__init__({name: value for name, value in config.items() if name != _SERVERS})  # type: ignore[call-arg]
        connect_by(relay, self, str(config[_SERVERS]))

    def poll(self, timeout: float = -1) -> Any:
        return self._served(super().poll(timeout))  # type: ignore[misc]

    def _served(self, polled: Polled) -> Polled:
        self._rebootstrap.serve(handle_of(self))
        return polled


class _Producer(_Watched, Producer):
    """A producer that finds its brokers again."""

    def flush(self, timeout: float = -1) -> int:
        return self._served(super().flush(timeout))


class _Consumer(_Watched, Consumer):
    """A consumer that finds its brokers again."""

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        return self._served(super().consume(num_messages, timeout))


class _AdminClient(_Watched, AdminClient):
    """An admin client that finds its brokers again."""


class _QuietAdminClient(_AdminClient):
    """An admin client that logs nothing: its first request raises the reason of brokers that refuse it."""

    def __init__(self, config: Mapping[str, Any], relay: SaslRelay | None) -> None:
        self._name = str(config.get("client.id", ""))
        self._causes: list[KafkaError] = []
        super().__init__({**config, "log_level": 0, "error_cb": self._causes.append}, relay)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        try:
            return super().list_topics(topic, timeout=timeout)
        except KafkaException as error:
            # The error of the request is the same for brokers that are away and for a login that they refuse.
            self.poll(0)
            refusals = (refusal(self._name, cause) for cause in self._causes)
            if (refused := next(filter(None, refusals), None)) is not None:
                raise refused from error
            raise


def producer(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> Producer:
    """Create a producer.

    Args:
        settings: Java's; unknown ones are named in a warning, as Java does.
        extra: librdkafka's own, which go before.

    Raises:
        ConfigError: a value or a login is refused, or a store or login module cannot be read; names the client.
        KafkaException: what gives tokens or tickets for the login does not respond.
    """
    return _built(_Producer, ClientKind.PRODUCER, settings, extra)


def consumer(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> Consumer:
    """Create a consumer; as :func:`producer`."""
    return _built(_Consumer, ClientKind.CONSUMER, settings, extra)


def admin(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> AdminClient:
    """Create an admin client; as :func:`producer`."""
    return _built(_AdminClient, ClientKind.ADMIN, settings, extra)


def quiet_admin(settings: Settings) -> AdminClient:
    """Create an admin client for a few requests, the first of which lists topics, and which logs nothing.

    Args:
        settings: Java's.

    Raises:
        ConnectError: as :func:`producer`; by the first request: the brokers refuse the login or the certificate.
        KafkaException: as :func:`producer`; by the first request: no broker responds in time.
    """
    return _built(_QuietAdminClient, ClientKind.ADMIN, settings, _NO_EXTRA)


def _built(
    make: Callable[[dict[str, Any], SaslRelay | None], Client],
    kind: ClientKind,
    settings: Settings,
    extra: Mapping[str, Any],
) -> Client:
    named = f"Failed to construct kafka {kind.value} {settings.get('client.id', '')}".rstrip()
    try:
        relay = _relay(settings)
        config: dict[str, Any] = {
            "logger": client_logger(),
            **to_librdkafka(kind, settings),
            **_tokens(settings),
            **extra,
        }
    except ConnectError as error:
        raise ConfigError(f"{named}: {error}") from error
    unknown: list[str] = []
    while True:
        try:
            client = make(config, relay)
            break
        except (KafkaException, ValueError) as error:
            found = _UNKNOWN.search(str(error))
            if found is None or config.pop(found.group(1), None) is None:
                raise ConfigError(f"{named}: {cause_of(error)}") from error
            unknown.append(found.group(1))
    if unknown:
        log.warning("These configurations '%s' were supplied but are not used yet.", java_text(unknown))
    return client


def _tokens(settings: Settings) -> dict[str, Any]:
    """Return the callback that gets tokens.

    Raises:
        KafkaException: the token endpoint does not respond.
        ConnectError: a setting is wrong, or the login is refused.
    """
    try:
        tokens = client_tokens(settings)
    except RetriableError as error:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, str(error))) from error
    if tokens is None:
        return {}

    def oauth_cb(_: str | None) -> tuple[str, float, str, dict[str, str]]:
        token = tokens.next()
        return token.value, token.expires_at, token.principal, tokens.extensions

    return {"oauth_cb": oauth_cb}


def _relay(settings: Settings) -> SaslRelay | None:
    """Return what the client connects by; gets the first ticket at once, so that its error is that of the client.

    Raises:
        KafkaException: the centre of Kerberos does not respond.
        ConnectError: a setting is wrong, or the login is refused.
    """
    if (relay := relay_of(settings)) is not None:
        try:
            relay.check()
        except RetriableError as error:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, str(error))) from error
    return relay


def refusal(client_id: str, error: KafkaError) -> ConnectError | None:
    """Return the error of a refused login or certificate, which is final (Java: ``AuthenticationException``).

    Other errors are temporary: librdkafka keeps trying.

    Args:
        client_id: the client's name.
        error: as librdkafka's ``error_cb`` gets it.
    """
    return ConnectError(f"The brokers refuse client {client_id}: {error.str()}") if is_refusal(error) else None


def is_refusal(error: KafkaError) -> bool:
    """Return whether an error is that of a refused login or certificate."""
    text = error.str()
    if error.code() == KafkaError._SSL:
        return "certificate" in text
    return error.code() == KafkaError._AUTHENTICATION and not any(one in text for one in _PASSING_LOGINS)


def producer_settings(bootstrap: str, client_id: str, overrides: Settings) -> dict[str, str]:
    """Return the settings of a task's producer, in Java's names.

    Connect's own but for idempotence, without which librdkafka does not keep the order of records
    (docs/decisions/0056-order-needs-idempotence.md).
    """
    defaults = {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "acks": "all",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": str(_MAX_INT),
        "buffer.memory": "67108864",
        "max.request.size": "1048576",
    }
    return with_idempotence({**defaults, **overrides})


def with_idempotence(producer: Settings) -> dict[str, str]:
    """Return the settings of a producer that is idempotent, unless they say otherwise.

    One whose other settings do not allow for it is not (Java: ``ProducerConfig.maybeOverrideEnableIdempotence``).

    Args:
        producer: settings in Java's names.
    """
    in_flight = producer.get("max.in.flight.requests.per.connection", "").strip()
    forbidden = (
        producer.get("acks", "all").strip() not in ("all", "-1")
        or producer.get("retries", "").strip() == "0"
        or (in_flight.isdecimal() and int(in_flight) > _MOST_IN_FLIGHT)
    )
    return {"enable.idempotence": str(not forbidden).lower(), **producer}


def transactional_settings(producer: Settings, transactional_id: str) -> dict[str, str]:
    """Return the settings of a source task's producer for transactions, no delivery of which takes longer than one.

    Java: ``Worker.exactlyOnceSourceTaskProducerConfigs``.

    Args:
        producer: what :func:`producer_settings` returns, with overrides.
        transactional_id: of the task.
    """
    if (given := producer.get("transactional.id", transactional_id)) != transactional_id:
        log.warning(
            "The value '%s' for the 'transactional.id' property will be ignored as it is not compatible with "
            "exactly-once support; the value '%s' will be used instead",
            given,
            transactional_id,
        )
    timeout = int(producer.get("transaction.timeout.ms", _TRANSACTION_MS))
    return {
        **producer,
        "transactional.id": transactional_id,
        "enable.idempotence": "true",
        "transaction.timeout.ms": str(timeout),
        "delivery.timeout.ms": str(min(int(producer.get("delivery.timeout.ms", timeout)), timeout)),
    }


def consumer_settings(bootstrap: str, client_id: str, group: str, overrides: Settings) -> dict[str, str]:
    """Return the settings of a sink task's consumer, in Java's names."""
    defaults = {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "allow.auto.create.topics": "true",
    }
    # The brokers choose how members of the newer protocol share partitions, and refuse a choice.
    if overrides.get("group.protocol", "classic").lower() == "classic":
        defaults["partition.assignment.strategy"] = _RANGE
    return {**defaults, **overrides}


JAVA_RECONNECT = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}
"""Java's defaults: with librdkafka's own a client notices up to ten seconds late that the brokers are back."""

_CONSUMER_KEYS = ("group.id", "isolation.level")


def without_consumer_keys(settings: Settings) -> dict[str, str]:
    """Return settings of a worker's clients for one that is not a consumer, and would warn about a consumer's keys."""
    return JAVA_RECONNECT | {name: value for name, value in settings.items() if name not in _CONSUMER_KEYS}


def admin_settings_of(consumer: Settings) -> dict[str, str]:
    """Return the settings of an admin client with the brokers and the access of a consumer."""
    own = rows(ClientKind.CONSUMER).keys() - rows(ClientKind.ADMIN).keys() | {"client.id"}
    return {name: value for name, value in consumer.items() if name not in own}


def admin_settings(bootstrap: str, client_id: str, overrides: Settings) -> dict[str, str]:
    """Return the settings of an admin client, in Java's names."""
    return {"bootstrap.servers": bootstrap, "client.id": client_id, **overrides}


# Spark's Kafka source sets these itself and refuses to take them, or they are for members of a group.
_SPARK_OWNS = frozenset(
    {
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "interceptor.classes",
        "group.id",
        "group.protocol",
        "group.remote.assignor",
        "client.id",
        "partition.assignment.strategy",
        "max.poll.interval.ms",
        "group.instance.id",
    }
)


def spark_options(settings: Settings) -> dict[str, str]:
    """Return consumer settings as options of Spark's Kafka source, whose client is Java's own.

    Raises:
        ConfigError: a setting of the login is wrong.
    """
    return {f"kafka.{name}": value for name, value in jvm_security(settings).items() if name not in _SPARK_OWNS}


# A known record that does not arrive: the brokers are away, and the task must poll its group meanwhile.
_FETCH_MS = 10_000
_FASTER_FETCHES = {
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "receive.buffer.bytes": str(1 << 20),
}


def range_options(consumer: Settings, *, headers: bool) -> dict[str, str]:
    """Return the options of Spark's Kafka source for ranges of offsets.

    Args:
        consumer: settings of a task's consumer.
        headers: whether to read headers.
    """
    return {
        **spark_options({**_FASTER_FETCHES, **consumer}),
        # A truncated partition continues at its new start, unless the user chose to fail.
        "failOnDataLoss": str(consumer.get("auto.offset.reset") == "none").lower(),
        "kafkaConsumer.pollTimeoutMs": str(_FETCH_MS),
        "includeHeaders": str(headers).lower(),
    }
