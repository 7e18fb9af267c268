"""Kinds of databases by their URLs, and what their messages may not tell."""

import pytest

from connect_dagster.connectors.jdbc.dialects import find_dialect
from connect_dagster.connectors.jdbc.sql_errors import without_secrets
from connect_dagster.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("jdbc:mysql://h/d", "MySqlDatabaseDialect"),
        ("jdbc:mariadb://h/d", "MySqlDatabaseDialect"),
        ("jdbc:postgresql://h/d", "PostgreSqlDatabaseDialect"),
        ("jdbc:oracle:thin:@h:1521:x", "OracleDatabaseDialect"),
        ("jdbc:sqlserver://h;databaseName=d", "SqlServerDatabaseDialect"),
        ("jdbc:jtds:sqlserver://h/d", "SqlServerDatabaseDialect"),
        ("jdbc:sqlite:/tmp/x.db", "SqliteDatabaseDialect"),
        ("jdbc:h2:mem:x", "GenericDatabaseDialect"),
    ],
)
def test_by_url(url: str, name: str) -> None:
    assert find_dialect(url).name == name


def test_by_name() -> None:
    assert find_dialect("jdbc:h2:mem:x", "PostgreSqlDatabaseDialect").is_postgresql
    assert find_dialect("jdbc:h2:mem:x", "postgresql").is_postgresql
    with pytest.raises(ConfigError, match=r"dialect\.name.*MySqlDatabaseDialect"):
        find_dialect("jdbc:h2:mem:x", "NoSql")


def test_what_is_no_url() -> None:
    with pytest.raises(ConfigError, match=r"connection\.url"):
        find_dialect("mysql://h/d")


def test_any_rows_of_a_query() -> None:
    assert find_dialect("jdbc:mysql://h/d").some("SELECT * FROM t", 5) == "SELECT * FROM t LIMIT 5"
    # SQL Server knows no OFFSET without ORDER BY.
    expected = "SELECT * FROM t ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 5 ROWS ONLY"
    assert find_dialect("jdbc:sqlserver://h").some("SELECT * FROM t", 5) == expected


def test_names_are_left_as_they_are_if_wanted() -> None:
    assert find_dialect("jdbc:mysql://h/d", quoted=False).quoting.name("a") == "a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("jdbc:mysql://h/d?user=u&password=p1&x=1", "jdbc:mysql://h/d?user=u&password=****&x=1"),
        ("jdbc:sqlserver://h;password=p1;x=1", "jdbc:sqlserver://h;password=****;x=1"),
        ("jdbc:mysql://u:p1@h/d", "jdbc:mysql://u:****@h/d"),
        ("jdbc:oracle:thin:scott/p1@h:1521:x", "jdbc:oracle:thin:scott/****@h:1521:x"),
        ("jdbc:oracle:thin:@//h:1521/x", "jdbc:oracle:thin:@//h:1521/x"),
        ("denied for p1-secret", "denied for ****"),
    ],
)
def test_secrets_do_not_show(text: str, shown: str) -> None:
    assert without_secrets(text, ["p1-secret"]) == shown


def test_long_texts_take_time_in_proportion() -> None:
    """At 1f0d1e0 40,000 characters took 0.4 s of CPU, and these 40 minutes."""
    assert without_secrets("jdbc:oracle:a:b/" * 200_000) == "jdbc:oracle:a:b/" * 200_000
