"""A connector that Java's workers and Debezium 1.9 leave behind: its configuration, its offset, its history of 1.x."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.orchestration import KafkaConnectWorkspace
from connect_dagster.orchestration.observations.metadata import shown_config
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from tests.binlog_servers import MySQL
from tests.conftest import Broker
from tests.databases import Database
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics

pytestmark = pytest.mark.nightly

TABLES = ("customers", "products", "orders", "order_items", "boards")
NAME = "mysql_cdc_ops_source_avro_01"


def seed_task(server: MySQL, database: str, bootstrap_servers: str, registry: str, prefix: str) -> dict[str, str]:
    """The 26 properties of the article's record `task-mysql_cdc_ops_source_avro_01-0`, at other places."""
    user = server.new_user()
    return {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "transforms.rename_topic.regex": r"(.*)\.(.*)\.(.*)",
        "tasks.max": "1",
        "database.history.kafka.topic": f"{prefix}-schema-changes.mysql.oc",
        "transforms": "rename_topic, unwrap",
        "transforms.unwrap.drop.tombstones": "false",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "key.converter": "io.confluent.connect.avro.AvroConverter",
        "database.connectionTimezone": "Asia/Seoul",
        "database.user": user.name,
        "transforms.rename_topic.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "database.server.id": "30001",
        "database.history.kafka.bootstrap.servers": bootstrap_servers,
        "time.precision.mode": "connect",
        "database.server.name": prefix,
        "database.port": str(server.port),
        "value.converter.schema.registry.url": registry,
        "task.class": "io.debezium.connector.mysql.MySqlConnectorTask",
        "database.hostname": "localhost",
        "database.password": user.password,
        "name": NAME,
        "table.include.list": ", ".join(f"{database}.{table}" for table in TABLES),
        "key.converter.schema.registry.url": registry,
        "database.include.list": database,
        "transforms.rename_topic.replacement": "$1-$2-$3",
    }


def produce(bootstrap_servers: str, topic: str, records: list[tuple[str | None, Any]]) -> None:
    """Write JSON to a topic of one partition, compacted where records have keys, as Java keeps it."""
    policy = "delete" if records[0][0] is None else "compact"
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": policy})])[topic].result(60)
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for key, value in records:
        producer.produce(topic, json.dumps(value), key, partition=0)
    assert producer.flush(60) == 0


def test_la_11_a_connector_of_javas_worker(
    broker: Broker, mysql: MySQL, mysql_database: Database, schema_registry: str, tmp_path: Path
) -> None:
    servers, prefix = broker.bootstrap_servers, f"mysqlavro{uuid.uuid4().hex[:8]}"
    statements = [f"CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(20), made DATETIME)" for table in TABLES]
    mysql_database.execute(*statements, "INSERT INTO customers VALUES (1, 'before', NULL)")
    position = mysql.log_position()
    mysql_database.execute(
        "INSERT INTO customers VALUES (2, 'after', '2023-01-15 14:29:09')",
        "ALTER TABLE customers ADD COLUMN email VARCHAR(30)",
        "INSERT INTO customers VALUES (3, 'later', NULL, 'a@b')",
    )
    task = seed_task(mysql, mysql_database.name, servers, schema_registry, prefix)
    assert len(task) == 26
    connector = {key: value for key, value in task.items() if key != "task.class"}
    props = group_properties(servers, f"{prefix}-")
    produce(
        servers,
        props["config.storage.topic"],
        [
            (f"connector-{NAME}", {"properties": connector}),
            (f"task-{NAME}-0", {"properties": task}),
            (f"commit-{NAME}", {"tasks": 1}),
        ],
    )
    offset = {"ts_sec": 1673760549, "file": position.file, "pos": position.position, "row": 0, "server_id": 1}
    key = json.dumps([NAME, {"server": prefix}], separators=(",", ":"))
    produce(servers, props["offset.storage.topic"], [(key, offset)])
    produce(
        servers,
        task["database.history.kafka.topic"],
        [
            (
                None,
                {
                    "source": {"server": prefix},
                    "position": {"ts_sec": 1673760500, "file": position.file, "pos": 4, "snapshot": True},
                    "databaseName": mysql_database.name,
                    "ddl": statement,
                },
            )
            for statement in statements
        ],
    )
    with DistributedProcess(props, tmp_path) as worker:
        worker.wait_states(NAME, "RUNNING", "RUNNING", timeout=60)
        found = topics.read_topic(servers, f"{prefix}-{mysql_database.name}-customers", 2, timeout=90)
        assert [b"after" in (one.value() or b"") for one in found] == [True, False]
        assert b"a@b" in (found[1].value() or b"")
        (found_task,) = worker.call("GET", f"/connectors/{NAME}/tasks").json
        assert found_task["config"]["task.class"].endswith("MySqlConnectorTask")
        shown = shown_config(ConnectorPoll(KafkaConnectWorkspace(url=worker.rest_url)).connectors()[NAME])
        assert task["database.password"] not in str(shown)
        assert shown["database.user"] == task["database.user"]
        worker.wait_until(lambda: _stored(worker) != position.position, "a new offset", 60)
    assert topics.size(servers, f"{prefix}-{mysql_database.name}-customers") == 2


def _stored(worker: DistributedProcess) -> int:
    (found,) = worker.call("GET", f"/connectors/{NAME}/offsets").json["offsets"]
    return int(found["offset"]["pos"])
