"""Choices of a flow's filters in its source: the topics that are mirrored, the groups that are translated.

For runs: connectors' code is loaded, and PySpark with it. Classes of users are found by workers alone, so that what
they choose is not known here.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from connect_dagster.client.connector_classes import simple_name
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration.observations.checkpoints import TopicChoice
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_names

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.filters import TopicFilter

FILTERS = {
    "topic.filter.class": "DefaultTopicFilter",
    "group.filter.class": "DefaultGroupFilter",
    "config.property.filter.class": "DefaultConfigPropertyFilter",
}
"""MirrorMaker's classes by the options that take them."""


def custom_filter(config: Mapping[str, str | None], option: str) -> str | None:
    """Return the class of a user that an option of :data:`FILTERS` names; None for MirrorMaker's."""
    default = FILTERS[option]
    name = config.get(option) or default
    return None if simple_name(name) == default else name


def chosen_topics(topics: Iterable[str], topic_filter: "TopicFilter", names: MirrorNames) -> list[str]:
    """Return those of topics in the source whose records are mirrored, without heartbeats."""
    from connect_dagster.connectors.mirror.filters import topics_to_replicate

    chosen = topics_to_replicate(
        topics, topic_filter=topic_filter, policy=names.policy, target_alias=names.target, heartbeats=False
    )
    return [topic for topic in chosen if not names.policy.is_heartbeats_topic(topic)]


def topic_choice(config: Mapping[str, str | None]) -> TopicChoice | None:
    """Return the choice of topics whose records are mirrored, without heartbeats; None when it is not known.

    Args:
        config: Of the source connector, or of the checkpoint connector.

    Raises:
        ConfigError: A list of patterns is wrong.
    """
    from connect_dagster.connectors.mirror.filters import DefaultTopicFilter

    names = MirrorNames.of(config)
    if not names.is_known or custom_filter(config, "topic.filter.class"):
        return None
    topic_filter = DefaultTopicFilter()
    topic_filter.configure(_given(config))
    return partial(chosen_topics, topic_filter=topic_filter, names=names)


def fetch_mirrored_topics(source: Bootstrap, config: Mapping[str, str | None], timeout: float) -> list[str] | None:
    """Return the topics in the source whose records are mirrored, without heartbeats; None when that is not known.

    Args:
        source: Brokers of the source.
        config: Of the source connector.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        ConfigError: A list of patterns is wrong, or takes too long.
        KafkaException: The brokers do not respond in time.
    """
    choice = topic_choice(config)
    return None if choice is None else list(choice(fetch_topic_names(source, timeout)))


def fetch_translated_groups(source: Bootstrap, config: Mapping[str, str | None], timeout: float) -> list[str] | None:
    """Return the consumer groups of the source whose offsets are translated; None when that is not known.

    Args:
        source: Brokers of the source.
        config: Of the checkpoint connector.
        timeout: As of :func:`fetch_mirrored_topics`, which raises the same.
    """
    from connect_dagster.connectors.mirror.checkpoint.connector import groups_to_translate
    from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
    from connect_dagster.connectors.mirror.filters import DefaultGroupFilter, DefaultTopicFilter

    if custom_filter(config, "group.filter.class") or custom_filter(config, "topic.filter.class"):
        return None
    groups, topics = DefaultGroupFilter(), DefaultTopicFilter()
    for one in (groups, topics):
        one.configure(_given(config))
    return groups_to_translate(ForwardingAdmin.of(source, timeout), groups, topics)


def _given(config: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in config.items() if value is not None}
