"""Choices of a flow's filters in its source: the topics that are mirrored, the groups that are translated.

For runs: connectors' code is loaded, and PySpark with it. Classes of users are found by workers alone, so that what
they choose is not known here.
"""

from collections.abc import Mapping

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_names


def fetch_mirrored_topics(source: Bootstrap, config: Mapping[str, str | None], timeout: float) -> list[str] | None:
    """Return the topics in the source whose records are mirrored, without heartbeats; None when that is not known.

    Args:
        source: Brokers of the source.
        config: Of the source connector.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        ConfigError: A pattern of the filter takes too long.
        KafkaException: The brokers do not respond in time.
    """
    from connect_dagster.connectors.mirror.filters import topics_to_replicate
    from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
    from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig

    try:
        parsed = MirrorSourceConfig.parse(_given(config))
        classes = FlowClasses(parsed, _not_here)
        topic_filter, policy = classes.topic_filter(), classes.policy()
    except ConfigError:
        return None
    topics = fetch_topic_names(source, timeout)
    chosen = topics_to_replicate(
        topics, topic_filter=topic_filter, policy=policy, target_alias=parsed.target_alias, heartbeats=False
    )
    return [topic for topic in chosen if not policy.is_heartbeats_topic(topic)]


def fetch_translated_groups(source: Bootstrap, config: Mapping[str, str | None], timeout: float) -> list[str] | None:
    """Return the consumer groups of the source whose offsets are translated; None when that is not known.

    Args:
        source: Brokers of the source.
        config: Of the checkpoint connector.
        timeout: As of :func:`fetch_mirrored_topics`, which raises the same.
    """
    from connect_dagster.connectors.mirror.checkpoint.connector import groups_to_translate
    from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
    from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
    from connect_dagster.connectors.mirror.plugin_classes import FlowClasses

    try:
        classes = FlowClasses(MirrorCheckpointConfig.parse(_given(config)), _not_here)
        group_filter, topic_filter = classes.group_filter(), classes.topic_filter()
    except ConfigError:
        return None
    return groups_to_translate(ForwardingAdmin.of(source, timeout), group_filter, topic_filter)


def _given(config: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in config.items() if value is not None}


def _not_here(name: str) -> type:
    raise ConfigError(f"{name} is loaded by workers alone")
