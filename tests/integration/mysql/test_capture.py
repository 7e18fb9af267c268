"""Rows and changes of real servers in Kafka: a snapshot, then the binary log."""

from typing import Any

import pytest
from dagster import DagsterInstance

from connect_dagster.orchestration import KafkaConnectWorkspace, build_capture_signal_job
from connect_dagster.orchestration.checks.capture import retention_outcome
from connect_dagster.orchestration.observations.capture import capture_metadata
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from tests.binlog_servers import REPLICATION_RIGHTS, MySQL
from tests.databases import Database
from tests.integration import topics
from tests.integration.mysql.conftest import Capture

GOODS = "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2))"


def brief(record: tuple[Any, Any]) -> tuple[Any, ...]:
    """Key, operation, marker, and the rows before and after."""
    key, value = record
    if value is None:
        return key["id"], None
    return key["id"], value["op"], value["source"]["snapshot"], *(_row(value[name]) for name in ("before", "after"))


def _row(row: Any) -> Any:
    return row and tuple(row.values())


@pytest.fixture(params=["mysql_database", "mariadb_with_log_database"])
def captured(request: pytest.FixtureRequest) -> Database:
    """An empty database in each kind of server."""
    found: Database = request.getfixturevalue(request.param)
    return found


def test_a_snapshot_and_what_comes_after_it(capture: Capture, captured: Database) -> None:
    database = captured
    database.execute(GOODS, "INSERT INTO goods VALUES (1, '별', 2.50), (2, NULL, NULL), (3, 'c', -0.01)")
    topic = f"{capture.prefix}.{database.name}.goods"
    with capture.running(capture.config(database)):
        assert [brief(record) for record in capture.records(topic, 3)] == [
            (1, "r", "first", None, (1, "별", "APo=")),
            (2, "r", "true", None, (2, None, None)),
            (3, "r", "last", None, (3, "c", "/w==")),
        ]
        database.execute(
            "INSERT INTO goods VALUES (4, 'd', 1)",
            "UPDATE goods SET name = 'e' WHERE id = 1",
            "UPDATE goods SET id = 5 WHERE id = 2",
            "DELETE FROM goods WHERE id = 3",
            "ALTER TABLE goods ADD COLUMN color VARCHAR(9)",
            "INSERT INTO goods VALUES (6, 'f', NULL, 'red')",
        )
        assert [brief(record) for record in capture.records(topic, 11)[3:]] == [
            (4, "c", "false", None, (4, "d", "ZA==")),
            (1, "u", "false", (1, "별", "APo="), (1, "e", "APo=")),
            (2, "d", "false", (2, None, None), None),
            (2, None),
            (5, "c", "false", None, (5, None, None)),
            (3, "d", "false", (3, "c", "/w=="), None),
            (3, None),
            (6, "c", "false", None, (6, "f", None, "red")),
        ]


def test_metrics_have_the_names_of_debezium(capture: Capture, captured: Database) -> None:
    captured.execute(GOODS, "INSERT INTO goods VALUES (1, 'a', 1), (2, 'b', 2)")
    topic = f"{capture.prefix}.{captured.name}.goods"
    with capture.running(capture.config(captured)):
        capture.records(topic, 2)
        captured.execute("INSERT INTO goods VALUES (3, 'c', 3)", "DELETE FROM goods WHERE id = 1")
        capture.records(topic, 5)
        metrics = capture.process.call("GET", "/metrics").body.decode()
        plugin = "mysql" if isinstance(captured.server, MySQL) else "mariadb"
        stream = f'context="streaming",name="{capture.prefix}",plugin="{plugin}"'
        snapshot = f'context="snapshot",name="{capture.prefix}",plugin="{plugin}"'
        for line in (
            f"debezium_metrics_Connected{{{stream}}} 1.0",
            f"debezium_metrics_TotalNumberOfCreateEventsSeen{{{stream}}} 1.0",
            f"debezium_metrics_TotalNumberOfDeleteEventsSeen{{{stream}}} 1.0",
            f"debezium_metrics_SnapshotCompleted{{{snapshot}}} 1.0",
            f'debezium_metrics_RowsScanned{{{snapshot},table="{captured.name}.goods"}} 2.0',
        ):
            assert line in metrics
        assert f"debezium_metrics_MilliSecondsBehindSource{{{stream}}}" in metrics


def test_transactions_have_metadata(capture: Capture, captured: Database) -> None:
    captured.execute(GOODS)
    topic = f"{capture.prefix}.{captured.name}.goods"
    with capture.running(capture.config(captured, provide_transaction_metadata="true")):
        capture.records(f"{capture.prefix}", 1)
        with captured.connected() as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO goods VALUES (1, 'a', 1)")
            cursor.execute("INSERT INTO goods VALUES (2, 'b', 2)")
            connection.commit()
        values = [value for _, value in capture.records(topic, 2)]
        begin, end = (value for _, value in capture.records(f"{capture.prefix}.transaction", 2))
    assert [value["transaction"]["total_order"] for value in values] == [1, 2]
    assert {value["transaction"]["id"] for value in values} == {begin["id"]}
    assert (begin["status"], end["status"], end["event_count"]) == ("BEGIN", "END", 2)


def test_what_dagster_sees_and_signals(capture: Capture, mysql_database: Database) -> None:
    database = mysql_database
    database.execute(
        GOODS,
        "INSERT INTO goods VALUES (1, 'a', 1), (2, 'b', 2)",
        "CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data TEXT)",
    )
    config = capture.config(
        database,
        signal_enabled_channels="source,kafka",
        signal_kafka_bootstrap_servers=capture.broker.bootstrap_servers,
        signal_poll_interval_ms="200",
        signal_data_collection=f"{database.name}.signals",
    )
    server = database.server
    assert isinstance(server, MySQL)
    user = server.new_user((*REPLICATION_RIGHTS, "INSERT", "DELETE"))
    config |= {"database.user": user.name, "database.password": user.password}
    topic = f"{capture.prefix}.{database.name}.goods"
    topics.create(capture.broker.bootstrap_servers, f"{capture.prefix}-signal", 1)
    workspace = KafkaConnectWorkspace(url=capture.process.rest_url, bootstrap_servers=capture.broker.bootstrap_servers)
    with capture.running(config):
        capture.records(topic, 2)
        database.execute("INSERT INTO goods VALUES (3, 'c', 3)")
        capture.records(topic, 3)
        poll = ConnectorPoll(workspace)
        (snapshot,) = poll.snapshots([poll.connectors()[capture.prefix]])
        assert snapshot.capture is not None
        metadata = capture_metadata(snapshot.capture)
        assert {
            "binlog_file",
            "binlog_position",
            "lag_seconds",
            "connected",
            "snapshot_rows",
            "incremental_snapshot_tables_left",
        } <= metadata.keys()
        assert retention_outcome(snapshot.capture, 0.5).passed
        job = build_capture_signal_job(workspace=workspace)
        asked = {"type": "incremental", "data-collections": [f"{database.name}.goods"]}
        with DagsterInstance.ephemeral() as instance:
            given = {"ops": {"capture_signal_op": {"config": {"connector": capture.prefix, "data": asked}}}}
            assert job.execute_in_process(given, instance=instance).success
        assert [value["op"] for _, value in capture.records(topic, 6)] == ["r", "r", "c", "r", "r", "r"]
