"""Positions as servers of several versions have them."""

from typing import Any

import pymysql
import pytest

from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.log_position import read_position
from connect_dagster.errors import ConnectError
from tests.unit.connectors.mysql.server.sessions import Answer, Session

NEW, OLD = "SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"
UNKNOWN = pymysql.err.ProgrammingError(1064, "You have an error in your SQL syntax")
DENIED = pymysql.err.OperationalError(1227, "Access denied; you need the REPLICATION CLIENT privilege")
MARIADB = {"SELECT VERSION()": [("11.4.5-MariaDB-log",)], NEW: UNKNOWN, OLD: [("binlog.000003", 157, "", "")]}


def position_of(answers: dict[str, Any]) -> Position | None:
    session: Any = Session(answers)
    return read_position(session)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({NEW: [("binlog.000003", 157, "", "", "")]}, Position("binlog.000003", 157)),
        ({NEW: [("binlog.000003", 157, "", "", "a:1-7,\nb:1-2")]}, Position("binlog.000003", 157, "a:1-7,b:1-2")),
        ({NEW: UNKNOWN, OLD: [("binlog.000003", 157, "", "", "a:1")]}, Position("binlog.000003", 157, "a:1")),
        ({NEW: UNKNOWN, OLD: [("binlog.000003", 157, "", "")]}, Position("binlog.000003", 157)),  # before 5.6.5
        ({NEW: []}, None),
        ({**MARIADB, "SELECT @@GLOBAL.gtid_binlog_pos": [("0-1-4711",)]}, Position("binlog.000003", 157, "0-1-4711")),
        ({**MARIADB, "SELECT @@GLOBAL.gtid_binlog_pos": [("",)]}, Position("binlog.000003", 157)),
    ],
)
def test_positions(answers: dict[str, Answer], expected: Position | None) -> None:
    assert position_of(answers) == expected


@pytest.mark.parametrize("answers", [{NEW: DENIED}, {NEW: UNKNOWN, OLD: DENIED}])
def test_a_right_that_is_missing(answers: dict[str, Answer]) -> None:
    expected = (
        "User 'debezium'@'10.%' needs the right REPLICATION CLIENT to read the position of the binary log: "
        "GRANT REPLICATION CLIENT ON *.* TO 'debezium'@'10.%': "
        "Access denied; you need the REPLICATION CLIENT privilege"
    )
    with pytest.raises(ConnectError) as error:
        position_of(answers)
    assert str(error.value) == expected


def test_other_errors_stay() -> None:
    lost = pymysql.err.OperationalError(2013, "Lost connection")
    with pytest.raises(pymysql.err.OperationalError, match="2013"):
        position_of({NEW: lost})
