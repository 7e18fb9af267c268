"""The verbs of a connector's resource, on a served worker."""

from collections.abc import Iterator

import dagster as dg
import pytest

from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import PartitionOffset, State
from connect_dagster.orchestration.connectors.apply import InvalidConnectorError
from connect_dagster.orchestration.resources.bundled import FileStreamSourceResource
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState, TaskId
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(poll_timeout=0.3) as server:
        yield server


@pytest.fixture(name="source")
def source_fixture(server: ConnectServer) -> FileStreamSourceResource:
    return _source(server)


def _source(server: ConnectServer, state: DesiredState = DesiredState.RUNNING) -> FileStreamSourceResource:
    return FileStreamSourceResource(
        workspace=server.workspace, name="src", file="/tmp/in.txt", topic="lines", state=state
    )


def test_apply_creates_changes_and_then_does_nothing(server: ConnectServer, source: FileStreamSourceResource) -> None:
    assert source.apply().creates
    assert server.herder.configs["src"] == {
        "name": "src",
        "connector.class": CLASS,
        "tasks.max": "1",
        "file": "/tmp/in.txt",
        "topic": "lines",
    }
    assert source.apply().is_empty
    server.herder.configs["src"]["file"] = "/tmp/other.txt"
    assert source.plan().lines() == ["src: change", "  - file=/tmp/other.txt", "  + file=/tmp/in.txt"]
    assert source.apply().diff.changed_keys == ["file"]
    assert source.plan().is_empty


def test_apply_reaches_the_declared_state_and_start_runs_in_any_case(server: ConnectServer) -> None:
    paused = _source(server, DesiredState.PAUSED)
    paused.apply()
    assert paused.status().has_reached(State.PAUSED)
    paused.start()
    assert paused.status().has_reached(State.RUNNING)


def test_verbs_end_when_their_effect_is_seen(source: FileStreamSourceResource) -> None:
    source.apply()
    source.pause()
    assert source.status().has_reached(State.PAUSED)
    source.stop()
    assert source.status().has_reached(State.STOPPED)
    source.resume()
    assert source.status().has_reached(State.RUNNING)
    source.delete()
    with pytest.raises(KafkaConnectError, match="404"):
        source.status()


def test_apply_restarts_what_failed(server: ConnectServer, source: FileStreamSourceResource) -> None:
    source.apply()
    server.herder.fail("src")
    assert source.apply().restarts
    assert source.status().has_reached(State.RUNNING)


def test_restart_brings_back_failed_tasks_and_leaves_a_pause(
    server: ConnectServer, source: FileStreamSourceResource
) -> None:
    source.apply()
    server.herder.fail("src")
    source.restart()
    assert source.status().has_reached(State.RUNNING)
    source.pause()
    source.restart(only_failed=False)
    assert source.status().has_reached(State.PAUSED)


def test_a_verb_without_effect_says_where_the_connector_is_instead(
    server: ConnectServer, source: FileStreamSourceResource
) -> None:
    source.apply()
    server.herder.stuck.add("src")
    with pytest.raises(dg.Failure) as failure:
        source.pause()
    assert str(failure.value.description) == (
        "Connector 'src' did not reach PAUSED within 0.3 s: RUNNING, task 0 RUNNING"
    )
    with pytest.raises(dg.Failure) as failure:
        source.delete()
    assert failure.value.description == "Connector 'src' is still there 0.3 s after it was deleted"


@pytest.mark.parametrize("state", [TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED])
def test_offsets_are_changed_while_stopped_and_the_state_comes_back(
    server: ConnectServer, source: FileStreamSourceResource, state: TargetState
) -> None:
    server.create("src", state)
    entry = {"partition": {"filename": "/tmp/in.txt"}, "offset": {"position": 42}}
    changed = source.alter_offsets([entry])
    assert (changed.before, changed.after) == ([], [PartitionOffset.model_validate(entry)])
    assert server.herder.targets["src"] is state
    assert source.offsets() == [PartitionOffset.model_validate(entry)]
    assert source.reset_offsets().before == [PartitionOffset.model_validate(entry)]
    assert (source.offsets(), server.herder.targets["src"]) == ([], state)


def test_a_refused_configuration_names_the_key(server: ConnectServer) -> None:
    source = FileStreamSourceResource(workspace=server.workspace, name="src", topic="lines")
    with pytest.raises(InvalidConnectorError) as refused:
        source.apply()
    assert str(refused.value.description) == (
        "The worker refuses the configuration of connector 'src': "
        'file: Missing required configuration "file" which has no default value; '
        "see docs/reference/connector_options.md"
    )


def test_a_run_and_a_script_use_it_alike(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONNECT_URL", server.workspace.url)
    workspace = KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL"), poll_interval=0.02)
    source = FileStreamSourceResource(workspace=workspace, name="src", topic="lines", file=dg.EnvVar("CONNECT_URL"))

    @dg.asset
    def paused(src: FileStreamSourceResource) -> None:
        src.apply()
        src.pause()

    assert dg.materialize([paused], resources={"src": source}).success
    assert server.herder.configs["src"]["file"] == server.workspace.url
    assert source.status().connector.state is State.PAUSED
    assert TaskId("src", 0) in server.herder.task_states
