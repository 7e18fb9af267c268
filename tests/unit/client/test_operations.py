"""Requests to connectors and what came of them, at a served worker."""

from collections.abc import Iterator

import pytest

from connect_dagster.client.operations import DELETED, STILL_THERE, Outcome, Wait, ask_and_await, delete_and_await
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

BRIEFLY = Wait(0.1, 0.02)


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("a")
        server.create("stuck")
        server.herder.stuck.add("stuck")
        yield server


@pytest.fixture(name="client")
def client_fixture(server: ConnectServer) -> KafkaConnectClient:
    return server.workspace.get_client()


def test_the_outcome_has_those_that_got_there_those_late_and_those_refused(client: KafkaConnectClient) -> None:
    seen: dict[str, str] = {}
    goals = dict.fromkeys(("a", "stuck", "nobody"), DesiredState.PAUSED)
    outcome = ask_and_await(
        client,
        goals,
        lambda name: client.set_target_state(name, DesiredState.PAUSED),
        BRIEFLY,
        reached=seen.__setitem__,
    )
    assert outcome.reached == seen == {"a": "PAUSED, task 0 PAUSED"}
    assert outcome.unreached == {"stuck": "RUNNING, task 0 RUNNING"}
    refusal = f"PUT {client.url}/connectors/nobody/pause → 404: Unknown connector nobody"
    assert outcome.failed == {"nobody": refusal, "stuck": "RUNNING, task 0 RUNNING"}
    with pytest.raises(KafkaConnectError, match="Unknown connector nobody"):
        outcome.raise_refusal()


def test_without_a_wait_requests_are_sent_and_states_are_not_asked_for(
    server: ConnectServer, client: KafkaConnectClient
) -> None:
    outcome = ask_and_await(client, {"a": DesiredState.STOPPED}, client.stop, None)
    assert outcome == Outcome()
    assert server.herder.asked == [("a", TargetState.STOPPED)]
    assert server.herder.looks == 0


@pytest.mark.parametrize(
    ("state", "target"),
    [
        (DesiredState.PAUSED, TargetState.PAUSED),
        (DesiredState.STOPPED, TargetState.STOPPED),
        (DesiredState.RUNNING, TargetState.STARTED),
    ],
)
def test_a_target_state_is_a_request_of_its_own(
    server: ConnectServer, client: KafkaConnectClient, state: DesiredState, target: TargetState
) -> None:
    client.set_target_state("a", state)
    assert server.herder.asked == [("a", target)]


def test_deletions_are_seen(client: KafkaConnectClient) -> None:
    outcome = delete_and_await(client, ["a", "stuck", "nobody"], BRIEFLY)
    assert (outcome.reached, outcome.unreached) == ({"a": DELETED}, {"stuck": STILL_THERE})
    assert list(outcome.refused) == ["nobody"]
