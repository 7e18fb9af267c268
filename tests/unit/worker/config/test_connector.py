"""Framework keys of connectors: the same ones as Java's, and which topics go together."""

from __future__ import annotations

import pytest

from connect_dagster.plugin.config import (
    ConfigKey,
    ConfigTable,
    Recommender,
    Type,
    Width,
    config_infos,
    to_text,
)
from connect_dagster.worker.config.connector import ConnectorConfig, enriched
from connect_dagster.worker.config.sink import SinkConnectorConfig, check_topics
from connect_dagster.worker.config.source import SourceConnectorConfig

C, T, P, E = "Common", "Transforms", "Predicates", "Error Handling"
# name, type, default, importance, group, order, width: facts of Kafka Connect 4.3.1
COMMON = [
    ("name", "STRING", None, "HIGH", C, 1, "MEDIUM"),
    ("connector.class", "STRING", None, "HIGH", C, 2, "LONG"),
    ("connector.plugin.version", "STRING", None, "MEDIUM", C, 3, "MEDIUM"),
    ("tasks.max", "INT", "1", "HIGH", C, 4, "SHORT"),
    ("tasks.max.enforce", "BOOLEAN", "true", "LOW", C, 5, "SHORT"),
    ("key.converter", "CLASS", None, "LOW", C, 6, "SHORT"),
    ("key.converter.plugin.version", "STRING", None, "LOW", C, 7, "SHORT"),
    ("value.converter", "CLASS", None, "LOW", C, 8, "SHORT"),
    ("value.converter.plugin.version", "STRING", None, "LOW", C, 9, "SHORT"),
    ("header.converter", "CLASS", None, "LOW", C, 10, "SHORT"),
    ("header.converter.plugin.version", "STRING", None, "LOW", C, 11, "SHORT"),
    ("transforms", "LIST", "", "LOW", T, 12, "LONG"),
    ("predicates", "LIST", "", "LOW", P, 13, "LONG"),
    ("config.action.reload", "STRING", "restart", "LOW", C, 14, "MEDIUM"),
    ("errors.retry.timeout", "LONG", "0", "MEDIUM", E, 1, "MEDIUM"),
    ("errors.retry.delay.max.ms", "LONG", "60000", "MEDIUM", E, 2, "MEDIUM"),
    ("errors.tolerance", "STRING", "none", "MEDIUM", E, 3, "SHORT"),
    ("errors.log.enable", "BOOLEAN", "false", "MEDIUM", E, 4, "SHORT"),
    ("errors.log.include.messages", "BOOLEAN", "false", "MEDIUM", E, 5, "SHORT"),
]
SINK = [
    ("topics", "LIST", "", "HIGH", C, 4, "LONG"),
    ("topics.regex", "STRING", "", "HIGH", C, 4, "LONG"),
    ("errors.deadletterqueue.topic.name", "STRING", "", "MEDIUM", E, 6, "MEDIUM"),
    ("errors.deadletterqueue.topic.replication.factor", "SHORT", "3", "MEDIUM", E, 7, "MEDIUM"),
    ("errors.deadletterqueue.context.headers.enable", "BOOLEAN", "false", "MEDIUM", E, 8, "MEDIUM"),
]
X = "Exactly Once Support"
SOURCE = [
    ("topic.creation.groups", "LIST", "", "LOW", "Topic Creation", 1, "LONG"),
    ("exactly.once.support", "STRING", "requested", "MEDIUM", X, 2, "SHORT"),
    ("transaction.boundary", "STRING", "poll", "MEDIUM", X, 3, "SHORT"),
    ("transaction.boundary.interval.ms", "LONG", None, "LOW", X, 4, "SHORT"),
    ("offsets.storage.topic", "STRING", None, "LOW", "offsets.topic", 1, "LONG"),
]
BOTH = "topics and topics.regex are mutually exclusive options, but both are set."
NEITHER = "Must configure one of topics or topics.regex"


@pytest.mark.parametrize(
    ("definition", "rows"),
    [
        (ConnectorConfig, COMMON),
        (SinkConnectorConfig, COMMON + SINK),
        (SourceConnectorConfig, COMMON + SOURCE + SINK[2:]),
    ],
)
def test_framework_keys_are_javas(definition: type[ConnectorConfig], rows: list[tuple[object, ...]]) -> None:
    shown = [
        (
            key.name,
            key.type.value,
            None if key.required else to_text(key.default, key.type),
            key.importance.value,
            key.group,
            key.order_in_group,
            key.width.value,
        )
        for key in definition.table()
    ]
    assert shown == rows
    assert [key.name for key in definition.table() if key.required] == ["name", "connector.class"]
    assert all(key.documentation and key.display_name != key.name for key in definition.table())


def test_s1_36_a_file_sink_validates_25_keys_and_only_the_name_is_missing() -> None:
    table = SinkConnectorConfig.table().with_keys([ConfigKey("file", Type.STRING, None)])
    props = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": "t",
        "file": "f",
    }
    values = table.validate_all(props)
    check_topics(props, values)
    infos = config_infos(props["connector.class"], table, values)
    assert (infos["error_count"], len(infos["configs"])) == (1, 25)
    assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling"]
    assert [c["value"]["errors"] for c in infos["configs"] if c["value"]["errors"]] == [
        ['Missing required configuration "name" which has no default value.']
    ]


@pytest.mark.parametrize(
    ("props", "name", "errors"),
    [
        ({"topics": "a", "topics.regex": "b"}, "topics", [BOTH]),
        ({"topics": "a", "topics.regex": "b"}, "topics.regex", [BOTH]),
        ({}, "topics", [NEITHER]),
        ({"topics": " "}, "topics.regex", [NEITHER]),
        ({"topics": "a, b"}, "topics", []),
        ({"topics.regex": "t-.*"}, "topics.regex", []),
        ({"topics": "a,a"}, "topics", ["Configuration 'topics' values must not be duplicated."]),
        (
            {"topics": "a, dlq", "errors.deadletterqueue.topic.name": " dlq "},
            "topics",
            [
                "The DLQ topic 'dlq' may not be included in the list of topics ('topics=[a, dlq]') "
                "consumed by the connector"
            ],
        ),
        (
            {"topics.regex": "d.*", "errors.deadletterqueue.topic.name": "dlq"},
            "topics.regex",
            [
                "The DLQ topic 'dlq' may not be matched by the regex for the topics ('topics.regex=d.*') "
                "consumed by the connector"
            ],
        ),
        ({"topics.regex": "d", "errors.deadletterqueue.topic.name": "dlq"}, "topics.regex", []),
    ],
)
def test_s1_38_topics_go_together(props: dict[str, str], name: str, errors: list[str]) -> None:
    table = SinkConnectorConfig.table()
    values = table.validate_all(props)
    check_topics(props, values)
    assert next(value.errors for value in values if value.name == name) == errors


def test_a_wrong_regex_is_one_error_also_with_a_dead_letter_topic() -> None:
    props = {"topics.regex": "t-[", "errors.deadletterqueue.topic.name": "dlq"}
    values = SinkConnectorConfig.validate_all(props)
    check_topics(props, values)
    errors = next(value.errors for value in values if value.name == "topics.regex")
    assert len(errors) == 1
    assert errors[0].startswith("Invalid value t-[ for configuration topics.regex: Invalid regex: ")


def test_a_runaway_regex_beside_a_dead_letter_topic_is_an_error() -> None:
    """R8: at 1f0d1e0 a validation held the interpreter's lock for hours."""
    # Its first part takes hours in Java's engine, its second in that of the package regex.
    runaway, dead_letters = f"{'(.*)' * 12}x|(a|aa)+$", "a" * 60 + "!"
    props = {"topics.regex": runaway, "errors.deadletterqueue.topic.name": dead_letters}
    values = SinkConnectorConfig.validate_all(props)
    check_topics(props, values)
    (error,) = next(value.errors for value in values if value.name == "topics.regex")
    assert f"for configuration topics.regex: matching '{dead_letters}' takes" in error


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("tasks.max", "0", "Invalid value 0 for configuration tasks.max: Value must be at least 1"),
        ("transforms", "a,a", "Invalid value [a, a] for configuration transforms: Duplicate alias provided."),
        (
            "errors.tolerance",
            "some",
            "Invalid value some for configuration errors.tolerance: String must be one of: none, all",
        ),
        (
            "transaction.boundary.interval.ms",
            "-1",
            "Invalid value -1 for configuration transaction.boundary.interval.ms: Value must be at least 0",
        ),
        ("name", "", "Invalid value  for configuration name: String may not be empty"),
    ],
)
def test_wrong_framework_values(name: str, given: str, text: str) -> None:
    props = {"name": "c", "connector.class": "FileStreamSource", name: given}
    values = SourceConnectorConfig.validate_all(props)
    assert {value.name: value.errors for value in values if value.errors} == {name: [text]}


def test_names_may_be_in_any_language() -> None:
    assert SinkConnectorConfig.parse({"name": "로그-싱크", "connector.class": "x"}).tasks_max == 1


def test_a_worker_adds_its_defaults_and_what_it_found() -> None:
    choices = Recommender(lambda name, parsed: ["org.x.A", "org.x.B"])
    table = enriched(ConnectorConfig.table(), {"key.converter": "org.x.A"}, {"key.converter": choices})
    assert isinstance(table, ConfigTable)
    value = next(value for value in table.validate_all({"name": "c"}) if value.name == "key.converter")
    assert (value.value, value.recommended_values) == ("org.x.A", ["org.x.A", "org.x.B"])
    assert [key.name for key in table] == [row[0] for row in COMMON]
    assert next(key.width for key in table if key.name == "key.converter") is Width.SHORT
