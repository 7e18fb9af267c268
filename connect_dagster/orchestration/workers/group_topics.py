"""Content of a group's three topics: configurations, offsets and statuses of its connectors.

Read from the brokers, not from a worker: so also when no worker runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.topic_reading import content_bytes, read_topic
from connect_dagster.protocol.config_state import ConfigTable
from connect_dagster.protocol.offset_records import parse_key, parse_value
from connect_dagster.protocol.states import State, Status
from connect_dagster.protocol.status_records import StatusTable

_OF_WORKERS = "read_uncommitted"
"""How workers read configurations and statuses."""


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """A connector in the config topic.

    Attributes:
        connector: Its name.
        target_state: What a user wants of it: STARTED, PAUSED or STOPPED.
        task_count: How many tasks its configuration was split into.
        config: Its configuration as it was given; may hold secrets, so it is not printed.
        consistent: Whether the topic holds configurations of all tasks; compaction may have removed some.
    """

    connector: str
    target_state: str
    task_count: int
    config: Mapping[str, str | None] = field(repr=False)
    consistent: bool = True


@dataclass(frozen=True, slots=True)
class StoredConfigs:
    """Content of the config topic: connectors by name, and the last offset (-1 when it is empty)."""

    connectors: Mapping[str, StoredConfig]
    offset: int


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """Offset of a source connector in one of its partitions."""

    connector: str
    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredStatus:
    """Status of a connector, or of one of its tasks, as a worker reported it.

    Attributes:
        connector: Its name.
        task: The task's number; None for the connector itself.
        state: RUNNING, FAILED and so on.
        worker_id: Who reported it, ``host:port``.
        generation: Of the group at that time.
        version: The plugin's; None where it is missing.
        trace: Why it FAILED.
    """

    connector: str
    task: int | None
    state: State
    worker_id: str
    generation: int
    version: str | None
    trace: str | None


def read_configs(bootstrap_servers: Bootstrap, topic: str, timeout: float) -> StoredConfigs:
    """Read a config topic to its end.

    Args:
        bootstrap_servers: Brokers, ``host:port``, separated by commas.
        topic: Its name, ``config.storage.topic``.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        BrokersError: No broker responds, or the topic does not exist.
    """
    table = ConfigTable()
    for record in read_topic(bootstrap_servers, topic, timeout, isolation=_OF_WORKERS):
        table.apply(_text(record.key()), content_bytes(record.value()), _offset(record))
    state = table.snapshot()
    return StoredConfigs(
        {
            name: StoredConfig(
                name,
                target.value if (target := state.target_state(name)) else "",
                state.task_count(name),
                state.connector_config(name) or {},
                name not in state.inconsistent_connectors(),
            )
            for name in sorted(state.connectors())
        },
        state.offset,
    )


def read_offsets(bootstrap_servers: Bootstrap, topic: str, timeout: float) -> tuple[StoredOffset, ...]:
    """Read an offset topic (``offset.storage.topic``) to its end; as :func:`read_configs`."""
    latest: dict[bytes, bytes | None] = {}
    for record in read_topic(bootstrap_servers, topic, timeout):
        key = content_bytes(record.key()) or b""
        # The latest of several keys of one partition, in another order of its fields, comes last.
        latest.pop(key, None)
        latest[key] = content_bytes(record.value())
    found: dict[tuple[str, str], StoredOffset] = {}
    for key, value in latest.items():
        if value is not None and (named := parse_key(key)) is not None:
            connector, partition = named
            found[connector, str(sorted(partition.items()))] = StoredOffset(connector, partition, parse_value(value))
    return tuple(found[place] for place in sorted(found))


def read_statuses(bootstrap_servers: Bootstrap, topic: str, timeout: float) -> tuple[StoredStatus, ...]:
    """Read a status topic (``status.storage.topic``) to its end; as :func:`read_configs`."""
    table = StatusTable()
    # Records of one key stand in one partition, in their order.
    for record in read_topic(bootstrap_servers, topic, timeout, isolation=_OF_WORKERS):
        table.apply(_text(record.key()), content_bytes(record.value()))
    found = [_stored(name, None, status) for name, status in table.connectors.items()]
    found += [_stored(name, number, status) for name, tasks in table.tasks.items() for number, status in tasks.items()]
    return tuple(sorted(found, key=lambda status: (status.connector, -1 if status.task is None else status.task)))


def _stored(connector: str, task: int | None, status: Status) -> StoredStatus:
    return StoredStatus(
        connector, task, status.state, status.worker_id, status.generation, status.version, status.trace
    )


def _offset(record: Message) -> int:
    offset = record.offset()
    assert offset is not None  # a record that was read has one
    return offset


def _text(content: str | bytes | None) -> str | None:
    return content.decode(errors="replace") if isinstance(content, bytes) else content
