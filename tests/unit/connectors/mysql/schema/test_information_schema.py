"""The structure of a server, read through a cursor."""

from collections.abc import Sequence
from typing import Any

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema import information_schema
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError

CREATE = """CREATE TABLE `go``ods` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `name` varchar(255) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT NULL COMMENT 'it''s',
  `at` timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`id`,`name`(10)),
  KEY `at` (`at`),
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `other` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='c'
/*!50100 PARTITION BY HASH (`id`)
PARTITIONS 4 */"""


class Answers:
    """A cursor with the answer to each query."""

    def __init__(self, answers: dict[str, Sequence[Sequence[Any]]]) -> None:
        self._answers = answers
        self._query = ""

    def execute(self, query: str) -> None:
        self._query = query

    def fetchall(self) -> Sequence[Sequence[Any]]:
        return self._answers[self._query]


def test_what_a_server_has() -> None:
    cursor = Answers(
        {
            "SHOW DATABASES": [("ops",), ("shop",)],
            "SHOW FULL TABLES IN `o``ps` WHERE Table_Type = 'BASE TABLE'": [("goods", "BASE TABLE")],
            "SHOW VARIABLES WHERE Variable_name IN ('character_set_server', 'collation_server')": [
                ("character_set_server", "utf8mb4"),
                ("collation_server", "utf8mb4_bin"),
            ],
            "SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata": [
                ("ops", "utf8mb4", "utf8mb4_bin")
            ],
        }
    )
    assert information_schema.database_names(cursor) == ["ops", "shop"]
    assert information_schema.table_names(cursor, "o`ps") == [TableId("o`ps", "goods")]
    assert information_schema.charset_variables(cursor) == {
        "character_set_server": "utf8mb4",
        "collation_server": "utf8mb4_bin",
    }
    assert information_schema.database_charsets(cursor) == {
        "ops": information_schema.DatabaseCharset("utf8mb4", "utf8mb4_bin")
    }


@pytest.mark.parametrize("flavor", Flavor)
def test_a_table(flavor: Flavor) -> None:
    goods = TableId("ops", "go`ods")
    cursor = Answers({"SHOW CREATE TABLE `ops`.`go``ods`": [("go`ods", CREATE)]})
    statement = information_schema.create_statement(cursor, goods)
    table = information_schema.created_table(statement, goods, flavor, keeps_comments=True)
    assert (table.id, table.key, table.charset, table.comment) == (("ops", "go`ods"), ("id", "name"), "utf8mb4", "c")
    assert [(column.name, column.type, column.charset) for column in table.columns] == [
        ("id", "BIGINT UNSIGNED", None),
        ("name", "VARCHAR", "latin1"),
        ("at", "TIMESTAMP", None),
    ]
    assert table.column("name").comment == "it''s"


def test_a_view() -> None:
    with pytest.raises(DataError, match=r"Not a statement that makes the table ops\.v: CREATE VIEW v AS SELECT 1"):
        information_schema.created_table("CREATE VIEW v AS SELECT 1", TableId("ops", "v"), Flavor.MYSQL)
