"""Settings of the Kafka clients of a worker and of its tasks, in Java's names: defaults, and who goes before whom.

The order is Kafka Connect's: framework default, then the worker's ``producer.``/``consumer.``/``admin.`` settings, then
the connector's overrides (Java: ``Worker.baseProducerConfigs`` and its siblings). What librdkafka makes of them is said
in ``brokers.client_settings``; Spark's Kafka source, whose client is Java's own, takes them as they are.
"""

from __future__ import annotations

from connect_dagster.kafka.client_settings.java_settings import Settings as Settings
from connect_dagster.kafka.clients import admin as admin
from connect_dagster.kafka.clients import consumer as consumer
from connect_dagster.kafka.clients import producer as producer
from connect_dagster.kafka.clients import refusal as refusal

_MAX_INT = 2**31 - 1
_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


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
        "allow.auto.create.topics": "true",
    }
    # The brokers choose how members of the newer protocol share partitions, and refuse to be told.
    if overrides.get("group.protocol", "classic").lower() == "classic":
        defaults["partition.assignment.strategy"] = _RANGE
    return {**defaults, **overrides}


def admin_settings(bootstrap: str, client_id: str, overrides: Settings) -> dict[str, str]:
    """Settings of an admin client, in Java's names."""
    return {"bootstrap.servers": bootstrap, "client.id": client_id, **overrides}


# Spark's Kafka source sets these itself and refuses to take them.
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
        "allow.auto.create.topics",
        "max.poll.interval.ms",
        "group.instance.id",
    }
)


def spark_options(settings: Settings) -> dict[str, str]:
    """Consumer settings as options of Spark's Kafka source, whose client is Java's own."""
    return {f"kafka.{name}": value for name, value in settings.items() if name not in _SPARK_OWNS}
