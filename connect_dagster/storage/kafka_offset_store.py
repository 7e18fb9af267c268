"""Offsets of a group's source connectors in its offset topic (Java: ``KafkaOffsetBackingStore``).

Offsets of a save are visible after they were read back. A failed save leaves no entry that a later one would send,
possibly after the task moved to another worker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.partitioner import partition_of
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.plugin.config import under_prefix
from connect_dagster.storage.internal_topics import InternalTopic, ensure_internal_topic
from connect_dagster.storage.offset_store import ConnectorOffsets, Offset, OffsetTable, Partition, SourceOffsets
from connect_dagster.storage.shared_stores import SharedStores
from connect_dagster.storage.topic_log import (
    READ_COMMITTED,
    Entry,
    Headers,
    OpenLog,
    TopicLog,
    TopicMissingError,
    always,
)

log = logging.getLogger(__name__)

OWN_TOPIC = "offsets.storage.topic"
_READ_SECONDS = 60.0
_COMMITTED = ("isolation.level", READ_COMMITTED)


@dataclass(frozen=True, slots=True)
class SeparateOffsets(SourceOffsets):
    """Offsets of a connector in a separate topic, and in the group's as well (``SourceOffsets``).

    Attributes:
        store: of the separate topic, which connectors with the same topic and access share.
        own: the offsets there, which have precedence.
        shared: the offsets in the group's topic.
        release: ends the use of the store.
    """

    store: KafkaOffsetStore
    own: ConnectorOffsets
    shared: ConnectorOffsets
    release: Callable[[], None]

    def offset(self, partition: Partition) -> dict[str, Any] | None:
        """Return the offset of a partition, ``None`` when neither topic has one."""
        found = self.own.offset(partition)
        return self.shared.offset(partition) if found is None else found

    def all(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions of both topics with their offsets."""
        own = self.own.all()
        known = [partition for partition, _ in own]
        return own + [(partition, offset) for partition, offset in self.shared.all() if partition not in known]

    def save(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets in both topics; deletions first in the group's, so that they are not found there again.

        Raises:
            DataError: a value is none that offsets may hold; nothing is written.
            ConnectError: the connector's topic could not be written.
        """
        self.store.entries(self.own.connector, offsets)
        self.delete_copies(offsets)
        self.own.save(offsets)
        self.copy(offsets)

    def delete_copies(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Delete those offsets in the group's topic that are ``None``."""
        if gone := [(partition, offset) for partition, offset in offsets if offset is None]:
            self.shared.save(gone)

    def copy(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set the others there as well, as far as it can be written."""
        try:
            if kept := [(partition, offset) for partition, offset in offsets if offset is not None]:
                self.shared.save(kept)
        except ConnectError as error:
            log.warning("Offsets are in the connector's own topic, but not in the group's: %s", error)

    def close(self) -> None:
        """End the use of the separate topic."""
        self.release()


@dataclass(frozen=True, slots=True)
class TransactionalOffsets:
    """Offsets of a connector that its tasks write in their own transactions (KIP-618).

    Attributes:
        connector: its name.
        primary: the store whose topic the tasks write to.
        reader: the offsets, with those of the group's topic where the connector has a separate one.
    """

    connector: str
    primary: KafkaOffsetStore
    reader: SourceOffsets

    @property
    def topic(self) -> str:
        """Return the topic that the tasks write to."""
        return self.primary.topic

    def records(self, changes: Sequence[tuple[Partition, Offset | None]]) -> pa.Table:
        """Return the records that set offsets, ``None`` to delete one; a deletion takes place in the copy at once.

        Returns:
            Columns ``key`` and ``value`` (binary), and ``partition`` (int), which no partitioner of a connector may
            choose: a compacted topic has all records of a key in one.

        Raises:
            DataError: a value is none that offsets may hold.
            ConnectError: the copy cannot be written.
        """
        entries = self.primary.entries(self.connector, changes)
        if isinstance(self.reader, SeparateOffsets):
            self.reader.delete_copies(changes)
        count = len(self.primary.partitions)
        return pa.table(
            {
                "key": pa.array([key for key, _ in entries], pa.binary()),
                "value": pa.array([value for _, value in entries], pa.binary()),
                "partition": pa.array([partition_of(key, count) for key, _ in entries], pa.int32()),
            }
        )

    def close(self) -> None:
        """Close all that was opened for these offsets alone."""
        self.reader.close()

    def committed(self, changes: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets that are committed in the copy as well, as far as it can be written."""
        if isinstance(self.reader, SeparateOffsets):
            self.reader.copy(changes)


@dataclass(frozen=True, slots=True)
class _Place:
    """A topic of connectors' offsets, and the access to it.

    Attributes:
        topic: its name.
        settings: of the clients that read and write it.
        admin: of the admin client.
    """

    topic: str
    settings: frozenset[tuple[str, str]]
    admin: frozenset[tuple[str, str]]


class KafkaOffsetStore:
    """All offsets of a group; any thread may call it.

    Args:
        topic: made by :meth:`start` where it does not exist.
        settings: settings of the worker's own Kafka clients in Java's names; ``offsets`` is added to ``client.id``.
        admin: asks about topics.
        save_seconds: how long the brokers may take to acknowledge a save (``offset.flush.timeout.ms``).
        permitted: whether this worker may write now.
        open_log: makes the log of the topic.
        open_admin: makes the admin client of a connector's separate topic.
    """

    def __init__(
        self,
        topic: InternalTopic,
        settings: Settings,
        admin: TopicAdmin,
        save_seconds: float,
        permitted: Callable[[], bool] = always,
        open_log: OpenLog = TopicLog,
        open_admin: Callable[[Settings], TopicAdmin] = TopicAdmin,
    ) -> None:
        self._topic = topic
        self._settings = settings
        self._admin = admin
        self._save_seconds = save_seconds
        self._permitted = permitted
        self._open_log = open_log
        self._open_admin = open_admin
        self._separate: SharedStores[_Place, KafkaOffsetStore] = SharedStores(self._open_separate)
        self._table = OffsetTable()
        self._lock = threading.Lock()
        # An offset of an aborted transaction is one of records that do not exist (Java: exactly.once.source.support).
        own = {"isolation.level": READ_COMMITTED, **settings, "client.id": settings["client.id"] + "offsets"}
        self._log = open_log(topic.name, own, admin, self._take, permitted)

    def start(self) -> None:
        """Read the whole topic.

        Raises:
            ConfigError: it is not compacted.
            ConnectError: it cannot be made or read.
        """
        log.info("Starting KafkaOffsetBackingStore")
        ensure_internal_topic(self._admin, self._topic)
        self._log.start()
        log.info("Finished reading offsets topic and starting KafkaOffsetBackingStore")

    def stop(self) -> None:
        """Stop reading and writing."""
        self._log.stop()
        log.info("Stopped KafkaOffsetBackingStore")

    def read_to_end(self, timeout: float) -> None:
        """Read up to the topic's current end. Raises TimeoutError when it takes longer than the timeout."""
        self._log.read_to_end(timeout)

    def open(self, connector: str, config: Mapping[str, str]) -> SourceOffsets:
        """Return the offsets of one connector: up to the topic's current end, and later ones as they are read.

        A connector may name a separate topic, ``offsets.storage.topic``, also on other brokers. Its offsets then have
        precedence; this topic is a copy, and has those that are not there yet (Java: ``ConnectorOffsetBackingStore``).

        Raises:
            ConfigError: the connector's topic is not compacted.
            ConnectError: a topic cannot be read to its end.
        """
        self.catch_up()
        shared = ConnectorOffsets(self, connector)
        overrides = {**under_prefix(config, "consumer.override."), **under_prefix(config, "producer.override.")}
        topic = config.get(OWN_TOPIC) or self._topic.name
        settings = {**self._settings, **overrides, "client.id": f"connector-offset-{topic}-"} | self._required()
        if topic == self._topic.name and settings["bootstrap.servers"] == self._settings["bootstrap.servers"]:
            return shared
        admin = {**self._settings, **under_prefix(config, "admin.override."), **overrides}
        own, release = self._separate.acquire(_Place(topic, frozenset(settings.items()), frozenset(admin.items())))
        try:
            own.catch_up_or_create()
        except BaseException:
            release()
            raise
        return SeparateOffsets(own, ConnectorOffsets(own, connector), shared, release)

    def _required(self) -> dict[str, str]:
        """Return the settings that a connector cannot override (Java: ``ConnectUtils.ensureProperty``)."""
        return {name: value for name, value in self._settings.items() if (name, value) == _COMMITTED}

    def _open_separate(self, place: _Place) -> KafkaOffsetStore:
        topic, admin = replace(self._topic, name=place.topic, setting=OWN_TOPIC), self._open_admin(dict(place.admin))
        settings, seconds = dict(place.settings), self._save_seconds
        store = KafkaOffsetStore(topic, settings, admin, seconds, self._permitted, self._open_log)
        store.start()
        return store

    def open_transactional(self, connector: str, config: Mapping[str, str]) -> TransactionalOffsets:
        """Return the offsets of one connector for tasks that write them in transactions.

        Waits for transactions of other connectors that are open now, which hide later ones; in the group's topic they
        hide copies. Raises as :meth:`open`.
        """
        found = self.open(connector, config)
        primary = found.store if isinstance(found, SeparateOffsets) else self
        try:
            for store in {self, primary}:
                store.pass_transactions()
        except ConnectError:
            found.close()
            raise
        return TransactionalOffsets(connector, primary, found)

    def pass_transactions(self) -> None:
        """Read up to the topic's current end, behind transactions that are open now.

        Raises:
            ConnectError: one stays open for too long.
        """
        try:
            self._log.read_to_end(_READ_SECONDS, past_transactions=True)
        except TimeoutError as error:
            raise ConnectError(
                f"Failed to fetch offsets: {error}. A transaction of another producer may hang in the topic: Kafka's "
                "kafka-transactions.sh finds and aborts it"
            ) from error

    @property
    def topic(self) -> str:
        """Return the name of the topic."""
        return self._topic.name

    @property
    def partitions(self) -> list[int]:
        """Return the numbers of the topic's partitions."""
        return self._log.partitions

    def entries(self, connector: str, changes: Sequence[tuple[Partition, Offset | None]]) -> list[Entry]:
        """Return the keys and values that set offsets of partitions, ``None`` to delete one.

        Raises:
            DataError: a value is none that offsets may hold.
        """
        with self._lock:
            return list(self._table.changes(connector, changes).items())

    def offset(self, connector: str, partition: Partition) -> dict[str, Any] | None:
        """Return the offset of a partition as far as the topic was read, ``None`` without one.

        Raises:
            DataError: the stored offset is not a JSON object.
        """
        with self._lock:
            return self._table.offset(connector, partition)

    def offsets_of(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return partitions of a connector with their offsets, up to the topic's current end.

        Raises:
            DataError: a stored offset is not a JSON object.
            ConnectError: the topic cannot be read to its end.
        """
        self.catch_up()
        with self._lock:
            return self._table.offsets_of(connector)

    def save(self, connector: str, changes: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets of partitions, ``None`` to delete one, and wait until the brokers have them.

        Raises:
            DataError: a value is none that offsets may hold; nothing is written.
            NotPermittedError: this worker may not write now.
            ConnectError: the brokers did not acknowledge all of it in time; the rest must be written again.
        """
        try:
            self._log.append(self.entries(connector, changes), self._save_seconds)
        except TimeoutError as error:
            raise ConnectError(f"Failed to flush offsets to storage: {error}") from error

    def catch_up(self) -> None:
        """Read up to the topic's current end. Raises ConnectError."""
        try:
            self._log.read_to_end(_READ_SECONDS)
        except TimeoutError as error:
            raise ConnectError(f"Failed to fetch offsets: {error}") from error

    def catch_up_or_create(self) -> None:
        """Read up to the topic's current end, and create a topic again that somebody has deleted.

        Raises:
            ConnectError: it cannot be made or read.
        """
        try:
            self.catch_up()
        except TopicMissingError:
            ensure_internal_topic(self._admin, self._topic)
            self.catch_up()

    def _take(
        self, key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        with self._lock:
            known = key is not None and self._table.put(key, value)
        if not known:
            log.warning("Ignoring offset partition key with an unexpected format: %r", key)
