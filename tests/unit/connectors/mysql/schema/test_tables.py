"""Statements about tables: what becomes of them, and the events."""

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError

GOODS = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a VARCHAR(10) DEFAULT 'x', b DECIMAL(5,2) NOT NULL)"
INT = Column("x", "INT", has_default=True)


class Server:
    """Tables with their parser."""

    def __init__(self, *statements: str, flavor: Flavor = Flavor.MYSQL, lower_case_table_names: int = 0) -> None:
        self.tables = Tables(lower_case_table_names)
        self.parser = DdlParser(self.tables, flavor, keeps_comments=True, server_charset="utf8mb4")
        self.run(*statements)

    def run(self, *statements: str) -> list[DdlEvent]:
        return [event for statement in statements for event in self.parser.parse(statement, "d")]

    @property
    def columns(self) -> dict[str, str]:
        return {str(table.id): " ".join(column.name for column in table.columns) for table in self.tables}

    def table(self, name: str = "t", database: str = "d") -> Table:
        table = self.tables.get(TableId(database, name))
        assert table is not None
        return table


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        ("ADD x INT", "id a b x"),
        ("ADD COLUMN x INT FIRST", "x id a b"),
        ("ADD x INT AFTER ID", "id x a b"),
        ("ADD x INT AFTER b", "id a b x"),
        ("ADD x INT AFTER unknown", "x id a b"),
        ("ADD (x INT, y VARCHAR(5) NOT NULL DEFAULT 'q', KEY (x))", "id a b x y"),
        ("ADD COLUMN (x INT), ADD y INT AFTER x, DROP a", "id b x y"),
        ("ADD COLUMN IF NOT EXISTS x INT, ADD COLUMN IF NOT EXISTS a INT", "id a b x"),
        ("ADD `x``y` INT, ADD `date` INT", "id a b x`y date"),
        ("DROP COLUMN b CASCADE, DROP COLUMN IF EXISTS unknown", "id a"),
        ("DROP unknown", "id a b"),
        ("MODIFY A TEXT FIRST", "A id b"),
        ("MODIFY COLUMN IF EXISTS unknown INT, CHANGE COLUMN IF EXISTS other x INT", "id a b"),
        ("CHANGE b c INT FIRST", "c id a"),
        ("CHANGE COLUMN a a2 INT AFTER b", "id b a2"),
        ("CHANGE b a INT", "id a"),
        ("RENAME COLUMN a TO A, RENAME COLUMN IF EXISTS unknown TO x", "id A b"),
        ("ALTER a SET INVISIBLE, ALTER INDEX i VISIBLE, ALTER CHECK c NOT ENFORCED", "id a b"),
        ("RENAME INDEX a TO b, ADD KEY k (a), ADD FULLTEXT INDEX f (a), ADD CONSTRAINT CHECK (b > 5)", "id a b"),
        ("ADD x INT, ALGORITHM=INPLACE, LOCK=NONE", "id a b x"),
        ("ENGINE InnoDB ROW_FORMAT DYNAMIC, ADD x INT", "id a b x"),
        ("ADD x INT PARTITION BY HASH(id) PARTITIONS 4", "id a b x"),
        ("ADD PARTITION (PARTITION p3 VALUES LESS THAN (5) COMMENT 'c')", "id a b"),
        ("DROP PARTITION p3", "id a b"),
        ("REORGANIZE PARTITION p0 INTO (PARTITION n0 VALUES LESS THAN (5))", "id a b"),
        ("CONVERT PARTITION p0 TO TABLE q", "id a b"),
        ("ADD SYSTEM VERSIONING", "id a b"),
        ("DROP PERIOD FOR SYSTEM_TIME, DROP SYSTEM VERSIONING", "id a b"),
        ("ORDER BY a, FORCE, DISABLE KEYS, DISCARD TABLESPACE", "id a b"),
        ("WAIT 5 ADD x INT", "id a b x"),
        ("", "id a b"),
    ],
)
def test_columns_after_alter_table(changes: str, columns: str) -> None:
    server = Server(GOODS)
    statement = f"ALTER TABLE t {changes}".strip()
    (event,) = server.run(statement)
    assert server.columns == {"d.t": columns}
    assert event == DdlEvent(DdlKind.ALTER_TABLE, "d", statement, TableId("d", "t"), table=server.table())


@pytest.mark.parametrize(
    "statement",
    ["ALTER ONLINE TABLE t ADD x INT", "ALTER IGNORE TABLE t ADD x INT", "ALTER TABLE IF EXISTS d.t ADD x INT"],
)
def test_forms_of_alter_table(statement: str) -> None:
    server = Server(GOODS)
    server.run(statement)
    assert server.columns == {"d.t": "id a b x"}


def test_definitions_replace_those_before() -> None:
    server = Server(GOODS, "ALTER TABLE t MODIFY a VARCHAR(20) NOT NULL, CHANGE b b INT")
    assert server.table().column("a") == Column("a", "VARCHAR", 20, optional=False, charset="utf8mb4")
    assert server.table().column("b") == Column("b", "INT", has_default=True)


@pytest.mark.parametrize(
    ("change", "column", "has_default", "default"),
    [
        ("ALTER a SET DEFAULT 'y'", "a", True, "y"),
        ("ALTER COLUMN A SET DEFAULT NULL", "a", True, None),
        ("ALTER a SET DEFAULT (uuid())", "a", True, None),
        ("ALTER a DROP DEFAULT", "a", True, None),
        ("ALTER b SET DEFAULT -5", "b", True, "-5"),
        ("ALTER b SET DEFAULT 5, ALTER b DROP DEFAULT", "b", False, None),
        ("ALTER unknown SET DEFAULT 5", "b", False, None),
    ],
)
def test_changes_of_default_values(change: str, column: str, has_default: bool, default: str | None) -> None:
    changed = Server(GOODS, f"ALTER TABLE t {change}").table().column(column)
    assert (changed.has_default, changed.default) == (has_default, default)


@pytest.mark.parametrize(
    ("change", "of_table", "of_a", "of_new"),
    [
        ("CONVERT TO CHARACTER SET latin1", "latin1", "latin1", "latin1"),
        ("CONVERT TO CHARSET 'latin1' COLLATE latin1_bin", "latin1", "latin1", "latin1"),
        ("CONVERT TO CHARACTER SET DEFAULT", "utf8mb4", "utf8mb4", "utf8mb4"),
        ("DEFAULT CHARACTER SET = latin1", "latin1", "utf8mb4", "latin1"),
        ("COLLATE latin1_bin COMMENT 'new'", "latin1", "utf8mb4", "latin1"),
        ("COMMENT 'new'", "utf8mb4", "utf8mb4", "utf8mb4"),
    ],
)
def test_changes_of_character_sets(change: str, of_table: str, of_a: str, of_new: str) -> None:
    table = Server(GOODS, f"ALTER TABLE t {change}, ADD x TEXT").table()
    assert (table.charset, table.column("a").charset, table.column("x").charset) == (of_table, of_a, of_new)
    assert table.comment == ("new" if "COMMENT" in change else None)


@pytest.mark.parametrize(
    ("options", "charset", "comment"),
    [
        ("", "utf8mb4", None),
        ("CHARSET latin1", "latin1", None),
        ("DEFAULT CHARACTER SET = latin1 COLLATE = latin1_bin COMMENT='it''s'", "latin1", "it''s"),
        ("DEFAULT COLLATE latin1_bin", "latin1", None),
        ("CHARSET=DEFAULT", "utf8mb4", None),
        ("ENGINE=InnoDB, CHARSET=latin1, COMMENT \"c\" UNION=(a, b) DATA DIRECTORY='/x'", "latin1", "c"),
        ("PARTITION BY RANGE (x) (PARTITION p0 VALUES LESS THAN (5) COMMENT 'p')", "utf8mb4", None),
        ("/*!50100 PARTITION BY HASH (x) PARTITIONS 4 */", "utf8mb4", None),
        ("START TRANSACTION", "utf8mb4", None),
        ("WITH SYSTEM VERSIONING", "utf8mb4", None),
    ],
)
def test_options_of_new_tables(options: str, charset: str, comment: str | None) -> None:
    statement = f"CREATE TABLE IF NOT EXISTS t (x TEXT) {options}".strip()
    server = Server()
    (event,) = server.run(statement + "; # done")
    text = Column("x", "TEXT", charset=charset, has_default=True)
    assert server.table() == Table("d", "t", (text,), charset=charset, comment=comment)
    assert event == DdlEvent(DdlKind.CREATE_TABLE, "d", statement, TableId("d", "t"), table=server.table())


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("CREATE TABLE t2 LIKE t", "id a b"),
        ("CREATE TABLE t2 (LIKE d.t)", "id a b"),
        ("CREATE TABLE t2 AS SELECT * FROM t", ""),
        ("CREATE TABLE t2 (SELECT 1)", ""),
        ("CREATE TABLE t2 (x INT) ENGINE=InnoDB IGNORE SELECT id FROM t", "x"),
        ("CREATE TABLE t2 (x INT) AS WITH q AS (SELECT 1) SELECT * FROM q", "x"),
    ],
)
def test_tables_from_others(statement: str, columns: str) -> None:
    server = Server(GOODS)
    server.run(statement)
    assert server.columns == {"d.t": "id a b", "d.t2": columns}


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("CREATE TABLE t (x INT)", "id a b"),
        ("CREATE TABLE IF NOT EXISTS t (x INT)", "id a b"),
        ("CREATE TABLE IF NOT EXISTS t LIKE u", "id a b"),
        ("CREATE TABLE t LIKE unknown", "id a b"),
        ("CREATE OR REPLACE TABLE t (x INT)", "x"),
        ("CREATE TABLE t LIKE u", "y"),
    ],
)
def test_tables_that_are_there_already(statement: str, columns: str) -> None:
    server = Server(GOODS, "CREATE TABLE u (y INT)")
    events = server.run(statement)
    assert server.columns["d.t"] == columns
    assert bool(events) == (columns != "id a b")


@pytest.mark.parametrize(
    ("statement", "left", "events"),
    [
        ("DROP TABLE t", "d.u e.t", ["d DROP TABLE `d`.`t`"]),
        (
            "drop table if exists t, e.`t` CASCADE",
            "d.u",
            ["d drop table if exists `d`.`t` CASCADE", "e drop table if exists `e`.`t` CASCADE"],
        ),
        ("DROP TABLES unknown restrict", "d.t d.u e.t", ["d DROP TABLES `d`.`unknown` RESTRICT"]),
        ("DROP TABLE `d`.`t` /* generated by server */", "d.u e.t", ["d DROP TABLE `d`.`t`"]),
        ("DROP TABLE `x``y` NOWAIT", "d.t d.u e.t", ["d DROP TABLE `d`.`x``y`"]),
        ("DROP TEMPORARY TABLE t", "d.t d.u e.t", []),
        ("DROP DATABASE IF EXISTS d", "e.t", ["d DROP DATABASE IF EXISTS d"]),
        ("DROP SCHEMA `e`", "d.t d.u", ["e DROP SCHEMA `e`"]),
        ("DROP VIEW t", "d.t d.u e.t", []),
    ],
)
def test_drops(statement: str, left: str, events: list[str]) -> None:
    server = Server("CREATE TABLE t (x INT)", "CREATE TABLE u (x INT)", "CREATE TABLE e.t (x INT)")
    found = server.run(statement)
    assert list(server.columns) == left.split()
    assert [f"{event.database} {event.statement}" for event in found] == events


@pytest.mark.parametrize(
    ("statement", "tables", "events"),
    [
        ("RENAME TABLE t TO t2", "d.u d.t2", ["d.t d.t2 RENAME TABLE t TO t2"]),
        (
            "RENAME TABLES t TO e.t2, d.u WAIT 5 TO t",
            "e.t2 d.t",
            ["d.t e.t2 RENAME TABLES t TO e.t2", "d.u d.t RENAME TABLES d.u WAIT 5 TO t"],
        ),
        (
            "RENAME TABLE t TO tmp, u TO t, tmp TO u",
            "d.t d.u",
            ["d.t d.tmp RENAME TABLE t TO tmp", "d.u d.t RENAME TABLE u TO t", "d.tmp d.u RENAME TABLE tmp TO u"],
        ),
        ("RENAME TABLE IF EXISTS v TO w", "d.t d.u", ["d.v d.w RENAME TABLE IF EXISTS v TO w"]),
        ("ALTER TABLE t RENAME t2", "d.u d.t2", ["d.t d.t2 ALTER TABLE t RENAME t2"]),
        ("ALTER TABLE t RENAME AS e.t2", "d.u e.t2", ["d.t e.t2 ALTER TABLE t RENAME AS e.t2"]),
        ("RENAME USER a TO b", "d.t d.u", []),
    ],
)
def test_renames(statement: str, tables: str, events: list[str]) -> None:
    server = Server("CREATE TABLE t (x INT)", "CREATE TABLE u (x INT)")
    found = server.run(statement)
    assert list(server.columns) == tables.split()
    assert [f"{event.previous_id} {event.table_id} {event.statement}" for event in found] == events


def test_truncation() -> None:
    server = Server("CREATE TABLE t (x INT)")
    found = server.run(
        "TRUNCATE TABLE t", "TRUNCATE e.unknown", "SET STATEMENT a=1, b='FOR' FOR TRUNCATE TABLE t WAIT 5"
    )
    assert [(event.kind, str(event.table_id), event.table is None) for event in found] == [
        (DdlKind.TRUNCATE_TABLE, "d.t", False),
        (DdlKind.TRUNCATE_TABLE, "e.unknown", True),
        (DdlKind.TRUNCATE_TABLE, "d.t", False),
    ]
    assert found[2].statement == "TRUNCATE TABLE t WAIT 5"


@pytest.mark.parametrize("lower_case_table_names", [0, 1, 2])
def test_case_of_names(lower_case_table_names: int) -> None:
    server = Server(
        "CREATE TABLE Goods (x INT)",
        "ALTER TABLE goods ADD y INT",
        "ALTER TABLE D.GOODS ADD z INT",
        lower_case_table_names=lower_case_table_names,
    )
    assert server.columns == {"d.Goods": "x y z" if lower_case_table_names else "x"}


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE unknown ADD x INT",
        "ALTER TABLE e.unknown SOMETHING",
        "CREATE TEMPORARY TABLE t2 (x INT)",
        "CREATE /*!32302 TEMPORARY */ TABLE t2 (x INT)",
        "CREATE ALGORITHM=MERGE DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW v AS SELECT * FROM t",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "ALTER VIEW v AS SELECT 1",
        "CREATE DEFINER=CURRENT_USER PROCEDURE p() BEGIN DROP TABLE t; TRUNCATE t; END",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW BEGIN SET @a = 1; DROP TABLE t; END",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO TRUNCATE TABLE t",
        "ALTER EVENT e DO TRUNCATE TABLE t",
        "CREATE USER a IDENTIFIED BY 'b'",
        "GRANT ALL ON d.* TO a",
        "ANALYZE TABLE t",
        "OPTIMIZE TABLE t",
        "FLUSH PRIVILEGES",
        "XA START 'x'",
        "BEGIN",
        "INSERT INTO t VALUES (1)",
        "CREATE SEQUENCE s",
        "CREATE TABLESPACE s",
        "LOCK TABLES t READ",
        "SET PASSWORD FOR a = 'b'",
        "SET @a = 5",
        "SET ROLE x",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET a b",
        "",
        "/* nothing */",
    ],
)
def test_statements_without_events(statement: str) -> None:
    server = Server(GOODS)
    before = list(server.tables)
    assert server.run(statement) == []
    assert list(server.tables) == before


def test_several_statements() -> None:
    found = Server().run("-- it's\nCREATE TABLE t (x INT); DROP TABLE u; USE f; CREATE TABLE w (x INT);")
    assert [(event.kind, event.database, event.statement) for event in found] == [
        (DdlKind.CREATE_TABLE, "d", "CREATE TABLE t (x INT)"),
        (DdlKind.DROP_TABLE, "d", "DROP TABLE `d`.`u`"),
        (DdlKind.DATABASE, "f", "USE f"),
        (DdlKind.CREATE_TABLE, "f", "CREATE TABLE w (x INT)"),
    ]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ALTER TABLE t SOMETHING", "at character 15, 'SOMETHING': a change of the table was expected"),
        ("ALTER TABLE t ADD x INT ADD y INT", "'ADD y INT': a comma or the end of the statement was expected"),
        ("ALTER TABLE t CONVERT TO latin1", "'latin1': CHARACTER SET was expected"),
        ("ALTER TABLE t RENAME COLUMN a b", "'b': TO was expected"),
        ("ALTER TABLE t MODIFY unknown INT", "does not fit the known structure: d.t has no column unknown"),
        ("ALTER TABLE t CHANGE unknown x INT", "does not fit the known structure: d.t has no column unknown"),
        ("ALTER TABLE t RENAME COLUMN unknown TO x", "d.t has no column unknown"),
        ("DROP TABLE t u", "'u': a comma or the end of the statement was expected"),
        ("RENAME TABLE t, u", "', u': TO was expected"),
        ("CREATE TABLE", "at its end: a name was expected"),
        ("CREATE TABLE x (a INT", r"at its end: ) was expected"),
        ("CREATE UNIQUE i ON t (a)", "'i ON t (a)': INDEX was expected"),
        ("TRUNCATE TABLE 'a", "the end of what is opened there was expected"),
    ],
)
def test_what_is_not_understood(statement: str, reason: str) -> None:
    server = Server(GOODS)
    before = list(server.tables)
    with pytest.raises(DataError) as raised:
        server.run(statement)
    assert reason in str(raised.value)
    assert str(raised.value).endswith(f"Statement: {statement}")
    assert list(server.tables) == before
