import time

import pytest

from connect_dagster.client.jdbc_url import jdbc_database


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123", ("mysql", "kafkadb", "orders")),
        ("jdbc:mariadb://a:3306,b:3306/shop", ("mariadb", "shop", "orders")),
        ("jdbc:postgresql://db/shop?sslmode=require", ("postgres", "shop", "public", "orders")),
        ("jdbc:postgresql://db/shop?user=a&currentSchema=sales", ("postgres", "shop", "sales", "orders")),
        ("jdbc:sqlserver://db:1433;encrypt=true;databaseName=shop;user=sa", ("sqlserver", "shop", "dbo", "orders")),
        ("jdbc:oracle:thin:@//db:1521/XEPDB1", ("oracle", "XEPDB1", "orders")),
        ("jdbc:oracle:thin:@db:1521:XE", ("oracle", "XE", "orders")),
        ("jdbc:sqlite:/var/lib/shop.db", ("sqlite", "shop", "orders")),
        ("jdbc:mysql://localhost:3306", ("mysql", "orders")),
    ],
)
def test_database_and_schema_lead_to_the_table(url: str, path: tuple[str, ...]) -> None:
    database = jdbc_database(url)
    assert database is not None
    assert (database.system, *database.table_path("orders")) == path


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("shop", "shop"),
        ("folder/shop.tar.db", "shop.tar"),
        ("C:\\data\\shop.db?mode=ro", "shop"),
        ("shop.db?x=/a/b.c", "shop"),
        (".hidden", ".hidden"),
        ("shop.d b", "shop.d b"),
        (":memory:", ":memory:"),
        ("folder/", ""),
    ],
)
def test_a_file_of_sqlite_is_named_without_folders_and_extension(file: str, name: str) -> None:
    database = jdbc_database(f"jdbc:sqlite:{file}")
    assert database is not None
    assert database.name == name


@pytest.mark.parametrize("address", ["a" * 64_000, ".a" * 32_000, "/a" * 32_000])
def test_a_long_file_takes_no_long_time(address: str) -> None:
    """At fa6cb2e a name of 8 kB took 1.4 s, and each doubling four times as long."""
    began = time.process_time()
    jdbc_database(f"jdbc:sqlite:{address}?\nb")
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123", "localhost:3306"),
        ("jdbc:mysql://kafka:kafka123@localhost:3306/kafkadb", "localhost:3306"),
        ("jdbc:mariadb://a:3306,b:3306/shop", "a:3306,b:3306"),
        ("jdbc:sqlserver://db\\main:1433;encrypt=true;databaseName=shop", "db"),
        ("jdbc:oracle:thin:@//db:1521/XEPDB1", "db:1521"),
        ("jdbc:oracle:thin:scott/tiger@db:1521:XE", "db:1521"),
        ("jdbc:sqlite:/var/lib/shop.db?cache=shared", "/var/lib/shop.db"),
        ("jdbc:mysql://localhost:3306", "localhost:3306"),
        ("jdbc:h2:mem:shop", None),
    ],
)
def test_the_server_is_told_without_credentials(url: str, server: str | None) -> None:
    database = jdbc_database(url)
    assert database is not None
    assert database.server == server


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("jdbc:mysql://a:kafka123@h1:3306,b:kafka123@h2/shop", "h1:3306,h2"),
        ("jdbc:mysql://(host=h1,port=3306,password=kafka123)/shop", None),
        ("jdbc:mysql://address=(host=h1)(password=kafka123)/shop", None),
        ("jdbc:mysql://a:kafka123/@h1/shop", None),
        ("jdbc:mysql://a:k@kafka123@h1/shop", "h1"),
        ("jdbc:oracle:thin:scott/k@kafka123@//db:1521/XE", "db:1521"),
        ("jdbc:postgresql://a:kafka123@[::1]:5432/shop", "[::1]:5432"),
    ],
)
def test_the_server_has_no_password_in_rarer_forms(url: str, server: str | None) -> None:
    """Failed: the password, or a part of it, was in the text of the server, and so in messages of Dagster."""
    database = jdbc_database(url)
    assert database is not None
    assert database.server == server


def test_a_qualified_or_quoted_name_is_taken_as_it_is() -> None:
    mysql, postgres = jdbc_database("jdbc:mysql://h/shop"), jdbc_database("jdbc:postgresql://h/shop")
    assert mysql is not None
    assert postgres is not None
    assert mysql.table_path("`shop`.`orders`") == ("shop", "orders")
    assert postgres.table_path("sales.orders") == ("shop", "sales", "orders")


@pytest.mark.parametrize("url", ["", "http://h/shop", "jdbc:", "mongodb://h/shop"])
def test_what_is_no_jdbc_url_is_no_database(url: str) -> None:
    assert jdbc_database(url) is None
