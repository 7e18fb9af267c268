"""How the seed's sources connect, and what they say of what is wrong."""

import re

from tests.databases import PASSWORD, USER, Database, MariaDB
from tests.integration.jdbc.conftest import SINK, SOURCE, JdbcWorker, seed_database, source
from tests.integration.jdbc.test_seed_modes import CUSTOMER, customers, orders, payloads, products


def test_s5_01_user_and_password_in_the_url(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute("INSERT INTO orders VALUES (1, 'a', 'b')")
    config = orders(kafkadb, topic_prefix)
    assert re.fullmatch(rf"jdbc:mysql://[\d.:]+/kafkadb\?user={USER}&password={PASSWORD}", config["connection.url"])
    with worker.running(topic_prefix, config):
        worker.wait_offset(topic_prefix, {"incrementing": 1})


def test_a_table_of_that_name_in_another_database_is_not_meant(
    worker: JdbcWorker, kafkadb: Database, topic_prefix: str
) -> None:
    kafkadb.server.new_database("elsewhere").execute("CREATE TABLE orders (seq INT PRIMARY KEY)")
    kafkadb.execute("INSERT INTO orders VALUES (1, 'a', 'b')")
    with worker.running(topic_prefix, orders(kafkadb, topic_prefix)):
        assert len(worker.values(f"{topic_prefix}orders", 1)) == 1


def test_s5_01_a_wrong_password_is_never_shown(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    config = orders(kafkadb, topic_prefix)
    config["connection.url"] = config["connection.url"].replace(PASSWORD, "wrong-secret")
    with worker.running(topic_prefix, config, "FAILED"):
        trace = worker.trace(topic_prefix)
    assert f"Cannot connect to {kafkadb.jdbc_url}?user={USER}&password=****" in trace
    assert f"Access denied for user '{USER}'" in trace
    assert "wrong-secret" not in trace
    assert "wrong-secret" not in worker.process.log()


def test_s5_02_the_tables_of_the_seed(kafkadb: Database) -> None:
    ((_, ddl),) = kafkadb.query("SHOW CREATE TABLE customers")
    assert "`modified` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()" in ddl
    assert {table for (table,) in kafkadb.query("SHOW TABLES")} == {"customers", "products", "orders", "bulk_tab"}


def test_s5_03_a_timestamp_that_may_be_null(
    worker: JdbcWorker, mariadb_explicit_timestamps: MariaDB, topic_prefix: str
) -> None:
    database = seed_database(mariadb_explicit_timestamps)
    database.execute(f"INSERT INTO customers (name, email, created, modified) VALUES {CUSTOMER}")
    for name, config in (("c", customers(database, topic_prefix)), ("p", products(database, topic_prefix))):
        with worker.running(f"{topic_prefix}{name}", config, "RUNNING", "FAILED"):
            trace = worker.trace(f"{topic_prefix}{name}")
        table = config["table.whitelist"]
        assert (
            f"Cannot make incremental queries using timestamp columns [modified] on `kafkadb`.`{table}` because all of "
            "these columns nullable." in trace
        )
    with worker.running(topic_prefix, customers(database, topic_prefix, validate_non_null="false")):
        (value,) = worker.values(f"{topic_prefix}customers", 1)
    optional = re.findall(r'"optional":(true|false)[^}]*"field":"(\w+)"', value)
    assert {field: word for word, field in optional} == {
        "id": "false",
        "name": "false",
        "email": "false",
        "created": "false",
        "modified": "true",
    }


def test_s5_19_columns_that_the_database_does_not_number(
    worker: JdbcWorker, kafkadb: Database, topic_prefix: str
) -> None:
    kafkadb.execute(
        "CREATE TABLE plain (a INT NOT NULL, b INT, c VARCHAR(9))",
        "INSERT INTO plain VALUES (7, NULL, 'x'), (8, 2, 'y')",
    )
    config = source(kafkadb, "incrementing", topic_prefix, table_whitelist="plain", incrementing_column_name="a")
    with worker.running(topic_prefix, config):
        assert [payload["a"] for payload in payloads(worker, f"{topic_prefix}plain", 2)] == [7, 8]
    # A connector of the same name could show the failure of the one before.
    nullable, missing, unnamed = (f"{topic_prefix}{name}" for name in "bdn")
    with worker.running(nullable, {**config, "incrementing.column.name": "b"}, "RUNNING", "FAILED"):
        assert (
            "Cannot make incremental queries using incrementing column b on `kafkadb`.`plain` because this column is "
            "nullable." in worker.trace(nullable)
        )
    with worker.running(missing, {**config, "incrementing.column.name": "d"}, "RUNNING", "FAILED"):
        assert "Column d does not exist in `kafkadb`.`plain`, which has a, b, c" in worker.trace(missing)
    del config["incrementing.column.name"]
    with worker.running(unnamed, config, "RUNNING", "FAILED"):
        assert "has no column that the database numbers" in worker.trace(unnamed)


def test_s5_27_a_slip_in_a_key_is_pointed_at(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    config = {**orders(kafkadb, topic_prefix), "topic_prefix": "mysql-"}
    del config["topic.prefix"]
    answer = worker.process.call("PUT", f"/connectors/{topic_prefix}/config", config)
    assert answer.status == 400
    message = answer.json["message"]
    assert 'Missing required configuration "topic.prefix" which has no default value.' in message
    assert '"topic_prefix"' in message


def test_s5_27_keys_of_jdbc_under_the_class_of_debezium(
    worker: JdbcWorker, kafkadb: Database, topic_prefix: str
) -> None:
    debezium = "io.debezium.connector.mysql.MySqlConnector"
    config = {**orders(kafkadb, topic_prefix), "connector.class": debezium}
    answer = worker.process.call("PUT", f"/connectors/{topic_prefix}/config", config)
    assert answer.status == 400
    for missing in ("database.hostname", "database.user", "schema.history.internal.kafka.topic"):
        assert f'Missing required configuration "{missing}"' in answer.json["message"]
    assert worker.process.call("GET", f"/connectors/{topic_prefix}").status == 404
    checked = worker.process.call("PUT", f"/connector-plugins/{debezium}/config/validate", config).json
    wrong = {one["value"]["name"] for one in checked["configs"] if one["value"]["errors"]}
    assert {"connection.url", "database.hostname", "database.user"} <= wrong


def test_s5_28_the_plugins_are_listed(worker: JdbcWorker) -> None:
    listed = worker.process.call("GET", "/connector-plugins").json
    assert {"class": SOURCE, "type": "source", "version": "0.1.0"} in listed
    assert {"class": SINK, "type": "sink", "version": "0.1.0"} in listed


def test_s5_28_the_other_class_name(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    config = {**orders(kafkadb, topic_prefix), "connector.class": "io.aiven.connect.jdbc.JdbcSourceConnector"}
    with worker.running(topic_prefix, config):
        answer = worker.process.call("GET", f"/connectors/{topic_prefix}/status")
    assert answer.json["type"] == "source"


def test_a_driver_that_is_not_there(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    config = {**orders(kafkadb, topic_prefix), "connection.url": "jdbc:sqlserver://db:1433;databaseName=x"}
    with worker.running(topic_prefix, config, "FAILED"):
        trace = worker.trace(topic_prefix)
    assert "No suitable driver found for jdbc:sqlserver://db:1433;databaseName=x" in trace
    assert "com.microsoft.sqlserver:mssql-jdbc" in trace
    assert "plugin.path" in trace
