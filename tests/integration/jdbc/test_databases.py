"""The servers that the tests of the JDBC connectors use: each does what they count on."""

import pymysql
import pytest

from tests.databases import Database, MariaDB, PostgreSQL

TIMESTAMPS = "CREATE TABLE customers (id INT NOT NULL, modified TIMESTAMP)"
NULLABLE = "SELECT is_nullable FROM information_schema.columns WHERE column_name='modified' AND table_schema=DATABASE()"


def test_timestamps_are_implicitly_not_null_on_one_server_alone(
    mariadb_database: Database, mariadb_explicit_timestamps: MariaDB
) -> None:
    explicit = mariadb_explicit_timestamps.new_database()
    for database in (mariadb_database, explicit):
        database.execute(TIMESTAMPS)
    assert (mariadb_database.query(NULLABLE), explicit.query(NULLABLE)) == ([("NO",)], [("YES",)])


def test_the_general_log_shows_statements(mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    with mariadb.general_log() as logged:
        database.query("SELECT 41 + 1")
        assert "SELECT 41 + 1" in logged()


@pytest.mark.nightly
@pytest.mark.parametrize("server", ["mariadb", "postgresql"])
def test_a_server_comes_back_with_its_data(server: str, request: pytest.FixtureRequest) -> None:
    of_process: MariaDB | PostgreSQL = request.getfixturevalue(server)
    database = of_process.new_database()
    database.execute("CREATE TABLE kept (id INT)", "INSERT INTO kept VALUES (7)")
    of_process.kill()
    of_process.start()
    assert database.query("SELECT id FROM kept") == [(7,)]


def test_a_wrong_password_is_refused(mariadb: MariaDB) -> None:
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        pymysql.connect(host="127.0.0.1", port=mariadb.port, user="kafka", password="wrong")
