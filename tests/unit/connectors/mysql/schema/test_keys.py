"""Primary keys, and unique indexes that stand in for them."""

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.errors import DataError


def after(statements: str, flavor: Flavor = Flavor.MYSQL) -> Table:
    tables = Tables()
    DdlParser(tables, flavor).parse(statements, "d")
    return next(iter(tables))


@pytest.mark.parametrize(
    ("elements", "key"),
    [
        ("c INT PRIMARY KEY", "c"),
        ("c INT KEY", "c"),
        ("c INT, PRIMARY KEY (c)", "c"),
        ("PRIMARY KEY (c), c INT", "c"),
        ("c INT, b INT, CONSTRAINT pk PRIMARY KEY USING BTREE (b DESC, `C`(5)) USING BTREE", "b c"),
        ("c INT UNIQUE", "c"),
        ("c INT NOT NULL UNIQUE KEY, b INT NOT NULL UNIQUE", "c"),
        ("c INT, UNIQUE (c)", ""),
        ("c INT NOT NULL, UNIQUE (C)", "c"),
        ("c INT NOT NULL, UNIQUE KEY uk USING BTREE (c) COMMENT 'x', KEY (c)", "c"),
        ("c INT NOT NULL, CONSTRAINT UNIQUE INDEX (c)", "c"),
        ("c INT NOT NULL, CONSTRAINT x UNIQUE INDEX y (c ASC)", "c"),
        ("c INT NOT NULL, UNIQUE IF NOT EXISTS y (c)", "c"),
        ("c INT NOT NULL, UNIQUE (c, b)", ""),
        ("c INT NOT NULL, UNIQUE ((c + 1))", ""),
        ("c INT NOT NULL, UNIQUE (c, (c + 1))", ""),
        ("c INT NOT NULL, b INT NOT NULL, UNIQUE (b), UNIQUE (c)", "b"),
        ("c INT, b INT NOT NULL, UNIQUE (b), PRIMARY KEY (c)", "c"),
        ("c INT, b INT NOT NULL UNIQUE, PRIMARY KEY (c)", "c"),
        ("c TEXT, FULLTEXT KEY f (c) WITH PARSER ngram, SPATIAL INDEX (c), VECTOR INDEX (c)", ""),
        ("c INT, FOREIGN KEY f (c) REFERENCES o (c) ON DELETE CASCADE, CHECK (c > 5)", ""),
        ("c INT, CONSTRAINT x CHECK (c > 5) ENFORCED, PERIOD FOR SYSTEM_TIME (a, b), INDEX i USING HASH (c)", ""),
    ],
)
@pytest.mark.parametrize("flavor", Flavor)
def test_keys_of_new_tables(elements: str, key: str, flavor: Flavor) -> None:
    assert after(f"CREATE TABLE t ({elements})", flavor).key == tuple(key.split())


@pytest.mark.parametrize(
    ("definition", "has_default"), [("INT", False), ("INT NULL DEFAULT NULL", False), ("INT DEFAULT 5", True)]
)
def test_columns_of_a_primary_key_are_not_nullable(definition: str, has_default: bool) -> None:
    column = after(f"CREATE TABLE t (c {definition}, PRIMARY KEY (c))").column("c")
    assert (column.optional, column.has_default) == (False, has_default)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ("ADD UNIQUE (b)", "id"),
        ("DROP PRIMARY KEY", ""),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (a, b)", "a b"),
        ("ADD CONSTRAINT pk PRIMARY KEY (a)", "a"),
        ("DROP PRIMARY KEY, ADD UNIQUE INDEX u (b)", "b"),
        ("DROP PRIMARY KEY, ADD UNIQUE KEY u (a)", ""),
        ("ADD x INT PRIMARY KEY", "x"),
        ("DROP id", ""),
        ("CHANGE ID id2 BIGINT", "id2"),
        ("RENAME COLUMN id TO id2", "id2"),
        ("DROP INDEX u, DROP KEY v, DROP FOREIGN KEY f, DROP CHECK c, DROP CONSTRAINT x", "id"),
    ],
)
@pytest.mark.parametrize("flavor", Flavor)
def test_keys_of_altered_tables(changes: str, key: str, flavor: Flavor) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL);"
    assert after(f"{table} ALTER TABLE t {changes}", flavor).key == tuple(key.split())


@pytest.mark.parametrize("change", ["ADD x INT UNIQUE", "ADD (x INT UNIQUE)", "MODIFY x INT UNIQUE"])
def test_a_unique_column_of_an_altered_table_is_a_key_with_mariadb_only(change: str) -> None:
    statements = "CREATE TABLE t (x INT, a INT); ALTER TABLE t " + change
    assert after(statements, Flavor.MYSQL).key == ()
    assert after(statements, Flavor.MARIADB).key == ("x",)


@pytest.mark.parametrize(
    ("index", "key", "events"),
    [
        ("CREATE UNIQUE INDEX i ON t (b)", "b", 1),
        ("CREATE OR REPLACE UNIQUE INDEX IF NOT EXISTS i USING BTREE ON d.t WAIT 5 (b(5) DESC) LOCK=NONE", "b", 1),
        ("CREATE ONLINE UNIQUE INDEX i ON t (b)", "b", 1),
        ("CREATE UNIQUE INDEX i ON t (a)", "", 1),
        ("CREATE UNIQUE INDEX i ON t (x)", "", 0),
        ("CREATE UNIQUE INDEX i ON t ((a + 1))", "", 0),
        ("CREATE UNIQUE INDEX i ON other (b)", "", 0),
        ("CREATE INDEX i ON t (b)", "", 0),
        ("CREATE FULLTEXT INDEX i ON t (b)", "", 0),
        ("DROP INDEX i ON t", "", 0),
        ("DROP INDEX IF EXISTS `PRIMARY` ON t", "", 0),
    ],
)
def test_statements_about_indexes(index: str, key: str, events: int) -> None:
    tables = Tables()
    parser = DdlParser(tables, Flavor.MYSQL)
    parser.parse("CREATE TABLE t (a INT, b INT NOT NULL)", "d")
    found = parser.parse(index, "d")
    assert next(iter(tables)).key == tuple(key.split())
    assert [event.statement for event in found] == [index] * events


def test_a_primary_key_of_a_column_that_is_not_there() -> None:
    reason = r"Statement does not fit the known structure: d\.t has no column x for its primary key\. Statement: CREATE"
    with pytest.raises(DataError, match=reason):
        after("CREATE TABLE t (c INT, PRIMARY KEY (x))")
