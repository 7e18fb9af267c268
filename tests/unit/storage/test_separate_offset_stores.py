"""Offsets of connectors in separate topics, without brokers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import pytest

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin
from connect_dagster.storage.internal_topics import offset_topic
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.offset_store import SourceOffsets
from connect_dagster.storage.topic_log import OnRecord
from tests.unit.storage.memory_log import MemoryAdmin, MemoryLog, MemoryTopics

OWN = {"offsets.storage.topic": "own"}
PARTITION = {"f": 1}


class Log(MemoryLog):
    """A log that stays before an open transaction, and reads on when it waits for its end."""

    def read_to_end(self, timeout: float, *, past_transactions: bool = False) -> dict[int, int]:
        assert isinstance(self._topics, Topics)
        if past_transactions:
            self._topics.hiding.discard(self.topic)
        return super().read_to_end(timeout, past_transactions=past_transactions)

    def read(self) -> None:
        assert isinstance(self._topics, Topics)
        if self.topic not in self._topics.hiding:
            super().read()


class Topics(MemoryTopics):
    """Topics that note how their logs were opened.

    Attributes:
        hiding: names of the topics with an open transaction, behind which nothing is read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.settings: list[tuple[str, Settings]] = []
        self.hiding: set[str] = set()

    def open(
        self, topic: str, settings: Settings, admin: TopicAdmin, on_record: OnRecord, permitted: object
    ) -> MemoryLog:
        self.settings.append((topic, settings))
        self.logs.append(Log(self, topic, on_record, lambda: True))
        return self.logs[-1]

    @property
    def running(self) -> list[str]:
        """The topics of the logs that run."""
        return [log.topic for log in self.logs if log.follows]


class Admin(MemoryAdmin):
    """Creates topics that were deleted."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def create_with_retry(self, topic: NewTopic) -> bool | None:
        self._topics.deleted.discard(topic.name)
        return True


@pytest.fixture
def topics() -> Topics:
    return Topics()


def store_of(topics: Topics, **settings: str) -> KafkaOffsetStore:
    access = {
        "bootstrap.servers": "a:1",
        "client.id": "w-",
        **{name.replace("_", "."): settings[name] for name in settings},
    }
    store = KafkaOffsetStore(
        offset_topic("group"), access, Admin(topics), 1, open_log=topics.open, open_admin=lambda _: Admin(topics)
    )
    store.start()
    return store


def own(store: KafkaOffsetStore, connector: str = "c", config: Mapping[str, str] = OWN) -> SourceOffsets:
    return store.open(connector, config)


def test_tasks_and_connectors_read_a_topic_once(topics: Topics) -> None:
    store = store_of(topics)
    opened = [own(store), own(store), own(store, "d")]
    assert topics.running == ["group", "own"]
    opened[0].save([(PARTITION, {"n": 1})])
    opened[2].save([(PARTITION, {"n": 2})])
    assert [one.offset(PARTITION) for one in opened] == [{"n": 1}, {"n": 1}, {"n": 2}]
    for one in opened:
        assert topics.running == ["group", "own"]
        one.close()
    assert topics.running == ["group"]
    with closing(own(store, "d")) as later:
        assert later.offset(PARTITION) == {"n": 2}


@pytest.mark.parametrize("prefix", ["consumer", "producer", "admin"])
def test_another_access_has_another_store(topics: Topics, prefix: str) -> None:
    store = store_of(topics)
    other = {f"{prefix}.override.security.protocol": "SSL"}
    opened = [own(store), own(store, "d", OWN | other), own(store, "e", OWN | other)]
    assert topics.running == ["group", "own", "own"]
    for one in opened:
        one.close()
    assert topics.running == ["group"]


def test_other_brokers_have_another_store_for_a_topic_of_the_groups_name(topics: Topics) -> None:
    store = store_of(topics)
    with closing(own(store, config={"consumer.override.bootstrap.servers": "b:1"})):
        assert topics.running == ["group", "group"]


def test_a_later_user_reads_up_to_the_end(topics: Topics) -> None:
    """The store of another task may be behind: offsets of the task before this one are at the end."""
    store = store_of(topics)
    with closing(own(store)):
        (log,) = (one for one in topics.logs if one.topic == "own")
        log.follows = False
        topics.append("own", (b'["c",{"f":1}]', b'{"n":7}'))
        with closing(own(store)) as late:
            assert late.offset(PARTITION) == {"n": 7}
        with closing(store.open_transactional("c", OWN)) as late:
            assert late.reader.offset(PARTITION) == {"n": 7}


@pytest.mark.parametrize("way", ["open", "open_transactional"])
def test_a_user_that_cannot_read_leaves_the_store_to_the_others(topics: Topics, way: str) -> None:
    store = store_of(topics)
    with closing(own(store)) as first:
        topics.away.add("own")
        with pytest.raises(ConnectError, match="Failed to fetch offsets"):
            getattr(store, way)("c", OWN)
        topics.away.clear()
        assert first.all() == []
        assert topics.running == ["group", "own"]
    assert topics.running == ["group"]


def test_a_topic_that_was_deleted_is_created_for_a_new_user(topics: Topics) -> None:
    store = store_of(topics)
    with closing(own(store)):
        topics.deleted.add("own")
        own(store).close()
        assert not topics.deleted


def test_uncommitted_offsets_are_read_only_where_the_worker_allows_it(topics: Topics) -> None:
    """Java: ``ConnectUtils.ensureProperty`` with exactly-once sources, ``putIfAbsent`` without."""
    override = OWN | {"consumer.override.isolation.level": "read_uncommitted"}
    for settings in ({}, {"isolation_level": "read_committed"}):
        own(store_of(topics, **settings), config=override).close()
        own(store_of(topics, **settings)).close()
    found = [settings["isolation.level"] for topic, settings in topics.settings if topic == "own"]
    assert found == ["read_uncommitted", "read_committed", "read_committed", "read_committed"]


@pytest.mark.parametrize("topic", ["own", "group"])
def test_transactions_of_others_hide_no_offset_from_a_task(topics: Topics, topic: str) -> None:
    """Failed for copies in the group's topic: a connector with a new topic began at an old offset."""
    store = store_of(topics)
    topics.hiding.add(topic)
    topics.append(topic, (b'["c",{"f":1}]', b'{"n":7}'))
    with closing(store.open_transactional("c", OWN)) as offsets:
        assert offsets.reader.offset(PARTITION) == {"n": 7}


def test_a_save_that_is_refused_leaves_nothing_for_the_next(topics: Topics) -> None:
    """Failed: the offset before the wrong one was written by the next save of the thread, of any connector."""
    store = store_of(topics)
    with closing(own(store)) as first, closing(own(store, "d")) as second:
        with pytest.raises(DataError, match="Offsets may only contain primitive types as values"):
            first.save([(PARTITION, {"n": 1}), ({"f": 2}, {"n": [2]})])
        second.save([(PARTITION, {"n": 3})])
        assert (first.all(), second.all()) == ([], [(PARTITION, {"n": 3})])
    assert topics.keys("own") == ['["d",{"f":1}]']


def test_a_deletion_that_is_refused_deletes_no_copy(topics: Topics) -> None:
    store = store_of(topics)
    store.save("c", [(PARTITION, {"n": 1})])
    with closing(store.open_transactional("c", OWN)) as offsets:
        with pytest.raises(DataError):
            offsets.records([(PARTITION, None), ({"f": 2}, {"n": [2]})])
        assert offsets.reader.offset(PARTITION) == {"n": 1}
