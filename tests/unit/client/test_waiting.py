"""Waiting for effects that come late, from a worker that is busy meanwhile."""

from collections.abc import Iterator
from threading import Timer

import pytest

from connect_dagster.client.offsets_change import change_offsets
from connect_dagster.client.operations import GONE, StateNotReachedError, Wait, await_deleted, await_states
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.errors import NotFoundError
from connect_dagster.herder.interface import StoredConfig
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState, TaskId
from tests.unit.orchestration.connect_server import ConnectServer, connect_server


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("a")
        yield server


@pytest.fixture(name="client")
def client_fixture(server: ConnectServer) -> KafkaConnectClient:
    return server.workspace.get_client()


def reset(client: KafkaConnectClient) -> str:
    changed = change_offsets(client, "a", KafkaConnectClient.reset_offsets, lambda former: former, Wait(2.0, 0.01))
    return changed.message


def test_a_state_that_comes_late_is_waited_for(server: ConnectServer, client: KafkaConnectClient) -> None:
    reached: dict[str, str] = {}
    late = Timer(0.2, server.herder.pause_connector, ["a"])
    late.start()
    goals = {"a": DesiredState.PAUSED}
    assert await_states(client, goals, Wait(5.0, 0.02), reached=reached.__setitem__) == {}
    assert reached == {"a": "PAUSED, task 0 PAUSED"}


def test_tasks_of_a_former_configuration_are_waited_for(server: ConnectServer, client: KafkaConnectClient) -> None:
    """`GET …/status` cannot tell them from tasks of the new one: the wait ended while the old ones still ran."""
    goals = {"a": DesiredState.RUNNING}
    server.herder.stored["a"] = StoredConfig(2, 1, (TaskId("a", 0),), planned=False)
    late = "RUNNING, task 0 RUNNING with a former configuration"
    assert await_states(client, goals, Wait(0.1, 0.02)) == {"a": late}
    planned = Timer(0.2, server.herder.stored.clear)
    planned.start()
    assert await_states(client, goals, Wait(5.0, 0.02)) == {}


def test_a_worker_that_does_not_know_what_runs_is_asked_for_states_alone(
    server: ConnectServer, client: KafkaConnectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(name: str) -> StoredConfig:
        raise NotFoundError("HTTP 404 Not Found")

    monkeypatch.setattr(server.herder, "stored_config", unknown)
    assert await_states(client, {"a": DesiredState.RUNNING}, Wait(0.1, 0.02)) == {}


def test_what_did_not_get_there_is_told_with_where_it_is(server: ConnectServer, client: KafkaConnectClient) -> None:
    server.create("b", TargetState.STOPPED)
    goals = dict.fromkeys(("a", "b", "nobody"), DesiredState.RUNNING)
    assert await_states(client, goals, Wait(0.1, 0.02)) == {"b": "STOPPED", "nobody": GONE}


def test_a_group_that_rebalances_is_asked_again_whether_a_connector_is_gone(
    server: ConnectServer, client: KafkaConnectClient
) -> None:
    client.delete("a")
    server.herder.rebalancing = 3
    assert await_deleted(client, ["a"], Wait(5.0, 0.01)) == []
    server.herder.rebalancing = 10_000
    assert await_deleted(client, ["a"], Wait(0.1, 0.01)) == ["a"]


def test_offsets_are_changed_once_a_rebalance_is_over(server: ConnectServer, client: KafkaConnectClient) -> None:
    server.herder.rebalancing = 3
    assert reset(client) == "The offsets of a have been reset successfully"
    assert server.herder.targets["a"] is TargetState.STARTED


def test_a_rebalance_that_does_not_end_sends_the_connector_back(
    server: ConnectServer, client: KafkaConnectClient
) -> None:
    server.herder.rebalancing = 10_000
    with pytest.raises(KafkaConnectError, match="momentarily"):
        change_offsets(client, "a", KafkaConnectClient.reset_offsets, lambda _: _, Wait(0.1, 0.01))
    assert server.herder.targets["a"] is TargetState.STARTED


def test_a_connector_that_does_not_start_again_is_told(server: ConnectServer, client: KafkaConnectClient) -> None:
    server.herder.configs["a"]["tasks.max"] = "0"
    with pytest.raises(StateNotReachedError, match=r"'a' is not RUNNING after 0.1 s: RUNNING"):
        change_offsets(client, "a", KafkaConnectClient.reset_offsets, lambda _: _, Wait(0.1, 0.01))
