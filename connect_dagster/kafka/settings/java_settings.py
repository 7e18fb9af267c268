"""All settings of each of Java's clients in one table (Kafka 4.3)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from enum import Enum
from typing import Any

from connect_dagster.kafka.settings.common import COMMON
from connect_dagster.kafka.settings.consumer import CONSUMER
from connect_dagster.kafka.settings.producer import PRODUCER
from connect_dagster.kafka.settings.rows import Ignored, Row, Together, between, row, same
from connect_dagster.plugin.config import ConfigTable, Importance, Type, parse_value

Settings = Mapping[str, str]
"""Settings in Java's names and words."""


# Java: AdminClientConfig, beyond the common settings.
_H, _M, _L = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_MAX_INT = 2**31 - 1

ADMIN = (
    row(
        "bootstrap.controllers",
        Type.LIST,
        (),
        _H,
        Ignored("librdkafka asks brokers only: use bootstrap.servers"),
        "Controllers to find the cluster by.",
    ),
    row("bootstrap.servers", Type.LIST, (), _H, same("bootstrap.servers"), "Brokers to find the cluster by."),
    row(
        "connections.max.idle.ms",
        Type.LONG,
        300_000,
        _M,
        same("connections.max.idle.ms", turn=between(0)),
        "When an idle connection is closed; negative for never.",
    ),
    row(
        "default.api.timeout.ms",
        Type.INT,
        60_000,
        _M,
        Together("kafka.topic_admin"),
        "How long a call of the client may take.",
    ),
    row(
        "enable.metrics.push",
        Type.BOOLEAN,
        False,
        _L,
        same("enable.metrics.push"),
        "Whether brokers may ask for metrics.",
    ),
    row("retries", Type.INT, _MAX_INT, _L, Ignored("requests are repeated as long as there is time"), "Tries."),
)


class ClientKind(Enum):
    """The Java clients of a worker."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"


_OWN = {ClientKind.PRODUCER: PRODUCER, ClientKind.CONSUMER: CONSUMER, ClientKind.ADMIN: ADMIN}


@functools.cache
def rows(kind: ClientKind) -> Mapping[str, Row]:
    """Return the table of a client, by name; its own rows replace common ones."""
    return {row.name: row for row in (*COMMON, *_OWN[kind])}


@functools.cache
def definitions(kind: ClientKind) -> ConfigTable:
    """Return the client's settings as Java defines them (``ProducerConfig.configDef()`` and its siblings)."""
    return ConfigTable(tuple(row.key for row in rows(kind).values()))


def parsed(kind: ClientKind, settings: Mapping[str, str | None]) -> dict[str, Any]:
    """Parse the client's own settings among these to their types.

    Raises:
        ConfigError: a value is not of its type; with Java's text.
    """
    table = rows(kind)
    return {
        name: parse_value(name, value, table[name].key.type)
        for name, value in settings.items()
        if name in table and value is not None
    }
