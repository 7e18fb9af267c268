"""Java's settings in librdkafka's names and values."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed, rows
from connect_dagster.kafka.settings.rows import Ignored, Taken
from connect_dagster.kafka.settings.security import librdkafka_security

log = logging.getLogger(__name__)

_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_ASSIGNOR_PACKAGE = "org.apache.kafka.clients.consumer."
COOPERATIVE = "cooperative-sticky"
"""librdkafka's name of the one assignor whose members give up only what goes to others."""

# As Java's own: a hash of the key, and without one a partition at random that stays for a batch.
_BY_KEY, _AT_RANDOM = "murmur2_random", "random"
_PARTITIONERS = {
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": _BY_KEY,
    # Every record may go to any partition, though not in turn.
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": _AT_RANDOM,
}
_MOST_LEVEL = {"gzip": 9, "lz4": 12, "zstd": 12}


def to_librdkafka(kind: ClientKind, settings: Settings) -> dict[str, str]:
    """Translate Java's names and values to librdkafka's; other names are kept as they are.

    Raises:
        ConfigError: a value is not of its type, a store cannot be read, or a login is not possible.
    """
    table, values = rows(kind), parsed(kind, settings)
    result = {name: value for name, value in settings.items() if name not in table}
    for name, value in values.items():
        target = table[name].target
        if isinstance(target, Taken):
            result |= dict.fromkeys(target.names, target.turn(value))
        elif isinstance(target, Ignored) and not target.harmless and value != table[name].key.default:
            _log_ignored(name, kind, settings.get("client.id"), target.reason)
    return result | librdkafka_security(settings) | _OWN[kind](values)


@functools.lru_cache(maxsize=4096)
def _log_ignored(name: str, kind: ClientKind, client_id: str | None, reason: str) -> None:
    """Log a setting without effect, once for each client: clients are replaced and restarted."""
    log.warning("%s has no effect on the %s here: %s", name, kind.value, reason)


def _producer(values: Mapping[str, Any]) -> dict[str, str]:
    compression = values.get("compression.type", "none")
    level = values.get(f"compression.{compression}.level")
    result = {"partitioner": _partitioner(values)}
    if level is not None:
        result["compression.level"] = str(min(level, _MOST_LEVEL[compression]))
    return result


def _partitioner(values: Mapping[str, Any]) -> str:
    if values.get("partitioner.ignore.keys"):
        return _AT_RANDOM
    chosen = values.get("partitioner.class")
    if chosen is not None and chosen not in _PARTITIONERS:
        log.warning(
            "partitioner.class=%s has no effect here: classes of the JVM cannot be called. Keys choose the partitions.",
            chosen,
        )
    return _PARTITIONERS.get(chosen, _BY_KEY) if chosen is not None else _BY_KEY


def _consumer(values: Mapping[str, Any]) -> dict[str, str]:
    name = "partition.assignment.strategy"
    return {name: ",".join(assignors(values[name]))} if values.get(name) else {}


def assignors(names: Iterable[str]) -> list[str]:
    """Return librdkafka's names of Java's assignors.

    As in Java the first decides how members give partitions up; librdkafka accepts no others with it.

    Raises:
        ConfigError: the assignor is not available here.
    """
    found = [_assignor(name) for name in names]
    return [one for one in found if (one == COOPERATIVE) == (found[0] == COOPERATIVE)]


def _assignor(name: str) -> str:
    short = name.removeprefix("class ").removeprefix(_ASSIGNOR_PACKAGE)
    if short in _ASSIGNORS.values():
        return short
    if short not in _ASSIGNORS:
        allowed = ", ".join(_ASSIGNOR_PACKAGE + one for one in _ASSIGNORS)
        raise ConfigError.invalid("partition.assignment.strategy", name, f"It must be one of: {allowed}")
    return _ASSIGNORS[short]


def _admin(values: Mapping[str, Any]) -> dict[str, str]:
    return {}


_OWN = {ClientKind.PRODUCER: _producer, ClientKind.CONSUMER: _consumer, ClientKind.ADMIN: _admin}
