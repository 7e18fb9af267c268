"""Kafka client settings: Java's names and defaults on the way to librdkafka and to Spark's Kafka source.

The order is Kafka Connect's: framework default, then the worker's ``producer.``/``consumer.``/``admin.`` settings, then
the connector's overrides (Java: ``Worker.baseProducerConfigs`` and its siblings).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from connect_dagster.plugin.errors import ConfigError
from connect_dagster.worker.client_log import client_logger

log = logging.getLogger(__name__)
Client = TypeVar("Client")
Settings = Mapping[str, str]

_MAX_INT = 2**31 - 1

_ASSIGNORS: dict[str, str] = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
# Java name -> librdkafka name and how to turn the value. Names that are the same in both are not listed.
_RENAMED: dict[str, tuple[str, Callable[[str], str]]] = {
    "buffer.memory": ("queue.buffering.max.kbytes", lambda value: str(max(1, int(value) // 1024))),
    "max.request.size": ("message.max.bytes", str),
    "delivery.timeout.ms": ("delivery.timeout.ms", lambda value: "0" if int(value) >= _MAX_INT else value),
    "connections.max.idle.ms": ("connections.max.idle.ms", lambda value: str(max(0, int(value)))),
    "send.buffer.bytes": ("socket.send.buffer.bytes", lambda value: str(max(0, int(value)))),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", lambda value: str(max(0, int(value)))),
    "fetch.max.wait.ms": ("fetch.wait.max.ms", str),
    "metadata.max.age.ms": ("topic.metadata.refresh.interval.ms", str),
    "ssl.truststore.location": ("ssl.ca.location", str),
    "partition.assignment.strategy": (
        "partition.assignment.strategy",
        lambda value: _ASSIGNORS.get(value, value),
    ),
}
# Settings of Java's clients that say nothing to librdkafka: how bytes are made of objects, and Java's own threads.
_JAVA_ONLY = frozenset(
    {
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "auto.include.jmx.reporter",
        "interceptor.classes",
        "default.api.timeout.ms",
        "partitioner.class",
        "exclude.internal.topics",
    }
)
_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')


def under_prefix(props: Settings, prefix: str) -> dict[str, str]:
    """The properties whose names begin with a prefix, such as ``producer.override.``, without it."""
    return {name.removeprefix(prefix): value for name, value in props.items() if name.startswith(prefix)}


def producer_settings(bootstrap: str, client_id: str, overrides: Settings) -> dict[str, str]:
    """Settings of a task's producer, in Java's names."""
    defaults = {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "acks": "all",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": str(_MAX_INT),
        "buffer.memory": "67108864",
        "max.request.size": "1048576",
    }
    return {**defaults, **overrides}


def consumer_settings(bootstrap: str, client_id: str, group: str, overrides: Settings) -> dict[str, str]:
    """Settings of a sink task's consumer, in Java's names."""
    defaults = {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "partition.assignment.strategy": "range",
        "allow.auto.create.topics": "true",
    }
    return {**defaults, **overrides}


def admin_settings(bootstrap: str, client_id: str, overrides: Settings) -> dict[str, str]:
    """Settings of an admin client, in Java's names."""
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, **overrides}
    # librdkafka knows request.timeout.ms of producers alone.
    if "request.timeout.ms" in settings:
        settings["socket.timeout.ms"] = settings.pop("request.timeout.ms")
    return settings


def build(make: Callable[[dict[str, Any]], Client], settings: Settings, extra: Mapping[str, Any]) -> Client:
    """Make a librdkafka client from Java's settings; one that it does not know is dropped with a warning, as in Java.

    Raises:
        ConfigError: a value that librdkafka refuses.
    """
    config: dict[str, Any] = {"logger": client_logger(), **to_librdkafka(settings), **extra}
    while True:
        try:
            return make(config)
        except (KafkaException, ValueError) as error:
            unknown = _UNKNOWN.search(str(error))
            if unknown is None or config.pop(unknown.group(1), None) is None:
                raise ConfigError(_text(error)) from error
            log.warning("These configurations were supplied but are not used: [%s]", unknown.group(1))


def _text(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


def to_librdkafka(settings: Settings) -> dict[str, Any]:
    """Java's names and values in librdkafka's terms."""
    result: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in _JAVA_ONLY:
            target, turn = _RENAMED.get(name, (name, str))
            result[target] = turn(value)
    return result


# Spark's Kafka source sets these itself and refuses to take them.
_SPARK_OWNS = frozenset(
    {
        "key.deserializer",
        "value.deserializer",
        "enable.auto.commit",
        "auto.offset.reset",
        "interceptor.classes",
        "group.id",
        "client.id",
        "partition.assignment.strategy",
        "allow.auto.create.topics",
        "max.poll.interval.ms",
        "group.instance.id",
    }
)


def spark_options(settings: Settings) -> dict[str, str]:
    """Consumer settings as options of Spark's Kafka source, whose client is Java's own."""
    return {f"kafka.{name}": value for name, value in settings.items() if name not in _SPARK_OWNS}


# Java name -> kafka-python's name and how to turn the value.
_PYTHON_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "request.timeout.ms": ("request_timeout_ms", int),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", int),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", int),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", int),
    "socket.connection.setup.timeout.max.ms": ("socket_connection_setup_timeout_max_ms", int),
    "connections.max.idle.ms": ("connections_max_idle_ms", int),
    "metadata.max.age.ms": ("metadata_max_age_ms", int),
    "client.dns.lookup": ("client_dns_lookup", str),
    "security.protocol": ("security_protocol", str.upper),
    "sasl.mechanism": ("sasl_mechanism", str.upper),
    "ssl.truststore.location": ("ssl_cafile", str),
    "ssl.keystore.location": ("ssl_certfile", str),
    "ssl.key.password": ("ssl_password", str),
    "ssl.endpoint.identification.algorithm": ("ssl_check_hostname", bool),
}
_JAAS = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


def python_client_settings(bootstrap: str, client_id: str, settings: Settings) -> dict[str, Any]:
    """Settings of one of kafka-python's clients; certificates are PEM files, as kafka-python reads no other.

    Args:
        bootstrap: brokers as ``host:port``, separated by commas.
        client_id: the client's name in the brokers' logs.
        settings: in Java's names, among others that say nothing to a client.
    """
    turned = {
        name: turn(settings[java]) for java, (name, turn) in _PYTHON_SETTINGS.items() if settings.get(java) is not None
    }
    jaas = dict(_JAAS.findall(settings.get("sasl.jaas.config", "")))
    if "username" in jaas:
        turned |= {"sasl_plain_username": jaas["username"], "sasl_plain_password": jaas.get("password", "")}
    return {"bootstrap_servers": bootstrap.split(","), "client_id": client_id, **turned}
