"""Columns from a schema registry, and what is told with them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, DagsterInstance

from connect_dagster.embedded.ports import free_port
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.orchestration import (
    KafkaConnectWorkspace,
    build_kafka_connect_assets_definitions,
    build_kafka_connect_polling_sensor,
)
from connect_dagster.orchestration.assets.keys import connector_key, table_key, topic_key
from connect_dagster.orchestration.observations.topic_columns import SchemaRegistryError, registered_columns
from tests.unit.orchestration.assets.test_column_schema import CUSTOMERS_COLUMNS, told
from tests.unit.orchestration.connect_server import connect_server

CUSTOMERS = connector_key("local", "customers")
TIMESTAMP = {"type": "long", "connect.name": "org.apache.kafka.connect.data.Timestamp"}
TYPES: dict[str, Any] = {"id": "int", "name": "string", "email": "string", "created": TIMESTAMP, "modified": TIMESTAMP}
AVRO = {"type": "record", "name": "customers", "fields": [{"name": name, "type": TYPES[name]} for name in TYPES]}
JSON = {"type": "object", "properties": {"id": {"type": "integer"}}}
SUBJECTS = {
    "/subjects/mysql-customers-value/versions/latest": {"schema": json.dumps(AVRO)},
    "/subjects/json%2Ftopic-value/versions/latest": {"schema": json.dumps(JSON), "schemaType": "JSON"},
    "/subjects/proto-value/versions/latest": {"schema": '"syntax"', "schemaType": "PROTOBUF"},
    "/subjects/broken-value/versions/latest": {"schema": "{"},
}


class Registry(BaseHTTPRequestHandler):
    """Serve schemas as Confluent's registry does; with a token, only to requests that have it."""

    token: str | None = None

    def do_GET(self) -> None:
        if self.token is not None and self.headers["Authorization"] != f"Bearer {self.token}":
            self.send_error(401)
            return
        found = SUBJECTS.get(self.path)
        body = json.dumps(found or {"error_code": 40401, "message": "Subject not found."}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a request is no news."""


@contextmanager
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_s3_09_the_newest_schema_of_a_topics_values_gives_its_columns() -> None:
    with registry() as url:
        assert told(registered_columns(url, "mysql-customers", 5)) == CUSTOMERS_COLUMNS
        assert told(registered_columns(f"{url}/", "json/topic", 5)) == ["id int64?"]
        assert registered_columns(url, "unknown", 5) is None
        assert registered_columns(url, "proto", 5) is None


def test_a_registry_asks_for_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "token", "t0ken")
    workspace = KafkaConnectWorkspace(
        schema_registry_token="t0ken", schema_registry_ca_file="ca.jks", schema_registry_ca_password="changeit"
    )
    access = workspace.schema_registry_access
    assert (access.ca_file, access.ca_password) == ("ca.jks", "changeit")
    with registry() as url:
        assert told(registered_columns(url, "json/topic", 5, access)) == ["id int64?"]
        with pytest.raises(SchemaRegistryError, match="401"):
            registered_columns(url, "json/topic", 5)
        with pytest.raises(SchemaRegistryError, match=r"did not give the schema of topic 't': .*ca\.jks"):
            registered_columns("https://127.0.0.1:1", "t", 5, access)


def test_a_registry_that_does_not_answer_is_named_without_its_password() -> None:
    with registry() as url, pytest.raises(SchemaRegistryError, match=f"The schema registry {url} did not give"):
        registered_columns(url, "broken", 5)
    with pytest.raises(SchemaRegistryError) as error:
        registered_columns(f"http://ann:kafka123@127.0.0.1:{free_port()}", "t", 5)
    assert "kafka123" not in str(error.value)


def test_s3_09_a_run_and_the_sensor_tell_the_columns_of_the_topic_and_where_they_come_from() -> None:
    with registry() as url, connect_server(schema_registry_url=url) as server, DagsterInstance.ephemeral() as instance:
        server.create(
            "customers",
            connector_class="io.confluent.connect.jdbc.JdbcSourceConnector",
            connection_url="jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123",
            table_whitelist="customers",
            topic_prefix="mysql-",
        )
        defs = build_kafka_connect_assets_definitions(workspace=server.workspace)
        job = dg.define_asset_job("apply", selection=dg.AssetSelection.assets(CUSTOMERS))
        merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
        assert merged.resolve_job_def("apply").execute_in_process(instance=instance).success
        topic = topic_key("mysql-customers")
        event = instance.get_latest_materialization_event(topic)
        assert event is not None
        assert event.asset_materialization is not None
        _check_columns(event.asset_materialization.metadata, table_key("mysql", ["kafkadb", "customers"]))
        again = merged.resolve_job_def("apply").execute_in_process(instance=instance)
        assert [one.asset_key for one in again.get_asset_materialization_events()] == [CUSTOMERS]

        server.herder.offsets["customers"] = [ConnectorOffset({"table": "customers"}, {"incrementing": 1})]
        with dg.build_sensor_context(instance=instance) as context:
            result = build_kafka_connect_polling_sensor(workspace=server.workspace).evaluate_tick(context)
        materialization = next(event for event in result.asset_events if event.asset_key == topic)
        _check_columns(materialization.metadata, table_key("mysql", ["kafkadb", "customers"]))


def test_dagsters_check_finds_columns_that_changed_between_two_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = topic_key("mysql-customers")
    checks = dg.build_column_schema_change_checks(assets=[topic])
    cursor = None
    with registry() as url, connect_server(schema_registry_url=url) as server, DagsterInstance.ephemeral() as instance:
        server.create("customers", topic="mysql-customers")
        sensor = build_kafka_connect_polling_sensor(workspace=server.workspace, event_interval_seconds=0)

        def passed_after(position: int) -> bool:
            nonlocal cursor
            server.herder.offsets["customers"] = [ConnectorOffset({"filename": "/tmp/in"}, {"position": position})]
            with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
                result = sensor.evaluate_tick(context)
            cursor = result.cursor
            for event in result.asset_events:
                if isinstance(event, dg.AssetMaterialization):
                    instance.report_runless_asset_event(event)
            defs = dg.Definitions(assets=[dg.AssetSpec(topic)], asset_checks=checks)
            run = defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
            (evaluation,) = run.get_asset_check_evaluations()
            return evaluation.passed

        assert passed_after(1)
        assert passed_after(2)
        wider = {**AVRO, "fields": [*AVRO["fields"], {"name": "phone", "type": "string"}]}
        monkeypatch.setitem(SUBJECTS, "/subjects/mysql-customers-value/versions/latest", {"schema": json.dumps(wider)})
        assert not passed_after(3)
        assert passed_after(4)


def _check_columns(metadata: Any, table: AssetKey) -> None:
    assert told(_columns(metadata)) == CUSTOMERS_COLUMNS
    lineage = metadata["dagster/column_lineage"].value
    assert lineage.deps_by_column["email"] == [dg.TableColumnDep(table, "email")]


def _columns(metadata: Any) -> dg.TableSchema:
    columns = metadata["dagster/column_schema"].value
    assert isinstance(columns, dg.TableSchema)
    return columns
