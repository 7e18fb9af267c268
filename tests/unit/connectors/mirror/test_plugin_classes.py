"""Classes that a flow's configuration names."""

import pytest

from connect_dagster.connectors.mirror.filters import DefaultTopicFilter, TopicFilter
from connect_dagster.connectors.mirror.names import DefaultReplicationPolicy, ReplicationPolicy
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.connector import importable_class

HERE = __name__


class SuffixPolicy(DefaultReplicationPolicy):
    """A policy of a user."""


class Nothing(TopicFilter):
    """A filter that accepts no topic."""

    def should_replicate_topic(self, topic: str) -> bool:
        return False


def classes(**options: str) -> FlowClasses:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return FlowClasses(MirrorSourceConfig.parse({"source.cluster.alias": "A", **given}), importable_class)


def test_javas_classes_by_default() -> None:
    assert type(classes().policy()) is DefaultReplicationPolicy
    assert type(classes().topic_filter()) is DefaultTopicFilter


def test_classes_of_users() -> None:
    assert type(classes(replication_policy_class=f"{HERE}.SuffixPolicy").policy()) is SuffixPolicy
    assert type(classes(topic_filter_class=f"{HERE}.Nothing").topic_filter()) is Nothing


def test_a_policy_gets_the_configuration() -> None:
    policy: ReplicationPolicy = classes(replication_policy_separator="--").policy()
    assert policy.format_remote_topic("A", "t") == "A--t"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{HERE}.Nothing", "the class must be a ReplicationPolicy"),
        (f"{HERE}.Missing", f"Class {HERE}.Missing could not be found"),
        ("no.such.Policy", "Class no.such.Policy could not be found"),
        (f"{HERE}.HERE", "is not a class"),
    ],
)
def test_a_class_that_cannot_be_used_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=r"replication\.policy\.class") as failure:
        classes(replication_policy_class=name).policy()
    assert name in str(failure.value)
    assert text in str(failure.value)
