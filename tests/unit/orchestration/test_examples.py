"""The examples in `examples/dagster`, loaded as a user does, and run on a served worker."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.protocol.states import TargetState
from tests.shipped_project import ROOT
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

EXAMPLES = ROOT / "examples" / "dagster"


@pytest.fixture(name="server")
def server_fixture(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectServer]:
    with connect_server() as server:
        monkeypatch.setenv("CONNECT_URL", server.workspace.url)
        yield server


def example(file: Path) -> Any:
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_loads_without_a_cluster(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONNECT_URL", raising=False)
    dg.Definitions.validate_loadable(example(file).defs)


def test_connectors_declared_in_python_run_and_are_read_from_an_asset(server: ConnectServer) -> None:
    defs = example(EXAMPLES / "connectors.py").defs
    graph = defs.resolve_asset_graph()
    assert graph.get(topic_key("access-log")).parent_keys == {connector_key("local", "access-log")}
    job = defs.resolve_implicit_global_asset_job_def()
    connectors = [connector_key("local", name) for name in ("access-log", "archive")]
    result = job.execute_in_process(asset_selection=[*connectors, dg.AssetKey("archived_offsets")])
    assert result.success
    assert server.herder.targets == {"access-log": TargetState.STARTED, "archive": TargetState.STARTED}
    (told,) = result.asset_materializations_for_node("archived_offsets")
    assert told.metadata["state"].value == "RUNNING, task 0 RUNNING, task 1 RUNNING"
    assert graph.get(dg.AssetKey("archived_offsets")).parent_keys == {file_key("/tmp/archive.txt")}


def test_the_resource_of_a_plugin_of_ones_own(server: ConnectServer) -> None:
    dice = example(EXAMPLES / "typed_resource.py")
    assert dice.DiceResource.model_fields["topic"].description == "Topic that receives the rolls."
    declared = dice.DiceResource(workspace=server.workspace, name="red-die", topic="rolls", key_converter="K").spec()
    assert declared.declared_config() == {
        "name": "red-die",
        "connector.class": "dice.DiceConnector",
        "tasks.max": "1",
        "topic": "rolls",
        "key.converter": "K",
    }
