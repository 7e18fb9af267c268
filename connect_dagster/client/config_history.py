"""The configurations that connectors have had, as far as compaction has left their records in the config topic.

Compaction keeps the last record of each key, and leaves the newest segment alone: by default those of the last days
(``segment.ms``) are all there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.topic_reading import content_bytes, read_topic
from connect_dagster.protocol.config_state import ConfigTable, ConnectorRemoved, ConnectorUpdated

ConfigRecord = tuple[bytes | None, bytes | None, int, int]
"""Key, value, offset and timestamp, in epoch milliseconds, of a record of the config topic."""


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """One configuration of a connector, or its deletion.

    Attributes:
        number: The offset of its record, which stays the same when compaction removes records before it.
        timestamp: When it was written, in epoch milliseconds.
        config: The configuration as the user wrote it; None for a deletion.
    """

    number: int
    timestamp: int
    config: Mapping[str, str | None] | None

    @property
    def connector_class(self) -> str:
        """Class of the connector, as it was configured."""
        return (self.config or {}).get("connector.class") or ""


def config_versions(records: Iterable[ConfigRecord]) -> dict[str, list[ConfigVersion]]:
    """Return the versions of each connector by its name, the oldest first.

    Args:
        records: Those of the config topic, in its order; invalid ones are skipped, as workers do.
    """
    table, found = ConfigTable(), dict[str, list[ConfigVersion]]()
    for key, value, offset, timestamp in records:
        for event in table.apply(None if key is None else key.decode(errors="replace"), value, offset).events:
            if isinstance(event, ConnectorUpdated | ConnectorRemoved):
                version = ConfigVersion(offset, timestamp, table.connector_config(event.connector))
                found.setdefault(event.connector, []).append(version)
    return found


def read_config_versions(bootstrap: Bootstrap, topic: str, timeout: float) -> dict[str, list[ConfigVersion]]:
    """Return the versions of each connector of a config topic.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        topic: Its name (``config.storage.topic``).
        timeout: How long nothing may come before its end, in seconds.

    Raises:
        MissingTopicError: The topic does not exist, or may not be described.
        BrokersError: The brokers refuse, or nothing arrives in time.
    """
    return config_versions(_records(bootstrap, topic, timeout))


def version_before(versions: Sequence[ConfigVersion]) -> ConfigVersion | None:
    """Return the last configuration that is not the current one; None when none is left.

    Args:
        versions: Those of one connector, of which the last is current.
    """
    current = versions[-1].config
    earlier = (one for one in reversed(versions) if one.config is not None and one.config != current)
    return next(earlier, None)


def _records(bootstrap: Bootstrap, topic: str, timeout: float) -> Iterator[ConfigRecord]:
    for message in read_topic(bootstrap, topic, timeout):
        offset = message.offset()
        assert offset is not None
        yield content_bytes(message.key()), content_bytes(message.value()), offset, message.timestamp()[1]
