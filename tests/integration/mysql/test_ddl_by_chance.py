"""Statements drawn by chance, run by a server and by the parser: both have the same tables after each of them."""

import random
from dataclasses import dataclass, field

import pymysql
import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.information_schema import created_table, show_create
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId
from tests.binlog_servers import MySQL
from tests.databases import Database

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

STATEMENTS = 400
TYPES = (
    "INT", "INTEGER UNSIGNED", "TINYINT(1)", "BOOL", "SMALLINT ZEROFILL", "MEDIUMINT", "BIGINT UNSIGNED", "BIT(3)",
    "DECIMAL(12,3)", "NUMERIC(5)", "FLOAT", "DOUBLE PRECISION", "REAL", "DATE", "TIME(3)", "DATETIME(6)", "DATETIME",
    "TIMESTAMP(3) NULL", "YEAR", "CHAR(3)", "NCHAR(4)", "VARCHAR(40)", "NATIONAL VARCHAR(10)", "BINARY(5)",
    "VARBINARY(30)", "TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "BLOB", "LONGBLOB", "ENUM('a','b''c')",
    "SET('x','y,z')", "VARCHAR(20) CHARACTER SET latin1", "TEXT CHARACTER SET ascii",
    "CHAR(5) COLLATE utf8mb4_bin",
)  # fmt: skip
ENDS = ("", "", " NOT NULL", " NULL", " DEFAULT NULL", " COMMENT 'it''s, (a) comment'", ' NOT NULL COMMENT "x"')
_STORED = {"BOOLEAN": "TINYINT", "REAL": "DOUBLE", **dict.fromkeys(("TINYTEXT", "MEDIUMTEXT", "LONGTEXT"), "TEXT")}
"""Types that a server stores as others, or makes larger for a wider character set: the log says which it is."""
CHARSETS = ("utf8mb4", "latin1", "ascii", "utf8mb4 COLLATE utf8mb4_bin")


@dataclass
class Draw:
    """Draws statements about the tables that there are.

    Attributes:
        tables: names of columns by table.
    """

    chance: random.Random
    tables: dict[str, list[str]] = field(default_factory=dict)
    _names: int = 0

    def statement(self) -> str:
        """Return a statement, which the server may refuse."""
        if len(self.tables) < 3 or self.chance.random() < 0.05:
            return self._create()
        return self._spaced(self.chance.choice((self._alter, self._alter, self._alter, self._alter, self._other))())

    def _new(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _quoted(self, name: str) -> str:
        return self.chance.choice((name, f"`{name}`", name))

    def _table(self) -> str:
        return self.chance.choice(list(self.tables))

    def _column(self, table: str) -> str:
        return self._quoted(self.chance.choice(self.tables[table]))

    def _definition(self) -> str:
        return self.chance.choice(TYPES) + self.chance.choice(ENDS)

    def _spaced(self, statement: str) -> str:
        comment = self.chance.choice(("", "", "/* c */ ", "# line\n", "-- line\n"))
        return comment + statement

    def _create(self) -> str:
        columns = [f"{self._quoted(self._new('c'))} {self._definition()}" for _ in range(self.chance.randrange(1, 8))]
        key = [f"{self._new('k')} INT NOT NULL"] if self.chance.random() < 0.8 else []
        parts = [*key, *columns]
        if key:
            parts.append(f"PRIMARY KEY ({key[0].split()[0]})")
        charset = self.chance.choice(("", "", f" DEFAULT CHARSET={self.chance.choice(('latin1', 'utf8mb4'))}"))
        return f"CREATE TABLE {self._quoted(self._new('t'))} ({', '.join(parts)}){charset}"

    def _place(self, table: str) -> str:
        return self.chance.choice(("", "", " FIRST", f" AFTER {self._column(table)}"))

    def _alter(self) -> str:
        table = self._table()
        actions = [self._action(table) for _ in range(self.chance.choice((1, 1, 1, 2)))]
        return f"ALTER TABLE {self._quoted(table)} {', '.join(actions)}"

    def _action(self, table: str) -> str:
        column, word = self._column(table), self.chance.choice(("COLUMN ", ""))
        match self.chance.randrange(10):
            case 0 | 1 | 2:
                return f"ADD {word}{self._quoted(self._new('c'))} {self._definition()}{self._place(table)}"
            case 3:
                return f"DROP {word}{column}"
            case 4:
                return f"MODIFY {word}{column} {self._definition()}{self._place(table)}"
            case 5:
                return f"CHANGE {word}{column} {self._quoted(self._new('c'))} {self._definition()}"
            case 6:
                return f"RENAME COLUMN {column} TO {self._new('c')}"
            case 7:
                return f"CONVERT TO CHARACTER SET {self.chance.choice(CHARSETS)}"
            case 8:
                return f"DEFAULT CHARSET {self.chance.choice(CHARSETS)}"
            case _:
                more = [self._quoted(self._new("c")) + " INT" for _ in range(2)]
                return f"ADD COLUMN ({', '.join(more)})"

    def _other(self) -> str:
        table, name = self._table(), self._new("t")
        return self.chance.choice(
            (
                f"RENAME TABLE {table} TO {name}",
                f"ALTER TABLE {table} RENAME TO {name}",
                f"CREATE TABLE {name} LIKE {table}",
                f"DROP TABLE {table}",
                f"TRUNCATE {table}",
                f"ALTER TABLE {table} ALTER {self._column(table)} DROP DEFAULT",
                f"CREATE INDEX i{name} ON {table} ({self._column(table)})",
            )
        )


def facts(table: Table) -> dict[str, tuple[object, ...]]:
    """Return what decides on how the rows of a table are read."""
    return {column.name.lower(): _facts(table, column) for column in table.columns}


def _facts(table: Table, column: Column) -> tuple[object, ...]:
    in_key = column.name in table.key
    digits = (column.length, column.scale or 0) if column.base_type == "DECIMAL" else None
    charset = "utf8mb3" if column.charset == "utf8" else column.charset
    stored = _STORED.get(column.base_type, column.base_type)
    return stored, column.unsigned, in_key or column.optional, charset, column.labels, digits


@pytest.fixture(params=["mysql_database", "mariadb_with_log_database"])
def captured(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_parser_follows_the_server(captured: Database, seed: int) -> None:
    database = captured
    flavor = Flavor.MYSQL if isinstance(database.server, MySQL) else Flavor.MARIADB
    tables, draw = Tables(), Draw(random.Random(seed))
    parser = DdlParser(tables, flavor, server_charset="utf8mb4")
    with database.connected() as connection, connection.cursor() as cursor:
        cursor.execute(f"SHOW CREATE DATABASE {database.name}")
        parser.parse(cursor.fetchall()[0][1], None)
        done = 0
        while done < STATEMENTS:
            statement = draw.statement()
            try:
                cursor.execute(statement)
            except pymysql.MySQLError:
                continue
            done += 1
            parser.parse(statement, database.name)
            cursor.execute("SHOW TABLES")
            names = sorted(name for (name,) in cursor.fetchall())
            assert sorted(table.name for table in tables) == names, statement
            draw.tables = {name: [] for name in names}
            for name in names:
                table_id = TableId(database.name, name)
                cursor.execute(show_create(table_id))
                there = created_table(cursor.fetchall()[0][1], table_id, flavor)
                known = tables.get(table_id)
                assert known is not None
                assert facts(known) == facts(there), (statement, name)
                assert list(facts(known)) == list(facts(there)), (statement, name)
                draw.tables[name] = [column.name for column in there.columns]
