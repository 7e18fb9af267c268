"""The configurations that the dedicated process writes are those that Java's finds equal to its own."""

import pytest

from connect_dagster.cli.mirror.flow_file import FRAMEWORK_KEYS
from connect_dagster.connectors.mirror.flow_configs import read_flows, unused_properties

FILE = {"clusters": "A, B", "A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1", "A->B.enabled": "true"}


@pytest.mark.parametrize(
    "option",
    ["exactly.once.support", "transaction.boundary", "topic.creation.groups", "offsets.storage.topic"],
)
def test_options_of_source_connectors_alone_count_for_a_flow_only(option: str) -> None:
    config, (flow, _) = read_flows({**FILE, option: "x"}, [], FRAMEWORK_KEYS, dict)
    assert all(option not in connector for connector in flow.connectors.values())
    assert list(unused_properties(config, FRAMEWORK_KEYS)) == [option]
    _, (flow, _) = read_flows({**FILE, f"A->B.{option}": "x"}, [], FRAMEWORK_KEYS, dict)
    assert all(connector[option] == "x" for connector in flow.connectors.values())


def test_options_of_all_connectors_count_for_all_flows() -> None:
    _, flows = read_flows({**FILE, "tasks.max": "3", "errors.tolerance": "all"}, [], FRAMEWORK_KEYS, dict)
    found = [connector for flow in flows for connector in flow.connectors.values()]
    assert all((one["tasks.max"], one["errors.tolerance"]) == ("3", "all") for one in found)
