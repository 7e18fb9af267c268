"""Drivers, connections and errors of databases, against real ones in Spark's JVM."""

import threading

import pytest
from pyspark.sql import SparkSession

from connect_dagster.connectors.jdbc.database import Database, HeldConnection
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import Password
from tests.databases import PASSWORD, USER
from tests.databases import Database as ServerDatabase

pytestmark = pytest.mark.usefixtures("spark")


def opened(database: ServerDatabase, **more: str) -> Database:
    return Database.of(database.jdbc_url, USER, Password(PASSWORD), {**database.connection_config, **more})


def test_url_of_mysql_goes_to_the_mariadb_driver(mariadb_database: ServerDatabase) -> None:
    with opened(mariadb_database).connect() as connection:
        ((version, now),) = connection.rows("SELECT VERSION(), TIMESTAMP'2022-01-23 02:26:25.5'", "string", "timestamp")
    assert "MariaDB" in version
    assert now == 1642904785_500_000_000


def test_user_and_password_in_the_url(mariadb_database: ServerDatabase) -> None:
    url = f"{mariadb_database.jdbc_url}?user={USER}&password={PASSWORD}"
    with Database.of(url, None, None, {}).connect() as connection:
        assert connection.rows("SELECT DATABASE()", "string") == [(mariadb_database.name,)]


def test_spark_reads_quoted_columns_by_either_scheme(spark: SparkSession, mariadb_database: ServerDatabase) -> None:
    mariadb_database.execute("CREATE TABLE t (`order` INT, `a b` VARCHAR(9))", "INSERT INTO t VALUES (1, 'x')")
    for url in (mariadb_database.jdbc_url, mariadb_database.jdbc_url.replace("jdbc:mysql:", "jdbc:mariadb:")):
        options = Database.of(url, USER, Password(PASSWORD), {}).spark_options()
        rows = spark.read.format("jdbc").options(**options).option("dbtable", "t").load()
        assert rows.where("`order` = 1").select("a b").toArrow().to_pylist() == [{"a b": "x"}]


def test_postgresql(postgresql_database: ServerDatabase) -> None:
    with opened(postgresql_database).connect() as connection:
        assert connection.execute("CREATE TABLE t (a INT)") == 0
        assert connection.execute("INSERT INTO t VALUES (1), (2)") == 2
        assert connection.rows("SELECT a FROM t ORDER BY a", "long") == [(1,), (2,)]


def test_further_properties_go_to_the_driver(postgresql_database: ServerDatabase) -> None:
    database = opened(postgresql_database, **{"connection.ApplicationName": "orders"})
    with database.connect() as connection:
        assert connection.rows("SHOW application_name", "string") == [("orders",)]


def test_wrong_password_names_the_place_and_not_the_password(mariadb_database: ServerDatabase) -> None:
    wrong = f"{mariadb_database.jdbc_url}?user={USER}&password=hunter2secret"
    with pytest.raises(DatabaseError) as caught:
        Database.of(wrong, None, None, {}).connect()
    assert caught.value.refused
    assert HOST in str(caught.value)
    assert USER in str(caught.value)
    assert "hunter2secret" not in str(caught.value)


def test_a_server_that_does_not_answer_may_come_back() -> None:
    waits: list[float] = []
    nobody = Database.of(f"jdbc:mysql://{HOST}:{free_port()}/x", "u", None, {})
    with pytest.raises(DatabaseUnavailableError, match="Cannot connect to jdbc:mysql"):
        nobody.connect_patiently(3, 0.5, waits.append)
    assert waits == [0.5, 0.5]


def test_refused_statement_has_state_and_code(mariadb_database: ServerDatabase) -> None:
    with opened(mariadb_database).connect() as connection, pytest.raises(DatabaseError) as caught:
        connection.rows("SELECT * FROM nowhere", "long")
    assert (caught.value.state, caught.value.code) == ("42S02", 1146)
    assert "SELECT * FROM nowhere" in str(caught.value)


@pytest.mark.parametrize(
    ("server", "sleep"), [("mariadb", "SLEEP(100)"), ("postgresql", "CAST(PG_SLEEP(100) AS TEXT)")]
)
def test_an_aborted_connection_waits_no_more(server: str, sleep: str, request: pytest.FixtureRequest) -> None:
    connection = opened(request.getfixturevalue(f"{server}_database")).connect()
    errors: list[DatabaseError] = []

    def wait() -> None:
        try:
            connection.rows(f"SELECT {sleep}", "string")
        except DatabaseError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(0.5)
    connection.abort()
    waiting.join(20)
    assert not waiting.is_alive()
    assert len(errors) == 1


def test_missing_driver_is_named() -> None:
    with pytest.raises(ConfigError, match=r"No suitable driver found for jdbc:oracle:.*ojdbc11.*plugin\.path"):
        Database.of("jdbc:oracle:thin:scott/tiger@db:1521/x", None, None, {}).connect()


def test_lost_connection_is_opened_again(mariadb_database: ServerDatabase) -> None:
    held = HeldConnection(opened(mariadb_database).connect)
    ((id,),) = held.get().rows("SELECT CONNECTION_ID()", "long")
    mariadb_database.execute(f"KILL {id}")
    with pytest.raises(DatabaseUnavailableError):
        held.get().rows("SELECT 1", "long")
    held.drop()
    assert held.get().rows("SELECT 1", "long") == [(1,)]
    held.drop()
