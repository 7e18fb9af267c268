"""Reading and editing committed offsets (KIP-875): of sources in the offset store, of sinks in their consumer group.

Java: ``Worker.modifyConnectorOffsets`` and ``SinkUtils``. Independent of states: the herder asks only for a
connector whose offsets may be changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from connect_dagster.errors import BadRequestError, ConnectError, java_text
from connect_dagster.expressions.java_patterns import matching
from connect_dagster.herder.interface import ConnectorInfo, ConnectorOffset, ConnectorType
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka import clients
from connect_dagster.kafka.groups import delete_group_offsets
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.connector import Connector, SinkConnector, SourceConnector
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.storage.offset_json import key_bytes, value_bytes
from connect_dagster.storage.offset_store import Offset, OffsetStore, Partition
from connect_dagster.worker.config.sink import SinkConnectorConfig

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
SaveOffsets = Callable[[str, Mapping[str, str], Sequence[tuple[Partition, Offset | None]]], None]
"""Takes a connector's name and configuration, and source partitions with their offsets, ``None`` to delete one."""
_INTEGER = re.compile(r"[+-]?\d+")
_GONE = frozenset({KafkaError.GROUP_ID_NOT_FOUND})
# Messages of these clients reach the user as the error of the request.
_QUIET = {"log_level": 0}
_ZOMBIES = frozenset({KafkaError.NON_EMPTY_GROUP, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.GROUP_SUBSCRIBED_TO_TOPIC})


class OffsetEditor:
    """Offsets of connectors of both directions.

    Args:
        plugins: to ask a connector whether altered offsets are right.
        store: offsets of sources.
        settings: settings of an admin client for a connector's group, in Java's names, by its configuration.
        seconds: how long the brokers may take.
        transformer: for placeholders in a connector's configuration.
        save: sets offsets of a source; by default in its store, without a transaction.
    """

    def __init__(
        self,
        plugins: Plugins,
        store: OffsetStore,
        settings: Callable[[Mapping[str, str]], Settings],
        seconds: float,
        transformer: ConfigTransformer | None = None,
        save: SaveOffsets | None = None,
    ) -> None:
        self._save = save or self._save_plainly
        self._plugins = plugins
        self._store = store
        self._settings = settings
        self._seconds = seconds
        self._transformer = transformer or ConfigTransformer({})

    def read(self, info: ConnectorInfo) -> list[ConnectorOffset]:
        """Return the committed offsets. Raises ConnectError when the brokers do not respond."""
        return self._read(self._transformed(info))

    def _transformed(self, info: ConnectorInfo) -> ConnectorInfo:
        return replace(info, config=self._transformer.transform(info.config).config)

    def _read(self, info: ConnectorInfo) -> list[ConnectorOffset]:
        if info.type is ConnectorType.SINK:
            found = sorted(self._group_offsets(info).items(), key=lambda pair: str(pair[0]))
            return [shown(place, offset) for place, offset in found]
        with closing(self._store.open(info.name, info.config)) as stored:
            return [ConnectorOffset(partition, offset) for partition, offset in stored.all()]

    def alter(self, info: ConnectorInfo, offsets: Sequence[ConnectorOffset]) -> str:
        """Write offsets; one that is ``None`` is reset.

        Raises:
            BadRequestError: nothing to write, or an offset that cannot be one.
            ConnectError: the connector refuses them, or the group has members.
        """
        if not offsets:
            raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
        return _sentence("altered", self._modify(self._transformed(info), offsets))

    def reset(self, info: ConnectorInfo) -> str:
        """Forget all offsets. Raises ConnectError as :meth:`alter`."""
        info = self._transformed(info)
        connector = self._connector(info)
        if isinstance(connector, SinkConnector):
            agrees = connector.alter_offsets(info.config, dict.fromkeys(self._read_partitions(info)))
            self._delete_group(info)
        else:
            agrees = self._write_source(connector, info, [replace(one, offset=None) for one in self._read(info)])
        return _sentence("reset", agrees)

    def _modify(self, info: ConnectorInfo, offsets: Sequence[ConnectorOffset]) -> bool:
        connector = self._connector(info)
        if isinstance(connector, SinkConnector):
            wanted = parse_sink_offsets(offsets)
            if any(offset is not None and offset < 0 for offset in wanted.values()):  # before the connector takes it
                raise ConnectError(f"Failed to modify offsets for sink connector {info.name}")
            agrees = connector.alter_offsets(info.config, wanted)
            self._write_group(info, wanted)
            return agrees
        return self._write_source(connector, info, offsets)

    def _connector(self, info: ConnectorInfo) -> Connector:
        return self._plugins.connector(info.config["connector.class"]).plugin()

    def _write_source(self, connector: Connector, info: ConnectorInfo, offsets: Sequence[ConnectorOffset]) -> bool:
        assert isinstance(connector, SourceConnector)
        for one in offsets:
            _check_primitive(info.name, one)
        agrees = connector.alter_offsets(info.config, [(one.partition, one.offset) for one in offsets])
        for one in offsets:
            if one.partition is None:
                raise BadRequestError("Partition objects cannot be null")
        self._save(info.name, info.config, [(one.partition or {}, one.offset) for one in offsets])
        return agrees

    def _save_plainly(
        self, name: str, config: Mapping[str, str], changes: Sequence[tuple[Partition, Offset | None]]
    ) -> None:
        with closing(self._store.open(name, config)) as stored:
            stored.save(changes)

    # Consumer groups

    def _admin(self, info: ConnectorInfo) -> AdminClient:
        return clients.admin(self._settings(info.config), _QUIET)

    def _group_offsets(self, info: ConnectorInfo) -> dict[TopicPartition, int]:
        return {place: offset for place, offset in self._all_offsets(info).items() if offset >= 0}

    def _read_partitions(self, info: ConnectorInfo) -> list[TopicPartition]:
        """Return the partitions of the connector's topics: it may keep separate offsets where the group has none."""
        found = self._all_offsets(info)
        config = SinkConnectorConfig.parse(info.config)
        topics = {*config.topics, *(place.topic for place, offset in found.items() if offset >= 0)}
        if config.topics_regex:
            topics.update(matching("topics.regex", config.topics_regex, {place.topic for place in found}))
        return [place for place in found if place.topic in topics]

    def _all_offsets(self, info: ConnectorInfo) -> dict[TopicPartition, int]:
        """Of all partitions there are, below 0 where the group has none.

        Asked for as a member would, which never joins: with librdkafka 2.16 the admin client's own request kills the
        process when the group's coordinator is not ready.
        """
        own = {**_QUIET, "group.id": _group(info), "enable.auto.commit": False}
        consumer = clients.consumer(self._settings(info.config), own)
        try:
            topics = consumer.list_topics(timeout=self._seconds).topics
            asked = [KafkaPartition(name, number) for name, topic in topics.items() for number in topic.partitions]
            found = consumer.committed(asked, timeout=self._seconds) if asked else []
        except KafkaException as error:
            raise _failed(info, "retrieve", error) from error
        finally:
            consumer.close()
        return {TopicPartition(one.topic, one.partition): one.offset for one in found}

    def _write_group(self, info: ConnectorInfo, offsets: Mapping[TopicPartition, int | None]) -> None:
        written = [
            KafkaPartition(place.topic, place.partition, offset)
            for place, offset in offsets.items()
            if offset is not None
        ]
        dropped = [(place.topic, place.partition) for place, offset in offsets.items() if offset is None]
        try:
            if written:
                self._commit(info, written)
            if dropped:
                self._drop(info, dropped)
        except KafkaException as error:
            raise _failed(info, "alter", error) from error

    def _commit(self, info: ConnectorInfo, written: list[KafkaPartition]) -> None:
        group, text = _group(info), f"Failed to alter consumer group offsets for connector {info.name}"
        admin = self._admin(info)  # answers nothing once it is collected
        try:
            request = [ConsumerGroupTopicPartitions(group, written)]
            answer = admin.alter_consumer_group_offsets(request, request_timeout=self._seconds)
        except ValueError as error:  # a partition that no topic can have
            raise ConnectError(text) from error
        for one in answer[group].result(self._seconds).topic_partitions or ():
            if one.error is None:
                continue
            if one.error.code() in _ZOMBIES:
                raise KafkaException(one.error)
            # The user gets Java's words; why is in the log, with the request's stack.
            raise ConnectError(text) from KafkaException(one.error)

    def _drop(self, info: ConnectorInfo, dropped: list[tuple[str, int]]) -> None:
        try:
            delete_group_offsets(self._settings(info.config), _group(info), dropped, self._seconds)
        except KafkaException as error:
            if error.args[0].code() not in _GONE:
                raise

    def _delete_group(self, info: ConnectorInfo) -> None:
        admin = self._admin(info)
        futures = admin.delete_consumer_groups([_group(info)], request_timeout=self._seconds)
        try:
            futures[_group(info)].result(self._seconds)
        except KafkaException as error:
            if error.args[0].code() not in _GONE:
                raise _failed(info, "reset", error) from error


def _check_primitive(connector: str, offset: ConnectorOffset) -> None:
    """Refuse what cannot be stored, before a connector is asked about it. Raises DataError."""
    if offset.partition is not None:
        key_bytes(connector, offset.partition)
    if offset.offset is not None:
        value_bytes(offset.offset)


def _group(info: ConnectorInfo) -> str:
    return info.config.get("consumer.override.group.id") or f"connect-{info.name}"


def _failed(info: ConnectorInfo, what: str, error: KafkaException) -> ConnectError:
    """The error of ``alter``, ``reset`` or ``read``, which names the tasks that may still be members of the group."""
    text = f"Failed to {what} consumer group offsets for connector {info.name}"
    if error.args[0].code() not in _ZOMBIES:
        return ConnectError(f"{text}: {error.args[0].str()}")
    return ConnectError(
        f"{text} either because its tasks haven't stopped completely yet or the connector was resumed before the "
        f"request to {what} its offsets could be successfully completed. If the connector is in a stopped state, this "
        "operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may need to be "
        "restarted to get rid of the zombie sink tasks."
    )


def _sentence(done: str, connector_agrees: bool) -> str:
    if connector_agrees:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the "
        "connector uses."
    )


def shown(place: TopicPartition, offset: int) -> ConnectorOffset:
    """Return a sink's offset as users read it."""
    return ConnectorOffset({PARTITION: place.partition, TOPIC: place.topic}, {OFFSET: offset})


def parse_sink_offsets(offsets: Iterable[ConnectorOffset]) -> dict[TopicPartition, int | None]:
    """Return a sink's offsets by topic partition, ``None`` for those to be reset.

    Java: ``SinkUtils.parseSinkConnectorOffsets``.

    Raises:
        BadRequestError: one is not an offset, in Java's words.
    """
    return {_place(one.partition): _offset(one.offset) for one in offsets}


def _place(partition: Mapping[str, Any] | None) -> TopicPartition:
    if partition is None:
        raise BadRequestError("The partition for a sink connector offset cannot be null or missing")
    if TOPIC not in partition or PARTITION not in partition:
        raise BadRequestError(
            f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
        )
    if partition[TOPIC] is None:
        raise BadRequestError("Kafka topic names must be valid strings and may not be null")
    if partition[PARTITION] is None:
        raise BadRequestError("Kafka partitions must be valid numbers and may not be null")
    return TopicPartition(java_text(partition[TOPIC]), _integer("partition", "Partition", partition[PARTITION], 32))


def _offset(offset: Mapping[str, Any] | None) -> int | None:
    if offset is None:
        return None
    if OFFSET not in offset:
        raise BadRequestError(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    return _integer("offset", "Offset", offset[OFFSET], 64)


def _integer(word: str, capital: str, value: Any, bits: int) -> int:
    """Return a number, given as such or as its text."""
    text, limit = java_text(value), 1 << (bits - 1)
    if _INTEGER.fullmatch(text) and -limit <= int(text) < limit:
        return int(text)
    raise BadRequestError(
        f"Failed to parse the following Kafka {word} value in the provided offsets: '{text}'. {capital} values for "
        "sink connectors need to be integers."
    )
