"""The group's topics: made as they must be, refused when somebody else made them otherwise."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.storage import internal_topics
from connect_dagster.storage.internal_topics import InternalTopic
from tests.integration.storage.stores import SECONDS, Stores, wait_until

TOPIC_CONFIG = 1  # where a setting comes from: the topic itself (Kafka: DescribeConfigsResponse.ConfigSource)


@pytest.fixture
def admin(stores: Stores) -> AdminClient:
    return AdminClient({"bootstrap.servers": stores.bootstrap_servers})


def own_settings(admin: AdminClient, topic: str) -> dict[str, str]:
    """Settings that the topic has of its own."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(SECONDS).values()
    return {entry.name: entry.value for entry in entries if entry.source == TOPIC_CONFIG}


def make(admin: AdminClient, topic: str, partitions: int, policy: str) -> None:
    admin.create_topics([NewTopic(topic, partitions, 1, config={"cleanup.policy": policy})])[topic].result(SECONDS)


def test_s2_04_a_first_start_makes_the_topics(stores: Stores, admin: AdminClient) -> None:
    stores.config()
    stores.offsets()
    stores.status()
    made = [stores.config_topic.name, stores.offset_topic.name, stores.status_topic.name]
    known = admin.list_topics(timeout=SECONDS).topics
    assert [len(known[topic].partitions) for topic in made] == [1, 25, 5]
    assert [own_settings(admin, topic) for topic in made] == [{"cleanup.policy": "compact"}] * 3


def test_s2_04_a_config_topic_with_two_partitions_is_refused(stores: Stores, admin: AdminClient) -> None:
    make(admin, stores.config_topic.name, 2, "compact")
    with pytest.raises(ConfigError) as raised:
        stores.config()
    assert str(raised.value) == (
        f"Topic '{stores.config_topic.name}' supplied via the 'config.storage.topic' property is required to have a "
        "single partition in order to guarantee consistency of connector configurations, but found 2 partitions."
    )


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_s2_04_a_topic_that_forgets_is_refused(stores: Stores, admin: AdminClient, policy: str) -> None:
    name = stores.offset_topic.name
    make(admin, name, 25, policy)
    with pytest.raises(ConfigError) as raised:
        stores.offsets()
    assert str(raised.value) == (
        f"Topic '{name}' supplied via the 'offset.storage.topic' property is required to have 'cleanup.policy=compact' "
        "to guarantee consistency and durability of source connector offsets, but found the topic currently has "
        f"'cleanup.policy={policy}'. Continuing would likely result in eventually losing source connector offsets and "
        "problems restarting this Connect cluster in the future. Change the 'offset.storage.topic' property in the "
        "Connect worker configurations to use a topic with 'cleanup.policy=compact'."
    )


def test_existing_topics_are_taken_as_they_are(stores: Stores, admin: AdminClient) -> None:
    make(admin, stores.status_topic.name, 3, "compact")
    stores.status()
    assert len(admin.list_topics(timeout=SECONDS).topics[stores.status_topic.name].partitions) == 3


def test_topics_take_settings_from_the_workers_file(
    stores: Stores, admin: AdminClient, caplog: pytest.LogCaptureFixture
) -> None:
    extra = {"cleanup.policy": "delete", "partitions": "3", "min.insync.replicas": "1", "segment.ms": "60000"}
    topic = internal_topics.config_topic(stores.config_topic.name, replication_factor=-1, settings=extra)
    stores.config(topic=topic)
    assert own_settings(admin, topic.name) == {
        "cleanup.policy": "compact",
        "min.insync.replicas": "1",
        "segment.ms": "60000",
    }
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "Ignoring 'config.storage.cleanup.policy=delete' setting, since compaction is always used" in warnings
    assert "Ignoring 'config.storage.partitions=3' setting, since config topic partitions is always 1" in warnings


def test_the_brokers_choose_where_the_worker_does_not(stores: Stores, admin: AdminClient) -> None:
    topic = internal_topics.offset_topic(stores.offset_topic.name, partitions=-1, replication_factor=-1)
    internal_topics.ensure_internal_topic(stores.admin, topic)
    wait_until(lambda: topic.name in admin.list_topics(timeout=SECONDS).topics, "see the topic")
    assert len(admin.list_topics(timeout=SECONDS).topics[topic.name].partitions) == 1


def test_brokers_that_are_missing_are_waited_for(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    admin = TopicAdmin({**stores.settings, "default.api.timeout.ms": "1000"})
    topic = internal_topics.status_topic(stores.status_topic.name, replication_factor=3)
    with pytest.raises(ConnectError, match=rf"^Error while attempting to create/find topic\(s\) '{topic.name}': "):
        internal_topics.ensure_internal_topic(admin, topic)
    assert f"'{topic.name}' topic creation failed due to " in caplog.text
    assert "ms remaining" in caplog.text


def test_a_setting_that_brokers_do_not_know_is_named(stores: Stores) -> None:
    topic = InternalTopic(f"{stores.prefix}t", "status.storage.topic", "statuses", 1, 1, {"segment.ms": "often"})
    with pytest.raises(ConnectError, match=r"^Unable to create topic\(s\) '.*segment.ms"):
        internal_topics.ensure_internal_topic(stores.admin, topic)


def test_a_client_that_finds_no_leaders_is_replaced(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a broker has told of no broker at all asks nobody any more."""
    stores.offsets()
    asks = TopicAdmin({"bootstrap.servers": stores.bootstrap_servers})
    lost: Future[object] = Future()
    lost.set_exception(KafkaException(KafkaError(KafkaError._NOENT, "No leaders found")))
    topic = stores.offset_topic.name
    client = SimpleNamespace(poll=lambda _: 0, list_offsets=lambda asked, **_: dict.fromkeys(asked, lost))
    monkeypatch.setattr(asks, "_client", client)
    with pytest.raises(RetriableError, match="No leaders found"):
        asks.end_offsets(topic, [0], SECONDS)
    assert asks.end_offsets(topic, [0], SECONDS) == {0: 0}
