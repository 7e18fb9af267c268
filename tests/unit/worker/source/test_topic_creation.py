"""Groups of topics that a source connector has created, and how (KIP-158)."""

import logging
from collections.abc import Mapping
from typing import cast

import pytest

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.source.topic_creation import TopicCreation, topic_groups

DEFAULT = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}
# Its first part takes hours in Java's engine, its second in that of the package regex.
RUNAWAY = f"{'(.*)' * 12}x|(a|aa)+$"
GROUPS = DEFAULT | {
    "topic.creation.groups": "compacted, default,wide",
    "topic.creation.compacted.include": "state-.*, table",
    "topic.creation.compacted.exclude": ".*-log",
    "topic.creation.compacted.cleanup.policy": "compact",
    "topic.creation.wide.include": ".*-wide,state-.*",
    "topic.creation.wide.partitions": "-1",
    "topic.creation.default.include": "nothing",
    "topic.creation.default.compression.type": "zstd",
}


class Topics:
    """A stand-in for the brokers: the topics that are there, and answers to creation."""

    def __init__(self, there: set[str], answer: bool | Exception | None = True, away: int = 0) -> None:
        self.there = there
        self.answer = answer
        self.away = away
        self.asked: list[str] = []
        self.plans: list[NewTopic] = []

    def exists(self, topic: str) -> bool:
        self.asked.append(topic)
        if self.away:
            self.away -= 1
            raise RetriableError(f"Timed out while describing topics '{topic}'")
        return topic in self.there

    def create(self, plan: NewTopic) -> bool | None:
        self.plans.append(plan)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def parsed(config: Mapping[str, str]) -> SourceConnectorConfig:
    return SourceConnectorConfig.parse({"name": "c", "connector.class": "C", **config})


def creation(topics: Topics, config: Mapping[str, str] = DEFAULT) -> TopicCreation:
    return TopicCreation(
        topic_groups(parsed(config), enabled=True), lambda: cast("TopicAdmin", topics), lambda seconds: True
    )


@pytest.mark.parametrize(
    ("topic", "group"),
    [
        ("state-a", "compacted"),
        ("table", "compacted"),
        ("tables", "default"),
        ("state-log", "wide"),
        ("a-wide", "wide"),
        ("", "default"),
    ],
)
def test_the_first_group_that_matches(topic: str, group: str) -> None:
    groups = topic_groups(parsed(GROUPS), enabled=True)
    assert [one.name for one in groups] == ["compacted", "wide", "default"]
    assert next((one.name for one in groups[:-1] if one.matches(topic)), "default") == group


def test_plans_take_from_the_default_group_what_is_not_said() -> None:
    compacted, wide, default = topic_groups(parsed(GROUPS), enabled=True)
    assert compacted.plan("t") == NewTopic("t", 3, 1, {"cleanup.policy": "compact"})
    assert wide.plan("t") == NewTopic("t", -1, 1, {})
    assert default.plan("t") == NewTopic("t", 3, 1, {"compression.type": "zstd"})


@pytest.mark.parametrize(("config", "enabled"), [({}, True), (GROUPS, False), ({"topic": "a"}, True)])
def test_topics_that_are_left_to_the_brokers(config: dict[str, str], enabled: bool) -> None:
    assert topic_groups(parsed(config), enabled=enabled) == ()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"topic.creation.default.partitions": None}, 'Missing required configuration "topic.creation.default.partit'),
        (
            {"topic.creation.default.partitions": "0"},
            "Invalid value 0 for configuration topic.creation.default.partitions: Number of partitions must be pos",
        ),
        (
            {"topic.creation.wide.replication.factor": "-2"},
            "Invalid value -2 for configuration topic.creation.wide.replication.factor: Replication factor must be",
        ),
        (
            {"topic.creation.wide.include": "a("},
            "Invalid value a( for configuration topic.creation.wide.include: Invalid regex: ",
        ),
        (
            {"topic.creation.default.replication.factor": "many"},
            "Invalid value many for configuration topic.creation.default.replication.factor: Not a number of type SH",
        ),
    ],
)
def test_settings_that_are_wrong(changes: dict[str, str | None], text: str) -> None:
    config = {name: value for name, value in {**GROUPS, **changes}.items() if value is not None}
    with pytest.raises(ConfigError) as caught:
        topic_groups(parsed(config), enabled=True)
    assert str(caught.value).startswith(text)


def test_a_group_with_a_runaway_expression() -> None:
    """R8: at 1f0d1e0 the first record of a new topic held the interpreter's lock for hours."""
    group, _ = topic_groups(
        parsed({**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.include": f"b,{RUNAWAY}"}), enabled=True
    )
    with pytest.raises(
        ConfigError, match=r"^Invalid value b\|.* for configuration topic\.creation\.g\.include: matching"
    ):
        group.matches("a" * 60 + "!")


def test_each_topic_is_asked_for_once(caplog: pytest.LogCaptureFixture) -> None:
    topics = Topics({"there"})
    made = creation(topics)
    with caplog.at_level(logging.INFO):
        made.ensure({"there", "new"})
        made.ensure({"there", "new"})
    assert topics.asked == ["new", "there"]
    assert topics.plans == [NewTopic("new", 3, 1, {})]
    assert caplog.messages == [
        "The task will send records to topic 'new' for the first time. Checking whether topic exists",
        "Creating topic 'new'",
        "Created topic '(name=new, numPartitions=3, replicationFactor=1, replicasAssignments=null, configs={})' using "
        "creation group TopicCreationGroup{name='default', inclusionPattern=.*, exclusionPattern=, numPartitions=3, "
        "replicationFactor=1, otherConfigs={}}",
        "The task will send records to topic 'there' for the first time. Checking whether topic exists",
        "Topic 'there' already exists.",
    ]


def test_brokers_that_are_away_are_waited_for() -> None:
    topics = Topics(set(), away=2)
    creation(topics).ensure({"new"})
    assert topics.asked == ["new"] * 3


def test_a_task_that_ends_does_not_wait() -> None:
    topics = Topics(set(), away=1)
    groups = topic_groups(parsed(DEFAULT), enabled=True)
    TopicCreation(groups, lambda: cast("TopicAdmin", topics), lambda seconds: False).ensure({"new"})
    assert topics.plans == []


def test_a_topic_that_somebody_else_made_meanwhile() -> None:
    topics = Topics(set(), answer=False)
    creation(topics).ensure({"new"})
    assert len(topics.plans) == 1


def test_a_topic_that_may_not_be_created() -> None:
    with pytest.raises(ConnectError) as caught:
        creation(Topics(set(), answer=None)).ensure({"new"})
    assert str(caught.value) == (
        "Task failed to create new topic (name=new, numPartitions=3, replicationFactor=1, replicasAssignments=null, "
        "configs={}). Ensure that the task is authorized to create topics or that the topic exists and restart the task"
    )


def test_brokers_that_refuse() -> None:
    with pytest.raises(ConnectError, match="Unable to create"):
        creation(Topics(set(), answer=ConnectError("Unable to create topic(s) 'new': no"))).ensure({"new"})
