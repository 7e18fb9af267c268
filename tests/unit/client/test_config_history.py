"""The versions of configurations that records of the config topic hold."""

from collections.abc import Iterable, Iterator

from connect_dagster.client.config_history import ConfigRecord, ConfigVersion, config_versions, version_before
from connect_dagster.protocol.config_records import (
    commit_key,
    commit_value,
    connector_key,
    properties_value,
    target_state_key,
    target_state_value,
    task_key,
)
from connect_dagster.protocol.states import TargetState, TaskId


def records(*entries: tuple[str, bytes | None]) -> Iterator[ConfigRecord]:
    """Records from offset 5 on, one a second."""
    for offset, (key, value) in enumerate(entries, 5):
        yield key.encode(), value, offset, offset * 1000


def put(name: str, **config: str) -> tuple[str, bytes]:
    return connector_key(name), properties_value(config)


def numbers(versions: Iterable[ConfigVersion]) -> list[int]:
    return [version.number for version in versions]


def test_each_configuration_and_each_deletion_is_a_version() -> None:
    found = config_versions(
        records(
            put("a", topic="x"),
            (task_key(TaskId("a", 0)), properties_value({"topic": "x"})),
            (commit_key("a"), commit_value(1)),
            put("b", topic="b"),
            (target_state_key("a"), target_state_value(TargetState.PAUSED)),
            put("a", topic="y"),
            (connector_key("a"), None),
            (target_state_key("a"), None),
            put("a", topic="z"),
        )
    )
    assert found == {
        "a": [
            ConfigVersion(5, 5000, {"topic": "x"}),
            ConfigVersion(10, 10_000, {"topic": "y"}),
            ConfigVersion(11, 11_000, None),
            ConfigVersion(13, 13_000, {"topic": "z"}),
        ],
        "b": [ConfigVersion(8, 8000, {"topic": "b"})],
    }


def test_versions_do_not_share_configurations_with_each_other() -> None:
    """The table that applies the records keeps one configuration of each connector."""
    first, second = config_versions(records(put("a", topic="x", k="1"), put("a", topic="x")))["a"]
    assert (first.config, second.config) == ({"topic": "x", "k": "1"}, {"topic": "x"})


def test_invalid_records_are_no_versions() -> None:
    found = config_versions(
        [
            (None, b"{}", 0, 0),
            (b"connector-a", b"no JSON", 1, 1),
            (b"connector-a", b'{"properties": 5}', 2, 2),
            (b"connector-\xff", b'{"properties": {}}', 3, 3),
            (b"something", b'{"properties": {}}', 4, 4),
            (b"connector-a", b'{"properties": {"tasks.max": 2, "topic": null}}', 5, 5),
        ]
    )
    assert found == {
        "\ufffd": [ConfigVersion(3, 3, {})],
        "a": [ConfigVersion(5, 5, {"tasks.max": "2", "topic": None})],
    }


def test_the_version_before_has_another_configuration() -> None:
    one, two = put("a", topic="x"), put("a", topic="y")
    gone: tuple[str, bytes | None] = (connector_key("a"), None)

    def before(*entries: tuple[str, bytes | None]) -> int | None:
        version = version_before(config_versions(records(*entries))["a"])
        return None if version is None else version.number

    assert before(one, two) == 5
    assert before(one, two, two) == 5  # written again as it was
    assert before(one, two, gone) == 6
    assert before(one, gone, two) == 5
    assert before(one) is None
    assert before(gone) is None
    assert before(one, gone, one) is None
