"""Test the search for a position in the binary log files of a server."""

from typing import Any, cast

import pytest

from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MariaDbGtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.stream.kept_log import missing_log

ONE, OTHER = "24bc7850-2c16-11e6-a073-0242ac110002", "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class Server:
    """A server with a log."""

    def __init__(self, executed: GtidSet, purged: GtidSet, *, gtids: bool = True) -> None:
        self._executed, self._purged, self._gtids = executed, purged, gtids

    def has_gtids(self) -> bool:
        return self._gtids

    def executed(self) -> GtidSet:
        return self._executed

    def purged(self) -> GtidSet:
        return self._purged

    def log_files(self) -> list[str]:
        return ["log.000003", "log.000004"]


def missing(stored: Position, server: Server, *, uses_gtids: bool = True) -> str | None:
    return missing_log(stored, cast("Any", server), lambda source: source != OTHER, uses_gtids=uses_gtids)


def mysql(text: str) -> MySqlGtidSet:
    return MySqlGtidSet.parse(text)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("log.000003", None),
        ("log.000002", "the position is log.000002:4, the server has log.000003 to log.000004"),
    ],
)
def test_by_file(file: str, reason: str | None) -> None:
    server = Server(mysql(f"{ONE}:1-9"), mysql(f"{ONE}:1-5"))
    assert missing(Position(file, 4), server) == reason
    assert missing(Position(file, 4, f"{ONE}:1-2"), server, uses_gtids=False) == reason


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ("1-5", None),
        ("1-9", None),
        ("1-3", f"transactions after the position are purged: {ONE}:4-5"),
        ("1-12", f"the position has transactions that the server never had: {ONE}:10-12"),
    ],
)
def test_by_gtids_of_mysql(done: str, reason: str | None) -> None:
    server = Server(mysql(f"{ONE}:1-9,{OTHER}:1-4"), mysql(f"{ONE}:1-5,{OTHER}:1-4"))
    assert missing(Position("log.000001", 4, f"{ONE}:{done}"), server) == reason


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ("0-1-5,2-1-8", None),
        ("0-2-7,2-1-8", None),
        ("0-1-4,2-1-8", "the position is 0-1-4,2-1-8, the log of the server begins after 0-1-5"),
        ("2-1-8", "the position is 2-1-8, the log of the server begins after 0-1-5"),
        ("0-2-8,2-1-8", "the position has transactions that the server never had: it is 0-2-8,2-1-8, the server is at"),
    ],
)
def test_by_gtids_of_mariadb(done: str, reason: str | None) -> None:
    executed = MariaDbGtidSet.parse("0-1-6,0-2-7,2-1-8")
    server = Server(executed, MariaDbGtidSet.parse("0-1-5"))
    found = missing(Position("log.000001", 4, done), server)
    assert (found or "")[: len(reason or "")] == (reason or "")
    assert (found is None) == (reason is None)
