from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from connect_dagster.client.masking import MASK
from connect_dagster.client.rest_client import KafkaConnectClient, RetryPolicy
from connect_dagster.client.types import State
from connect_dagster.herder.interface import ConnectorConfig
from connect_dagster.orchestration.connectors.apply import InvalidConnectorError, carry_out, plan
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.plugin.config import ConfigKey, ConfigTable, Type, config_infos
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import serving

SPEC = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})


@pytest.fixture(name="herder")
def herder_fixture() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture(name="client")
def client_fixture(herder: MemoryHerder) -> Iterator[KafkaConnectClient]:
    with serving(herder) as server:
        yield KafkaConnectClient(server.advertised_url, retry=RetryPolicy(0))


def test_a_missing_connector_is_created_in_its_state(herder: MemoryHerder, client: KafkaConnectClient) -> None:
    spec = KafkaConnectConnectorSpec.from_config(SPEC.resolved_config(), DesiredState.PAUSED)
    planned = plan(client, spec)
    assert planned.lines() == [
        "lines: create",
        "  + connector.class=FileStreamSource",
        "  + file=/tmp/in.txt",
        "  + name=lines",
        "  + tasks.max=1",
        "  + topic=lines",
    ]
    carry_out(client, planned)
    assert herder.targets == {"lines": TargetState.PAUSED}
    assert herder.configs["lines"] == spec.resolved_config()


def test_doing_it_twice_does_nothing_the_second_time(client: KafkaConnectClient) -> None:
    carry_out(client, plan(client, SPEC))
    again = plan(client, SPEC)
    assert again.is_empty
    assert again.lines() == ["lines: no change"]


def test_a_connector_that_somebody_else_created_meanwhile_gets_what_is_declared(
    herder: MemoryHerder, client: KafkaConnectClient
) -> None:
    planned = plan(client, KafkaConnectConnectorSpec.from_config(SPEC.resolved_config(), DesiredState.PAUSED))
    client.put_config("lines", {"name": "lines", "connector.class": "FileStreamSource", "topic": "others"})
    carry_out(client, planned)
    assert herder.configs["lines"] == SPEC.resolved_config()
    assert herder.targets == {"lines": TargetState.PAUSED}


def test_a_changed_key_and_another_state_are_told_and_done(herder: MemoryHerder, client: KafkaConnectClient) -> None:
    carry_out(client, plan(client, SPEC))
    changed = {**SPEC.resolved_config(), "file": "/tmp/other.txt", "connection.password": "kafka123"}
    planned = plan(client, KafkaConnectConnectorSpec.from_config(changed, DesiredState.STOPPED))
    assert planned.lines() == [
        "lines: change and go from RUNNING to STOPPED",
        f"  + connection.password={MASK}",
        "  - file=/tmp/in.txt",
        "  + file=/tmp/other.txt",
    ]
    assert herder.targets == {"lines": TargetState.STARTED}, "a plan changes nothing"
    carry_out(client, planned)
    assert herder.targets == {"lines": TargetState.STOPPED}
    assert herder.configs["lines"]["connection.password"] == "kafka123"
    assert client.status("lines").connector.state is State.STOPPED


class Demanding(MemoryHerder):
    """Its connectors need a topic."""

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        table = ConfigTable((ConfigKey("topic", Type.STRING),))
        return config_infos("FileStreamSource", table, table.validate_all(config))


def test_what_the_worker_refuses_names_connector_and_key() -> None:
    spec = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt"})
    refusal = r"configuration of connector 'lines': topic: .*no default value"
    with serving(Demanding()) as server, pytest.raises(InvalidConnectorError, match=refusal):
        plan(KafkaConnectClient(server.advertised_url), spec)


def test_what_comes_from_the_environment_is_not_shown(
    herder: MemoryHerder, client: KafkaConnectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIN", "geheim99")
    spec = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"topic": "t", "pin": dg.EnvVar("PIN")})
    planned = plan(client, spec)
    assert f"  + pin={MASK}" in planned.lines()
    carry_out(client, planned)
    assert herder.configs["lines"]["pin"] == "geheim99"


def test_a_variable_that_is_not_set_is_named(client: KafkaConnectClient) -> None:
    spec = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"topic": dg.EnvVar("NO_SUCH_TOPIC")})
    assert spec.declared_config()["topic"] == "${env:NO_SUCH_TOPIC}"
    with pytest.raises(dg.Failure, match=r"'lines' needs environment variables .*: NO_SUCH_TOPIC \(for topic\)"):
        plan(client, spec)
