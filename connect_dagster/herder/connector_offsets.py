"""Reading and editing committed offsets (KIP-875): of sources in the offset store, of sinks in their consumer group.

Java: ``Worker.modifyConnectorOffsets`` and ``SinkUtils``. Knows nothing of states: the herder asks only for a
connector whose offsets may be changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from connect_dagster.herder.interface import ConnectorInfo, ConnectorOffset, ConnectorType
from connect_dagster.plugin.connector import SinkConnector, SourceConnector
from connect_dagster.plugin.errors import BadRequestError, ConnectError
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.offset_file import FileOffsetStore
from connect_dagster.worker.plugins import Plugins

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_GONE = frozenset({KafkaError.GROUP_ID_NOT_FOUND})
_MOVING = frozenset(
    {KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR}
)
_MOVING_SECONDS = 0.1
_ZOMBIES = frozenset({KafkaError.NON_EMPTY_GROUP, KafkaError.UNKNOWN_MEMBER_ID})


class OffsetEditor:
    """Offsets of connectors of both directions.

    Args:
        plugins: to ask a connector whether altered offsets are right.
        store: offsets of sources.
        admin: opens an admin client for a connector's group, by the connector's configuration.
        seconds: how long the brokers may take.
    """

    def __init__(
        self,
        plugins: Plugins,
        store: FileOffsetStore,
        admin: Callable[[Mapping[str, str]], AdminClient],
        seconds: float,
    ) -> None:
        self._plugins = plugins
        self._store = store
        self._admin = admin
        self._seconds = seconds

    def read(self, info: ConnectorInfo) -> list[ConnectorOffset]:
        """Committed offsets. Raises ConnectError when the brokers do not answer."""
        if info.type is ConnectorType.SINK:
            return [
                ConnectorOffset({PARTITION: place.partition, TOPIC: place.topic}, {OFFSET: offset})
                for place, offset in sorted(self._group_offsets(info).items(), key=lambda pair: str(pair[0]))
            ]
        return [ConnectorOffset(partition, offset) for partition, offset in self._store.offsets_of(info.name)]

    def alter(self, info: ConnectorInfo, offsets: Sequence[ConnectorOffset]) -> str:
        """Write offsets; one that is ``None`` is reset.

        Raises:
            BadRequestError: nothing to write, or an offset that cannot be one.
            ConnectError: the connector refuses them, or the group has members.
        """
        if not offsets:
            raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
        return _sentence("altered", self._modify(info, offsets))

    def reset(self, info: ConnectorInfo) -> str:
        """Forget all offsets. Raises ConnectError as :meth:`alter`."""
        known = [ConnectorOffset(one.partition, None) for one in self.read(info)]
        connector_agrees = self._modify(info, known)
        if info.type is ConnectorType.SINK:
            self._delete_group(info)
        return _sentence("reset", connector_agrees)

    def _modify(self, info: ConnectorInfo, offsets: Sequence[ConnectorOffset]) -> bool:
        connector = self._plugins.connector(info.config["connector.class"]).plugin()
        if isinstance(connector, SinkConnector):
            wanted = dict(map(_sink_offset, offsets))
            agrees = connector.alter_offsets(info.config, wanted)
            self._write_group(info, wanted)
            return agrees
        assert isinstance(connector, SourceConnector)
        agrees = connector.alter_offsets(info.config, [(one.partition, one.offset) for one in offsets])
        for one in offsets:
            if one.partition is None:
                raise BadRequestError("Partition objects cannot be null")
        for one in offsets:
            self._store.write(info.name, one.partition or {}, one.offset)
        self._store.save()
        return agrees

    # Consumer groups

    def _group_offsets(self, info: ConnectorInfo) -> dict[TopicPartition, int]:
        request = [ConsumerGroupTopicPartitions(_group(info))]
        # Kept in a variable: the answer never comes once the client is garbage.
        admin = self._admin(info.config)
        try:
            self._await_coordinator(admin, _group(info))
            futures = admin.list_consumer_group_offsets(request, request_timeout=self._seconds)
            found = futures[_group(info)].result()
        except KafkaException as error:
            if error.args[0].code() in _GONE:
                return {}
            raise _failed(info, "retrieve consumer group offsets", error) from error
        return {
            TopicPartition(one.topic, one.partition): one.offset
            for one in found.topic_partitions
            if one.offset != OFFSET_INVALID
        }

    def _await_coordinator(self, admin: AdminClient, group: str) -> None:
        """Wait until the group's coordinator answers.

        A request for offsets that meets a coordinator which is not ready kills the process: librdkafka 2.16 then
        asks a consumer group for help that an admin client does not have.

        Raises:
            KafkaException: it does not get ready in time, or for another reason.
        """
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                admin.describe_consumer_groups([group], request_timeout=self._seconds)[group].result()
            except KafkaException as error:
                code = error.args[0].code()
                if code in _GONE:
                    return
                if code not in _MOVING or time.monotonic() > deadline:
                    raise
                time.sleep(_MOVING_SECONDS)
            else:
                return

    def _write_group(self, info: ConnectorInfo, offsets: Mapping[TopicPartition, int | None]) -> None:
        admin = self._admin(info.config)
        group = _group(info)
        written = [
            KafkaPartition(place.topic, place.partition, offset)
            for place, offset in offsets.items()
            if offset is not None
        ]
        dropped = [KafkaPartition(place.topic, place.partition) for place, offset in offsets.items() if offset is None]
        try:
            if written:
                request = [ConsumerGroupTopicPartitions(group, written)]
                answer = admin.alter_consumer_group_offsets(request, request_timeout=self._seconds)
                answer[group].result(self._seconds)
            if dropped:
                self._drop(admin, info, dropped)
        except KafkaException as error:
            raise _failed(info, "alter consumer group offsets", error) from error

    def _drop(self, admin: AdminClient, info: ConnectorInfo, dropped: list[KafkaPartition]) -> None:
        """This client cannot delete single offsets of a group: the rest is written again after the group is gone."""
        gone = {TopicPartition(one.topic, one.partition) for one in dropped}
        kept = {place: offset for place, offset in self._group_offsets(info).items() if place not in gone}
        self._delete_group(info)
        if kept:
            self._write_group(info, dict(kept))

    def _delete_group(self, info: ConnectorInfo) -> None:
        admin = self._admin(info.config)
        futures = admin.delete_consumer_groups([_group(info)], request_timeout=self._seconds)
        try:
            futures[_group(info)].result(self._seconds)
        except KafkaException as error:
            if error.args[0].code() not in _GONE:
                raise _failed(info, "delete the consumer group", error) from error


def _group(info: ConnectorInfo) -> str:
    return info.config.get("consumer.override.group.id") or f"connect-{info.name}"


def _failed(info: ConnectorInfo, what: str, error: KafkaException) -> ConnectError:
    text = f"Failed to {what} for connector {info.name}: {error.args[0].str()}"
    if error.args[0].code() in _ZOMBIES:
        text += (
            ". If the connector is in a stopped state, this could be because there are zombie sink tasks that have "
            "not shut down within their time: restart the worker and try again"
        )
    return ConnectError(text)


def _sink_offset(one: ConnectorOffset) -> tuple[TopicPartition, int | None]:
    partition = one.partition
    if not partition:
        raise BadRequestError("The partition for a sink connector offset cannot be null or missing")
    if partition.get(TOPIC) is None or partition.get(PARTITION) is None:
        raise BadRequestError(
            f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
        )
    number = _integer(
        partition[PARTITION],
        "Partition values for sink connectors need to be integers but got '{value}'",
    )
    place = TopicPartition(str(partition[TOPIC]), number)
    if one.offset is None:
        return place, None
    if one.offset.get(OFFSET) is None:
        raise BadRequestError(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    return place, _integer(
        one.offset[OFFSET], "Offset values for sink connectors need to be integers but got '{value}'"
    )


def _integer(value: Any, text: str) -> int:
    try:
        return int(str(value))
    except ValueError as error:
        raise BadRequestError(text.format(value=value)) from error


def _sentence(done: str, connector_agrees: bool) -> str:
    if connector_agrees:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the "
        "connector uses."
    )
