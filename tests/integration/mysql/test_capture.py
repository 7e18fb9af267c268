"""Rows and changes of real servers in Kafka: a snapshot, then the binary log."""

from typing import Any

import pytest

from tests.databases import Database
from tests.integration.mysql.conftest import Capture

GOODS = "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2))"


def brief(record: tuple[Any, Any]) -> tuple[Any, ...]:
    """Key, operation, marker, and the rows before and after."""
    key, value = record
    if value is None:
        return key["id"], None
    return key["id"], value["op"], value["source"]["snapshot"], *(_row(value[name]) for name in ("before", "after"))


def _row(row: Any) -> Any:
    return row and tuple(row.values())


@pytest.fixture(params=["mysql_database", "mariadb_with_log_database"])
def captured(request: pytest.FixtureRequest) -> Database:
    """An empty database in each kind of server."""
    found: Database = request.getfixturevalue(request.param)
    return found


def test_a_snapshot_and_what_comes_after_it(capture: Capture, captured: Database) -> None:
    database = captured
    database.execute(GOODS, "INSERT INTO goods VALUES (1, '별', 2.50), (2, NULL, NULL), (3, 'c', -0.01)")
    topic = f"{capture.prefix}.{database.name}.goods"
    with capture.running(capture.config(database)):
        assert [brief(record) for record in capture.records(topic, 3)] == [
            (1, "r", "first", None, (1, "별", "APo=")),
            (2, "r", "true", None, (2, None, None)),
            (3, "r", "last", None, (3, "c", "/w==")),
        ]
        database.execute(
            "INSERT INTO goods VALUES (4, 'd', 1)",
            "UPDATE goods SET name = 'e' WHERE id = 1",
            "UPDATE goods SET id = 5 WHERE id = 2",
            "DELETE FROM goods WHERE id = 3",
            "ALTER TABLE goods ADD COLUMN color VARCHAR(9)",
            "INSERT INTO goods VALUES (6, 'f', NULL, 'red')",
        )
        assert [brief(record) for record in capture.records(topic, 11)[3:]] == [
            (4, "c", "false", None, (4, "d", "ZA==")),
            (1, "u", "false", (1, "별", "APo="), (1, "e", "APo=")),
            (2, "d", "false", (2, None, None), None),
            (2, None),
            (5, "c", "false", None, (5, None, None)),
            (3, "d", "false", (3, "c", "/w=="), None),
            (3, None),
            (6, "c", "false", None, (6, "f", None, "red")),
        ]
