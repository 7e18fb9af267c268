"""Statements about databases and variables, and the character sets that new tables get from them."""

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Tables


@pytest.mark.parametrize(
    ("statements", "charset"),
    [
        ("", "utf8mb4"),
        ("CREATE DATABASE d CHARACTER SET latin1", "latin1"),
        ("CREATE SCHEMA IF NOT EXISTS `d` DEFAULT CHARSET = 'latin1' COLLATE latin1_bin", "latin1"),
        ("CREATE DATABASE d COLLATE latin1_bin", "latin1"),
        ("CREATE DATABASE d CHARSET DEFAULT", "utf8mb4"),
        ("CREATE OR REPLACE DATABASE d /*!40100 DEFAULT CHARACTER SET ucs2 */", "ucs2"),
        ("CREATE DATABASE d CHARSET latin1; ALTER DATABASE d CHARSET ucs2", "ucs2"),
        ("CREATE DATABASE d CHARSET latin1; ALTER SCHEMA d COLLATE ucs2_bin", "ucs2"),
        ("ALTER DATABASE CHARSET latin1", "latin1"),
        ("CREATE DATABASE d CHARSET latin1; ALTER DATABASE d READ ONLY = 1", "latin1"),
        ("CREATE DATABASE d CHARSET latin1; DROP DATABASE d", "utf8mb4"),
        ("CREATE DATABASE e CHARSET latin1", "utf8mb4"),
        ("CREATE DATABASE e CHARSET latin1; USE e", "latin1"),
        ("SET character_set_server=latin1, collation_server=latin1_bin", "latin1"),
        ("SET @@session.character_set_server = 'latin1'", "latin1"),
        ("SET GLOBAL character_set_server=latin1", "utf8mb4"),
        ("SET @@global.character_set_server=latin1", "utf8mb4"),
        ("SET @a=1, SESSION character_set_database=latin1", "latin1"),
        ("SET character_set_database=latin1; SET character_set_database=DEFAULT; DROP DATABASE d", "utf8mb4"),
        ("SET NAMES latin1", "utf8mb4"),
        ("SET CHARACTER SET latin1", "utf8mb4"),
    ],
)
def test_character_sets_of_new_tables(statements: str, charset: str) -> None:
    tables = Tables()
    parser = DdlParser(tables, Flavor.MYSQL, server_charset="utf8mb4")
    parser.parse(statements, "d")
    parser.parse("CREATE TABLE t (x TEXT, y INT)", "d")
    table = next(iter(tables))
    assert (table.charset, table.column("x").charset, table.column("y").charset) == (charset, charset, None)


@pytest.mark.parametrize(
    ("statement", "database"),
    [
        ("CREATE DATABASE e", "e"),
        ("ALTER DATABASE `e` CHARSET latin1", "e"),
        ("ALTER DATABASE CHARSET latin1", "d"),
        ("DROP DATABASE IF EXISTS e", "e"),
        ("use `e`", "e"),
        ("SET a = 1, b := concat(@@x, 'y')", "d"),
        ("SET @x = 5, sql_mode = 'ANSI'", "d"),
    ],
)
def test_events(statement: str, database: str) -> None:
    (event,) = DdlParser(Tables(), Flavor.MARIADB).parse(f"/* c */ {statement};", "d")
    assert (event.database, event.statement, event.table_id) == (database, statement, None)


def test_without_a_current_database() -> None:
    parser = DdlParser(Tables(), Flavor.MYSQL)
    assert [event.database for event in parser.parse("SET character_set_database=latin1", None)] == [""]
    assert parser.parse("ALTER DATABASE CHARSET latin1", "") == []
