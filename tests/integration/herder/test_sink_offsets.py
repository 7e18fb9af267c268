"""Offsets of a sink that are altered one by one, in the group of a real broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from connect_dagster.errors import ConnectError
from connect_dagster.herder.connector_offsets import OffsetEditor, shown
from connect_dagster.herder.interface import ConnectorInfo, ConnectorOffset, ConnectorType
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin import records
from connect_dagster.storage.file_offset_store import FileOffsetStore
from tests.conftest import Broker

SECONDS = 20


class Group:
    """A sink's group, with offsets of a topic that has three partitions."""

    def __init__(self, broker: Broker, name: str, folder: Path) -> None:
        self.servers = {"bootstrap.servers": broker.bootstrap_servers}
        self.topic = f"{name}t"
        admin = AdminClient({**self.servers})
        admin.create_topics([NewTopic(self.topic, 3, 1)])[self.topic].result(SECONDS)
        config = {"name": name, "connector.class": "FileStreamSink", "topics": self.topic}
        self.info = ConnectorInfo(name, config, (), ConnectorType.SINK)
        self.editor = OffsetEditor(Plugins(), FileOffsetStore(folder / "offsets"), lambda _: self.servers, SECONDS)

    def consumer(self) -> Consumer:
        return Consumer({**self.servers, "group.id": f"connect-{self.info.name}"})

    def commit(self, *offsets: int) -> None:
        consumer = self.consumer()
        places = [TopicPartition(self.topic, number, offset, "kept") for number, offset in enumerate(offsets)]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def committed(self) -> dict[int, tuple[int, str | None]]:
        consumer = self.consumer()
        found = consumer.committed([TopicPartition(self.topic, number) for number in range(3)], SECONDS)
        consumer.close()
        return {one.partition: (one.offset, one.metadata) for one in found if one.offset >= 0}

    def alter(self, offsets: Mapping[int, int | None], topic: str | None = None) -> str:
        return self.editor.alter(
            self.info, [self._altered(topic, number, offset) for number, offset in offsets.items()]
        )

    def _altered(self, topic: str | None, number: int, offset: int | None) -> ConnectorOffset:
        one = shown(records.TopicPartition(topic or self.topic, number), offset or 0)
        return one if offset is not None else ConnectorOffset(one.partition, None)


@pytest.fixture
def group(broker: Broker, topic_prefix: str, tmp_path: Path) -> Group:
    return Group(broker, topic_prefix, tmp_path)


def test_r6_a_reset_of_one_partition_leaves_the_others_alone(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """At ce718d3 the group was deleted and the rest written again: a crash in between lost all."""
    monkeypatch.delattr(AdminClient, "delete_consumer_groups")
    group.commit(5, 6, 7)
    group.alter({0: None, 1: 60})
    assert group.committed() == {1: (60, None), 2: (7, "kept")}


def test_a_partition_without_an_offset_and_a_group_that_does_not_exist(group: Group) -> None:
    group.alter({0: None})
    group.commit(5)
    group.alter({1: None})
    assert group.committed() == {0: (5, "kept")}


@pytest.mark.parametrize("offsets", [{0: None}, {0: 3}, {0: 3, 1: 4}, {0: None, 1: 4}])
def test_a_group_with_members_is_left_alone(group: Group, offsets: dict[int, int | None]) -> None:
    """An alteration failed in other words, after which clients do not try again: the brokers refuse each partition."""
    group.commit(5, 6)
    member = group.consumer()
    member.subscribe([group.topic])
    while not member.assignment():
        member.poll(0.1)
    with pytest.raises(ConnectError, match="either because its tasks haven't stopped completely yet"):
        group.alter(offsets)
    member.close()
    assert group.committed() == {0: (5, "kept"), 1: (6, "kept")}
