"""Keys that the framework adds to every sink connector (Java: ``SinkConnectorConfig``)."""

from __future__ import annotations

from collections.abc import Sequence

from connect_dagster.errors import ConfigError, java_text
from connect_dagster.expressions import java_patterns
from connect_dagster.plugin.config import (
    ConfigValue,
    Importance,
    Type,
    UniqueValues,
    Width,
    config_group,
    config_key,
    parse_value,
)
from connect_dagster.plugin.config.table import Properties
from connect_dagster.worker.config.connector import (
    COMMON,
    DEAD_LETTER_CONTEXT_HEADERS,
    DEAD_LETTER_REPLICATION_FACTOR,
    DEAD_LETTER_TOPIC,
    ConnectorConfig,
)


class SinkConnectorConfig(ConnectorConfig):
    """Framework keys of sink connectors."""

    with config_group(COMMON, importance=Importance.HIGH, width=Width.LONG, first=4):
        topics: tuple[str, ...] = config_key(
            "topics",
            default=(),
            validator=UniqueValues(),
            display_name="Topics",
            doc="List of topics to consume, separated by commas.",
        )
        topics_regex: str = config_key(
            "topics.regex",
            default="",
            validator=java_patterns.regex,
            order_in_group=4,
            display_name="Topics regex",
            doc="Regular expression giving topics to consume. Only one of topics or topics.regex should be specified.",
        )
    dead_letter_topic: str = DEAD_LETTER_TOPIC
    dead_letter_replication_factor: int = DEAD_LETTER_REPLICATION_FACTOR
    dead_letter_context_headers: bool = DEAD_LETTER_CONTEXT_HEADERS


def check_topics(props: Properties, values: Sequence[ConfigValue]) -> None:
    """Add the errors of a sink's topics to its checked values (Java: ``SinkConnectorConfig.validate``).

    Args:
        props: the connector's properties.
        values: the checked value of each key; errors are appended.
    """
    errors = {value.name: value.errors for value in values}
    for name, error in _topic_errors(props):
        errors[name].append(error)


def _topic_errors(props: Properties) -> list[tuple[str, str]]:
    topics, regex = _given(props, "topics"), _given(props, "topics.regex")
    if bool(topics) == bool(regex):
        both = "topics and topics.regex are mutually exclusive options, but both are set."
        text = both if topics else "Must configure one of topics or topics.regex"
        found = [("topics", text), ("topics.regex", text)]
    else:
        found = []
    return found + _dead_letter_errors(topics, regex, _given(props, "errors.deadletterqueue.topic.name").strip())


def _dead_letter_errors(topics: str, regex: str, dead_letter: str) -> list[tuple[str, str]]:
    found = []
    listed = [topic for topic in parse_value("topics", topics, Type.LIST) if topic]
    what = f"The DLQ topic '{dead_letter}' may not be"
    if dead_letter and dead_letter in listed:
        text = f"{what} included in the list of topics ('topics={java_text(listed)}') consumed by the connector"
        found.append(("topics", text))
    if dead_letter and regex:
        text = f"{what} matched by the regex for the topics ('topics.regex={regex}') consumed by the connector"
        found += [("topics.regex", error) for error in _match_errors(regex, dead_letter, text)]
    return found


def _given(props: Properties, name: str) -> str:
    value = props.get(name) or ""
    return value if value.strip() else ""


def _match_errors(regex: str, topic: str, text: str) -> list[str]:
    """Return the text where the expression matches the topic, or the error that it takes too long."""
    try:
        return [text] if java_patterns.matching("topics.regex", regex, [topic]) else []
    except java_patterns.CostlyPatternError as error:
        return [error.message]
    except ConfigError:
        return []  # the key's own validator reports it
