"""Configurations, target states and requests of a group of workers, in its config topic.

Java: ``KafkaConfigBackingStore``. Only the group's leader writes connectors, tasks, session keys and restarts; any
worker writes target states and logger levels. Every worker reads all records. The store checks only whether this
worker may write at all, not whether it leads.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol import config_records as records
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.config_state import ClusterConfigState, ConfigTable, Event
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.storage.fencable_writer import FencableWriter
from connect_dagster.storage.internal_topics import InternalTopic, ensure_internal_topic
from connect_dagster.storage.topic_log import READ_COMMITTED, Entry, Headers, OpenLog, Send, TopicLog, always

log = logging.getLogger(__name__)

_WRITE_SECONDS = 30.0


class ConfigStore:
    """The config topic, read and written; any thread may call it.

    Every ``put`` and ``remove`` returns when the brokers have its records and this store has read them.

    Args:
        topic: made by :meth:`start` where it does not exist.
        settings: settings of the worker's own Kafka clients in Java's names; ``configs`` is added to ``client.id``.
        admin: asks about topics.
        listener: called on the store's reading thread with changes that were written after :meth:`start`.
        permitted: whether this worker may write now.
        open_log: makes the log of the topic.
        fencing_id: transactional id of the group's leaders; ``None`` where a leader writes without transactions.
    """

    def __init__(
        self,
        topic: InternalTopic,
        settings: Settings,
        admin: TopicAdmin,
        listener: Callable[[Event], None],
        permitted: Callable[[], bool] = always,
        open_log: OpenLog = TopicLog,
        fencing_id: str | None = None,
    ) -> None:
        self._topic = topic
        self._permitted = permitted
        self._admin = admin
        self._listener = listener
        self._table = ConfigTable()
        self._lock = threading.Lock()
        self._started = False
        own = {**settings, "client.id": settings["client.id"] + "configs"}
        # Key and offset of the last record, where a leader wrote it after the start.
        self._last_of_leader: tuple[str, int] | None = None
        # A reader of committed records reads one of a transaction only behind the marker, which has an offset as well.
        self._sees_markers = settings.get("isolation.level") == READ_COMMITTED
        self._log = open_log(topic.name, own, admin, self._take, permitted)
        self._leaders = None if fencing_id is None else FencableWriter(topic.name, own, fencing_id)

    def start(self) -> None:
        """Read the whole topic.

        Raises:
            ConfigError: it is not compacted, or has more than one partition.
            ConnectError: it cannot be made or read.
        """
        ensure_internal_topic(self._admin, self._topic)
        self._log.start()
        if (count := len(self._log.partitions)) > 1:
            self._log.stop()
            raise ConfigError(
                f"Topic '{self._topic.name}' supplied via the '{self._topic.setting}' property is required to have a "
                "single partition in order to guarantee consistency of connector configurations, but found "
                f"{count} partitions."
            )
        self._started = True

    def stop(self) -> None:
        """Stop reading and writing."""
        self.relinquish_write_privileges()
        self._log.stop()

    # Privileges of the leader, for the herder's thread

    @property
    def lacks_write_privileges(self) -> bool:
        """Return whether a leader must claim the privilege to write before it does."""
        return self._leaders is not None and not self._leaders.is_claimed

    def claim_write_privileges(self) -> None:
        """Fence other leaders out of the config topic, where leaders write in transactions.

        Raises:
            ConnectError: the brokers did not grant it in time.
        """
        if self._leaders is not None:
            self._leaders.claim()

    def relinquish_write_privileges(self) -> None:
        """Give the privilege up: this worker does not lead any more."""
        if self._leaders is not None:
            self._leaders.relinquish()

    def snapshot(self) -> ClusterConfigState:
        """Return the configuration up to the last record read."""
        with self._lock:
            return self._table.snapshot()

    def contains(self, name: str) -> bool:
        """Return whether the connector exists."""
        with self._lock:
            return self._table.contains(name)

    def refresh(self, timeout_seconds: float) -> None:
        """Read up to the topic's current end.

        Raises:
            TimeoutError: it took longer.
        """
        ends = self._log.read_to_end(timeout_seconds)
        if self._sees_markers and (last := self._last_of_leader) is not None and ends.get(0) == last[1] + 1:
            self._sees_markers = False  # once is enough
            log.warning(
                "A leader of this group has written '%s' to config topic '%s' without a transaction, although this "
                "worker has exactly.once.source.support=enabled: records of a source may come twice when that worker "
                "loses the group. Set exactly.once.source.support to preparing or enabled on all workers of the group",
                last[0],
                self._topic.name,
            )

    def put_connector(self, name: str, config: Mapping[str, str | None], target: TargetState | None = None) -> None:
        """Create a connector or change its configuration.

        Args:
            name: the connector.
            config: its configuration as the user wrote it.
            target: the state it starts in; ``None`` leaves it as it is, STARTED for a new one.

        Raises:
            NotPermittedError: this worker may not write now.
            ConnectError: the brokers did not acknowledge it in time.
        """
        state = [_target_state(name, target)] if target is not None else []
        connector = records.connector_key(name).encode(), records.properties_value(config)
        self._write_as_leader("connector configuration", [*state, connector])

    def remove_connector(self, name: str) -> None:
        """Delete a connector; records of its tasks stay, without effect. Raises as :meth:`put_connector`."""
        gone = [(key.encode(), None) for key in (records.connector_key(name), records.target_state_key(name))]
        self._write_as_leader("connector configuration", gone)

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str | None]]) -> None:
        """Replace a connector's tasks, none when the list is empty. Raises as :meth:`put_connector`."""
        deadline = time.monotonic() + _WRITE_SECONDS
        try:
            self._log.read_to_end(_WRITE_SECONDS)
        except TimeoutError as error:
            raise ConnectError("Error writing root configuration to Kafka") from error
        if configs:
            tasks = [_task(TaskId(name, number), config) for number, config in enumerate(configs)]
            self._write_as_leader("task configurations", tasks, deadline)
        # Only now, so that a commit never follows half of its tasks.
        commit = records.commit_key(name).encode(), records.commit_value(len(configs))
        self._write_as_leader("root configuration", [commit], deadline)

    def put_target_state(self, name: str, state: TargetState) -> None:
        """Pause, resume or stop a connector. Raises as :meth:`put_connector`."""
        self._write("target state", [_target_state(name, state)])

    def put_task_count_record(self, name: str, tasks: int) -> None:
        """Record that producers of a connector's former tasks are fenced out. Raises as :meth:`put_connector`."""
        self._write_as_leader("task count record", [(records.fencing_key(name).encode(), records.fencing_value(tasks))])

    def put_session_key(self, key: SessionKey) -> None:
        """Distribute a key for requests between workers. Raises as :meth:`put_connector`."""
        self._write_as_leader("session key", [(records.SESSION_KEY.encode(), records.session_key_value(key))])

    def put_restart_request(self, connector: str, only_failed: bool, include_tasks: bool) -> None:
        """Request a restart of a connector's parts on all workers. Raises as :meth:`put_connector`."""
        request = records.restart_key(connector).encode(), records.restart_value(only_failed, include_tasks)
        self._write_as_leader("restart request", [request])

    def put_logger_level(self, namespace: str, level: str) -> None:
        """Set a logger's level on all workers. Raises as :meth:`put_connector`."""
        self._write("logger level", [(records.logger_key(namespace).encode(), records.logger_value(level))])

    def _write_as_leader(self, what: str, entries: Sequence[Entry], deadline: float | None = None) -> None:
        self._write(what, entries, deadline, None if self._leaders is None else self._leaders.write)

    def _write(
        self, what: str, entries: Sequence[Entry], deadline: float | None = None, send: Send | None = None
    ) -> None:
        try:
            self._log.write(entries, _WRITE_SECONDS if deadline is None else deadline - time.monotonic(), send)
        except TimeoutError as error:
            raise ConnectError(f"Error writing {what} to Kafka: {error}") from error

    def _take(
        self, key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        text = None if key is None else key.decode(errors="replace")
        with self._lock:
            applied = self._table.apply(text, value, offset)
        if applied.problem is not None:
            log.error("Left out in config topic '%s': %s", self._topic.name, applied.problem)
        if self._started:
            self._last_of_leader = (text, offset) if text is not None and records.is_of_leader(text) else None
            for event in applied.events:
                self._listener(event)


def _target_state(name: str, state: TargetState) -> Entry:
    return records.target_state_key(name).encode(), records.target_state_value(state)


def _task(id: TaskId, config: Mapping[str, str | None]) -> Entry:
    """Return a task's record with its properties where Java's map has them."""
    ordered = {name: config[name] for name in hash_map_order(config)}
    return records.task_key(id).encode(), records.properties_value(ordered)
