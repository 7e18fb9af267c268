"""The connector that finds consumer groups, with a source that is away at first."""

import gc
import logging
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mirror.checkpoint.connector import MirrorCheckpointConnector
from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, GroupOffset
from connect_dagster.connectors.mirror.filters import GroupFilter, TopicFilter
from connect_dagster.errors import RetriableError
from connect_dagster.kafka.topic_admin import NewTopic
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.testing.contexts import ConnectorRequests, connector_context


class Admin(ForwardingAdmin):
    """Both clusters: the source has these groups, unless it is away."""

    away: ClassVar[bool] = False
    groups: ClassVar[tuple[str, ...]] = ()
    created: ClassVar[list[str]] = []
    unknown: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, settings: Mapping[str, str]) -> None: ...

    def create_topics(self, topics: Sequence[NewTopic]) -> Errors:
        if self.away:
            return {one.name: KafkaException(KafkaError(KafkaError._TIMED_OUT)) for one in topics}
        self.created.extend(one.name for one in topics)
        return {}

    def consumer_groups(self) -> list[str]:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return list(self.groups)

    def group_offsets(self, groups: Iterable[str]) -> tuple[dict[str, dict[TopicPartition, GroupOffset]], Errors]:
        names = set(groups)
        away = KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
        found = {group: {TopicPartition("orders", 0): GroupOffset(1)} for group in names - self.unknown}
        return found, dict.fromkeys(names & self.unknown, away)

    def close(self) -> None: ...


class Topics(TopicFilter):
    def should_replicate_topic(self, topic: str) -> bool:
        return True


class Groups(GroupFilter):
    def should_replicate_group(self, group: str) -> bool:
        return True


CONFIG = {
    "name": "checkpoint",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "forwarding.admin.class": f"{__name__}.Admin",
    "topic.filter.class": f"{__name__}.Topics",
    "group.filter.class": f"{__name__}.Groups",
}


@pytest.fixture
def context() -> ConnectorRequests:
    return connector_context()


@pytest.fixture
def connector(monkeypatch: pytest.MonkeyPatch, context: ConnectorRequests) -> Iterator[MirrorCheckpointConnector]:
    monkeypatch.setattr(Admin, "away", False)
    monkeypatch.setattr(Admin, "groups", ())
    monkeypatch.setattr(Admin, "created", [])
    made = MirrorCheckpointConnector()
    made.context = context
    yield made
    made.stop()


def soon(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 10
    while (value := found()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return value


def task_configs(connector: MirrorCheckpointConnector, tasks: int = 1) -> list[dict[str, str]] | None:
    """Return the configurations of tasks, None as long as the worker has to ask again."""
    try:
        return connector.task_configs(tasks)
    except RetriableError:
        return None


@pytest.mark.parametrize("groups", [("billing",), ()], ids=["a group", "no group"])
def test_a_source_that_is_back_is_found_when_the_worker_asks_again(
    connector: MirrorCheckpointConnector,
    context: ConnectorRequests,
    monkeypatch: pytest.MonkeyPatch,
    groups: tuple[str, ...],
) -> None:
    """Also without repeated looks, which come after ten minutes by default."""
    monkeypatch.setattr(Admin, "away", True)
    connector.start({**CONFIG, "refresh.groups.enabled": "false"})
    with pytest.raises(RetriableError, match="Timeout while loading consumer groups"):
        connector.task_configs(1)
    monkeypatch.setattr(Admin, "groups", groups)
    monkeypatch.setattr(Admin, "away", False)
    found = soon(lambda: task_configs(connector))
    assert [config["task.assigned.groups"] for config in found] == list(groups)
    soon(lambda: context.reconfigurations or None)
    assert Admin.created == ["eu.checkpoints.internal"], "before there are tasks"


def test_one_look_at_a_time(
    connector: MirrorCheckpointConnector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Admin, "away", True)
    connector.start({**CONFIG, "refresh.groups.enabled": "false"})
    with caplog.at_level(logging.CRITICAL):
        for _ in range(100):
            assert task_configs(connector) is None
    monkeypatch.setattr(Admin, "away", False)
    assert soon(lambda: task_configs(connector)) == []


def test_groups_are_in_the_order_of_javas_set(
    connector: MirrorCheckpointConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the configurations of tasks stay as they are when a worker of the other kind takes over."""
    monkeypatch.setattr(Admin, "groups", ("billing", "audit", "search", "mail"))
    connector.start(CONFIG)
    assert [one["task.assigned.groups"] for one in connector.task_configs(2)] == [
        "search,mail",
        "audit,billing",
    ]


def test_groups_whose_coordinator_is_away_stay(
    connector: MirrorCheckpointConnector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Admin, "groups", ("audit", "billing", "mail"))
    monkeypatch.setattr(Admin, "unknown", frozenset({"mail"}))
    connector.start(CONFIG)
    assert connector._groups == ["audit", "billing"], "the others are not left untranslated"
    monkeypatch.setattr(Admin, "unknown", frozenset({"billing"}))
    connector._refresh()
    assert connector._groups == ["audit", "billing", "mail"]
    assert "The offsets of consumer groups billing are not known now" in caplog.text


def test_a_connector_that_has_ended_holds_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has threads and connections, until the last reference to it is gone."""
    made: list[weakref.ref[Admin]] = []
    monkeypatch.setattr(Admin, "__init__", lambda admin, _: made.append(weakref.ref(admin)))
    connector = MirrorCheckpointConnector()
    connector.context = connector_context()
    connector.start(CONFIG)
    gc.disable()
    try:
        connector.stop()
        del connector
        assert [one() for one in made] == [None, None]
    finally:
        gc.enable()
