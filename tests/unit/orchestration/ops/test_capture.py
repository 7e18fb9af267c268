"""The job that sends signals: connectors that take none, and what is written."""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterInstance

from connect_dagster.orchestration import KafkaConnectWorkspace, build_binlog_retention_checks, build_capture_signal_job
from connect_dagster.orchestration.ops import capture
from tests.unit.orchestration.connect_server import ConnectServer, connect_server
from tests.unit.orchestration.ops.test_mirror import failure, reported

MYSQL = "io.debezium.connector.mysql.MySqlConnector"


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(bootstrap_servers="broker:9092") as server:
        server.create("shop", connector_class=MYSQL, topic_prefix="shop", signal_enabled_channels="source, kafka")
        server.create("deaf", connector_class=MYSQL, topic_prefix="deaf")
        server.create("lines", connector_class="FileStreamSource", topic="lines", file="/tmp/lines")
        yield server


def launch(workspace: KafkaConnectWorkspace, **config: Any) -> dg.ExecuteInProcessResult:
    job = build_capture_signal_job(workspace=workspace)
    with DagsterInstance.ephemeral() as instance:
        run_config = {"ops": {"capture_signal_op": {"config": config}}}
        return job.execute_in_process(run_config, instance=instance, raise_on_error=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absent", "The connector 'absent' does not exist. Those that capture changes: deaf, shop."),
        ("lines", "The connector 'lines' does not capture the changes of MySQL or MariaDB."),
        (
            "deaf",
            "The connector 'deaf' reads no signals from a topic: set signal.enabled.channels to source,kafka (it is "
            "source), and signal.kafka.bootstrap.servers to the brokers.",
        ),
    ],
)
def test_connectors_that_take_no_signals(server: ConnectServer, name: str, text: str) -> None:
    assert failure(launch(server.workspace, connector=name)) == text


def test_a_signal(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(capture, "send_signal", lambda *given: sent.append(given))
    data = {"type": "incremental", "data-collections": ["shop.orders"]}
    result = launch(server.workspace, connector="shop", data=data)
    assert result.success
    ((brokers, topic, key, signal, timeout),) = sent
    assert (str(brokers), topic, key, timeout) == ("broker:9092", "shop-signal", "shop", 30.0)
    assert (signal["type"], signal["data"]) == ("execute-snapshot", data)
    assert reported(result) == {"topic": "shop-signal", "signal_id": signal["id"], "type": "execute-snapshot"}
    json.dumps(signal)


def test_brokers_that_do_not_respond() -> None:
    with pytest.raises(dg.Failure) as raised:
        capture.send_signal("127.0.0.1:1", "shop-signal", "shop", {"type": "log"}, 1.0)
    assert str(raised.value.description).startswith("The signal cannot be written to shop-signal: ")


def test_workspaces_without_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers to the workspace"):
        build_capture_signal_job(workspace=KafkaConnectWorkspace(url="http://c"))


def test_a_share_that_is_none() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="max_share is a part of a time"):
        build_binlog_retention_checks(workspace=KafkaConnectWorkspace(url="http://c"), connectors=["shop"], max_share=2)
