"""Slips of the seeds' configurations, their transforms, and the number of a connector among the replicas."""

from tests.binlog_servers import MySQL
from tests.databases import Database
from tests.integration import topics
from tests.integration.mysql.conftest import CONNECTORS, Capture
from tests.integration.mysql.test_capture import GOODS
from tests.integration.mysql.test_seed_capture import seed_config
from tests.rest_calls import Answer

TRANSFORMS = {
    "transforms": "rename_topic, unwrap",
    "transforms.rename_topic.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.rename_topic.regex": r"(.*)\.(.*)\.(.*)",
    "transforms.rename_topic.replacement": "$1-$2-$3",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.drop.tombstones": "false",
}


def refused(capture: Capture, config: dict[str, str]) -> str:
    """Return the worker's error text for a configuration that it refuses."""
    answer: Answer = capture.process.call("PUT", f"/connectors/{capture.prefix}/config", config)
    assert answer.status == 400, answer.body
    return str(answer.json["message"])


def test_la_02_a_misspelt_option(capture: Capture, mysql: MySQL) -> None:
    config = seed_config(capture, mysql)
    right = "database.history.kafka.bootstrap.servers"
    config["database.histroy.kafka.bootstrap.servers"] = config.pop(right)
    text = refused(capture, config)
    assert "database.histroy.kafka.bootstrap.servers" in text
    assert "schema.history.internal.kafka.bootstrap.servers" in text


def test_la_03_names_of_another_connector(capture: Capture, mysql: MySQL) -> None:
    config = seed_config(capture, mysql)
    for part in ("hostname", "port", "user", "password"):
        config[f"connection.{part}"] = config.pop(f"database.{part}")
    text = refused(capture, config)
    assert 'Missing required configuration "database.hostname"' in text
    for part in ("hostname", "port", "user", "password"):
        assert f"it is database.{part}" in text
    unnamed = seed_config(capture, mysql)
    del unnamed["database.server.name"]
    assert 'Missing required configuration "topic.prefix"' in refused(capture, unnamed)


def test_s5_27_a_prefix_with_an_underscore(capture: Capture, mysql: MySQL) -> None:
    config = seed_config(capture, mysql)
    config["topic_prefix"] = f"{config.pop('database.server.name')}-"
    text = refused(capture, config)
    assert 'Missing required configuration "topic.prefix" which has no default value' in text
    assert "topic_prefix" in text


def test_la_08_flat_rows_in_renamed_topics(capture: Capture, mysql: MySQL, mysql_database: Database) -> None:
    mysql_database.execute(GOODS.replace("goods", "customers"))
    config = seed_config(capture, mysql, database_include_list=mysql_database.name) | TRANSFORMS
    topic = f"{capture.prefix}-{mysql_database.name}-customers"
    with capture.running(config):
        capture.records(capture.prefix, 1)
        # A table that changes while the snapshot reads it ends the snapshot.
        capture.process.wait_log(f"[{capture.prefix}|task-0] The binary log is read from", timeout=60)
        mysql_database.execute(
            "INSERT INTO customers VALUES (1, 'a', 1.5)",
            "UPDATE customers SET name = 'b' WHERE id = 1",
            "DELETE FROM customers WHERE id = 1",
            "ALTER TABLE customers ADD COLUMN color VARCHAR(9)",
            "INSERT INTO customers VALUES (2, 'c', NULL, 'red')",
        )
        assert capture.records(topic, 4) == [
            ({"id": 1}, {"id": 1, "name": "a", "price": "AJY="}),
            ({"id": 1}, {"id": 1, "name": "b", "price": "AJY="}),
            ({"id": 1}, None),
            ({"id": 2}, {"id": 2, "name": "c", "price": None, "color": "red"}),
        ]
        servers = capture.broker.bootstrap_servers
        changes = [value for _, value in capture.records(capture.prefix, topics.size(servers, capture.prefix))]
    assert changes[-1]["ddl"] == "ALTER TABLE customers ADD COLUMN color VARCHAR(9)"
    assert {"source", "databaseName", "ddl", "tableChanges"} <= changes[-1].keys()


def test_la_10_the_number_among_the_replicas(capture: Capture, mysql: MySQL, mysql_database: Database) -> None:
    mysql_database.execute(GOODS, "INSERT INTO goods VALUES (1, 'a', 1)")
    config = seed_config(
        capture, mysql, database_include_list=mysql_database.name, database_connectionTimezone="Asia/Seoul"
    ) | {"database.server.id": "30001"}
    second = Capture(capture.process, capture.broker)
    topic = f"{capture.prefix}.{mysql_database.name}.goods"
    with capture.running(config):
        capture.records(topic, 1)
        mysql_database.execute("INSERT INTO goods VALUES (2, 'b', 1)")
        capture.records(topic, 2)  # it reads the log, not only rows
        assert 30001 in {row[0] for row in mysql.root_query("SHOW REPLICAS")}
        other = config | {
            "database.server.name": second.prefix,
            "database.history.kafka.topic": f"{second.prefix}-mysql_topic",
        }
        with second.running(other):
            capture.process.wait_states(capture.prefix, "RUNNING", "FAILED", timeout=60)
        assert "Another replica uses database.server.id=30001" in capture.trace()


def test_s5_27_options_of_the_jdbc_source(capture: Capture) -> None:
    config = {
        "name": capture.prefix,
        "connector.class": CONNECTORS["mysql"],
        "connection.url": "jdbc:mysql://localhost:3306/kafkadb",
        "connection.user": "kim",
        "connection.password": "secret",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": "mysql-",
    }
    text = refused(capture, config)
    assert 'Missing required configuration "database.hostname"' in text
    assert "secret" not in text
