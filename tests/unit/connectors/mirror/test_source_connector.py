"""The connector that finds topics, with a source that responds late."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, TopicSetting
from connect_dagster.connectors.mirror.filters import TopicFilter
from connect_dagster.connectors.mirror.source.connector import MirrorSourceConnector
from connect_dagster.kafka.topic_admin import NewTopic
from connect_dagster.testing.contexts import ConnectorRequests


class Admin(ForwardingAdmin):
    """Both clusters: one topic on the source, which does not respond before it is back."""

    is_back: ClassVar[threading.Event]

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._is_source = "source" in settings["client.id"]

    def topics(self) -> dict[str, int]:
        if not self._is_source:
            return {}
        assert self.is_back.wait(10)
        return {"orders": 2}

    def topic_settings(self, topics: Iterable[str]) -> dict[str, list[TopicSetting]]:
        return {topic: [] for topic in topics}

    def create_topics(self, topics: Sequence[NewTopic]) -> Errors:
        return {}

    def close(self) -> None: ...


class Topics(TopicFilter):
    def should_replicate_topic(self, topic: str) -> bool:
        return True


class Context(ConnectorRequests):
    """Tells when the connector asks for its tasks to be configured again."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()

    def request_task_reconfiguration(self) -> None:
        self.is_asked.set()


CONFIG = {
    "name": "source",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "forwarding.admin.class": f"{__name__}.Admin",
    "topic.filter.class": f"{__name__}.Topics",
    "sync.topic.acls.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "refresh.topics.enabled": "false",
}


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def connector(monkeypatch: pytest.MonkeyPatch, context: Context) -> Iterator[MirrorSourceConnector]:
    monkeypatch.setattr(Admin, "is_back", threading.Event(), raising=False)
    made = MirrorSourceConnector()
    made.context = context
    yield made
    Admin.is_back.set()
    made.stop()


def assigned(connector: MirrorSourceConnector) -> list[str]:
    return [one["task.assigned.partitions"] for one in connector.task_configs(2)]


def test_partitions_of_a_source_that_responds_late_are_shared_out(
    connector: MirrorSourceConnector, context: Context
) -> None:
    """Java's connector has no task then: it knows the partitions, and looks for others."""
    connector.start({**CONFIG, "admin.timeout.ms": "10"})
    assert assigned(connector) == []
    Admin.is_back.set()
    assert context.is_asked.wait(10)
    assert assigned(connector) == ["orders-0", "orders-1"]


def test_partitions_that_are_known_at_the_start_are_shared_out_once(
    connector: MirrorSourceConnector, context: Context
) -> None:
    Admin.is_back.set()
    connector.start(CONFIG)
    assert assigned(connector) == ["orders-0", "orders-1"]
    connector.stop()
    assert not context.is_asked.is_set()
