"""The seeds' configurations of change data capture."""

import pytest

from tests.binlog_servers import MySQL
from tests.databases import Database
from tests.integration import topics
from tests.integration.mysql.conftest import CONNECTORS, Capture
from tests.integration.mysql.test_capture import GOODS, brief

LISTED = ("customers", "products", "orders", "order_items", "boards")


def seed_config(capture: Capture, server: MySQL, **more: str) -> dict[str, str]:
    """The configuration of the article, with the names of Debezium 1.x; `more` has underscores for dots."""
    user = server.new_user()
    return {
        "connector.class": CONNECTORS["mysql"],
        "database.hostname": "localhost",
        "database.port": str(server.port),
        "database.user": user.name,
        "database.password": user.password,
        "database.server.name": capture.prefix,
        "database.history.kafka.bootstrap.servers": capture.broker.bootstrap_servers,
        "database.history.kafka.topic": f"{capture.prefix}-mysql_topic",
        "include.schema.changes": "true",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def tables_of(capture: Capture) -> set[str]:
    """The databases and tables that have topics."""
    names = topics.names(capture.broker.bootstrap_servers)
    return {name.removeprefix(f"{capture.prefix}.") for name in names if name.startswith(f"{capture.prefix}.")}


def test_la_01_la_04_la_05_a_snapshot_then_the_log(capture: Capture, mysql: MySQL, mysql_database: Database) -> None:
    mysql_database.execute(GOODS, "INSERT INTO goods VALUES (1, 'a', 1)")
    config = seed_config(capture, mysql, database_include_list=mysql_database.name)
    topic = f"{capture.prefix}.{mysql_database.name}.goods"
    capture.create(config)
    try:
        (key, first), *_ = capture.records(topic, 1)
        assert (key, first["op"], first["before"], first["after"]["name"]) == ({"id": 1}, "r", None, "a")
        assert {"version", "connector", "name", "ts_ms", "db", "table", "file", "pos"} <= first["source"].keys()
        known = topics.size(capture.broker.bootstrap_servers, capture.prefix)
        mysql_database.execute("ALTER TABLE goods ADD COLUMN color VARCHAR(9)")
        capture.records(capture.prefix, known + 1)
        # A change of the structure while the connector is away.
        capture.stopped()
        mysql_database.execute("ALTER TABLE goods DROP COLUMN price", "INSERT INTO goods VALUES (2, 'b', 'red')")
        capture.resumed()
        assert brief(capture.records(topic, 2)[1]) == (2, "c", "false", None, (2, "b", "red"))
        changes = capture.records(capture.prefix, known + 2)
        assert [value["ddl"] for _, value in changes][-2:] == [
            "ALTER TABLE goods ADD COLUMN color VARCHAR(9)",
            "ALTER TABLE goods DROP COLUMN price",
        ]
        assert changes[-1][0] == {"databaseName": mysql_database.name}
        history = [value for _, value in capture.records(f"{capture.prefix}-mysql_topic", known + 2)]
        assert [record["ddl"] for record in history] == [value["ddl"] for _, value in changes]
        (changed,) = history[-1]["tableChanges"]
        assert [column["name"] for column in changed["table"]["columns"]] == ["id", "name", "color"]
    finally:
        capture.deleted()


@pytest.mark.parametrize(
    ("listed", "expected"),
    [(None, {"one", "two", "ops"}), ("one,two", {"one", "two"}), ("ops", {"ops"})],
)
def test_la_06_lists_of_databases(capture: Capture, mysql: MySQL, listed: str | None, expected: set[str]) -> None:
    databases = {name: mysql.new_database() for name in ("one", "two", "ops")}
    names = {name: database.name for name, database in databases.items()}
    for database in databases.values():
        database.execute("CREATE TABLE goods (id INT PRIMARY KEY)", "INSERT INTO goods VALUES (1)")
    chosen = {} if listed is None else {"database_include_list": ",".join(names[one] for one in listed.split(","))}
    with capture.running(seed_config(capture, mysql, **chosen)):
        for name in expected:
            capture.records(f"{capture.prefix}.{names[name]}.goods", 1)
    captured = {name.partition(".")[0] for name in tables_of(capture)}
    assert captured & set(names.values()) == {names[name] for name in expected}
    assert not captured & {"mysql", "sys", "performance_schema", "information_schema"}
    for database in databases.values():
        database.drop()


def test_la_07_a_list_of_tables(capture: Capture, mysql: MySQL, mysql_database: Database) -> None:
    for table in (*LISTED, "customers_old", "old_customers"):
        mysql_database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)", f"INSERT INTO {table} VALUES (1)")
    listed = ", ".join(f"{mysql_database.name}.{table}" for table in LISTED)
    with capture.running(seed_config(capture, mysql, table_include_list=listed)):
        for table in LISTED:
            capture.records(f"{capture.prefix}.{mysql_database.name}.{table}", 1)
    assert tables_of(capture) == {f"{mysql_database.name}.{table}" for table in LISTED}


def test_la_09_times_as_those_of_connect(capture: Capture, mysql: MySQL, mysql_database: Database) -> None:
    mysql_database.execute(
        "CREATE TABLE times (id INT PRIMARY KEY, d DATE, t TIME, dt DATETIME(6), ts TIMESTAMP(3) NULL)"
    )
    with mysql_database.connected() as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(
            "INSERT INTO times VALUES "
            "(1, '2023-01-15', '01:02:03', '2023-01-15 01:02:03.456789', '2023-01-15 01:02:03.4')"
        )
    config = seed_config(capture, mysql, database_include_list=mysql_database.name, time_precision_mode="connect") | {
        "value.converter.schemas.enable": "true"
    }
    with capture.running(config):
        ((_, value),) = capture.records(f"{capture.prefix}.{mysql_database.name}.times", 1)
    after = next(field for field in value["schema"]["fields"] if field["field"] == "after")
    kinds = {field["field"]: field.get("name", "").rpartition(".")[2] for field in after["fields"]}
    assert kinds == {"id": "", "d": "Date", "t": "Time", "dt": "Timestamp", "ts": "ZonedTimestamp"}
    assert value["payload"]["after"] == {
        "id": 1,
        "d": 19372,
        "t": 3_723_000,
        "dt": 1_673_744_523_456,
        "ts": "2023-01-15T01:02:03.4Z",
    }
