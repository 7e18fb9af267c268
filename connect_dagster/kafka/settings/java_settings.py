"""All settings of each of Java's clients in one table (Kafka 4.3)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from enum import Enum
from typing import Any

from connect_dagster.kafka.settings.admin import ADMIN
from connect_dagster.kafka.settings.common import COMMON
from connect_dagster.kafka.settings.consumer import CONSUMER
from connect_dagster.kafka.settings.producer import PRODUCER
from connect_dagster.kafka.settings.rows import Row
from connect_dagster.plugin.config import ConfigTable, parse_value

Settings = Mapping[str, str]
"""Settings in Java's names and words."""


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
