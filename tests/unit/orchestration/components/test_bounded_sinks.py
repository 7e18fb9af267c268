"""Bounds of sinks in YAML: their checks, which runs and the polling sensor evaluate."""

from typing import Any

import pytest
from dagster import AssetCheckKey
from dagster.components.core.component_tree import ComponentTreeException

from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from tests.unit.orchestration.components.sandbox import loaded

BROKERS = {"url": "http://nowhere:8083", "bootstrap_servers": "nowhere:9092"}
SINK = {
    "name": "snk",
    "connector_class": "FileStreamSink",
    "config": {"topics": "lines", "file": "/tmp/out", "errors.deadletterqueue.topic.name": "broken"},
}
PLAIN = {"name": "plain", "connector_class": "FileStreamSink", "config": {"topics": "lines", "file": "/tmp/plain"}}
SOURCE = {"name": "src", "connector_class": "FileStreamSource", "config": {"topic": "lines", "file": "/tmp/in"}}
LAG, LETTERS = "connector_lag", "dead_letters"


def checks(workspace: dict[str, Any] = BROKERS, **attributes: Any) -> set[tuple[str, str]]:
    """Names of connectors with the checks of bounds that they have."""
    given = {"workspace": workspace, "connectors": [SOURCE, SINK, PLAIN], **attributes}
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
        keys = defs.resolve_asset_graph().asset_check_keys
        return {(key.asset_key.path[-1], key.name) for key in keys if key.name in (LAG, LETTERS)}


def test_sinks_have_the_checks_that_are_asked_for() -> None:
    assert checks() == {("snk", LETTERS)}
    assert checks(max_lag=100, max_dead_letters=None) == {("snk", LAG), ("plain", LAG)}
    assert checks(max_lag="{{ 10 * 10 }}", max_dead_letters=5) == {("snk", LAG), ("plain", LAG), ("snk", LETTERS)}


def test_without_brokers_there_is_no_check_unless_it_is_asked_for() -> None:
    assert checks({"url": "http://nowhere:8083"}) == set()


def test_the_description_of_a_check_has_its_bound() -> None:
    given = {"workspace": BROKERS, "connectors": [SINK], "max_lag": 70, "max_dead_letters": 3}
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
        graph = defs.resolve_asset_graph()
        specs = [graph.get_check_spec(AssetCheckKey(connector_key("local", "snk"), name)) for name in (LAG, LETTERS)]
        assert [spec.description for spec in specs] == [
            "At most 70 records of its topics are not committed.",
            "At most 3 dead letters were added since the last evaluation.",
        ]


@pytest.mark.parametrize(
    ("attributes", "sentences"),
    [
        ({"max_lag": -1}, ["max_lag", "greater than or equal to 0"]),
        ({"max_lag": "many"}, ["max_lag", "valid integer"]),
        ({"max_dead_letters": -2}, ["max_dead_letters", "greater than or equal to 0"]),
        ({"max_lag": 9, "workspace": {}}, ["lag (max_lag)", "give bootstrap_servers to the workspace 'local'"]),
        ({"max_dead_letters": 9, "workspace": {}}, ["(max_dead_letters)", "give bootstrap_servers to the workspace"]),
    ],
)
def test_a_bound_that_cannot_be_checked_is_refused(attributes: dict[str, Any], sentences: list[str]) -> None:
    with pytest.raises(ComponentTreeException) as raised:
        checks(**attributes)
    message = f"{raised.value}{raised.value.__cause__}"
    assert [sentence for sentence in sentences if sentence not in message] == []
