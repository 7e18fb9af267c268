"""A log whose connection is lost: how often, and from where, it is read on."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pymysql
import pytest

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, Reconnects
from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.positions.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.login import Login, LogSession
from connect_dagster.connectors.mysql.server.server_error import ServerError
from connect_dagster.connectors.mysql.stream.beginning import LogFacts, Replica
from connect_dagster.connectors.mysql.stream.binary_log import BinaryLog
from connect_dagster.connectors.mysql.stream.log_connection import LogConnection
from connect_dagster.connectors.mysql.stream.log_stream import LogEndedError
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.protocol.wire import MalformedBytes
from connect_dagster.testing.contexts import CollectedMetrics
from tests.unit.connectors.mysql.stream.test_change_tables import NONE

LOST = RetriableError("lost")
Step = list[str] | Exception | None


@dataclass
class Server:
    """Each connection to it plays the next script: batches, nothing in time, or an error."""

    scripts: deque[list[Step]]
    opened: int = 0

    def facts(self) -> LogFacts:
        first = self.scripts[0][0]
        if isinstance(first, RetriableError | pymysql.MySQLError):
            self.scripts.popleft()
            raise first
        return LogFacts(Flavor.MYSQL, True, MySqlGtidSet(), True)

    def streaming(self, _: object) -> Any:
        self.opened += 1
        return _Streaming(deque(self.scripts.popleft()), self.opened)


class _Streaming:
    def __init__(self, script: deque[Step], number: int) -> None:
        self._script = script
        self._count = 0
        self._number = number

    @property
    def position(self) -> Position:
        return Position(f"log.{self._number}", self._count)

    stored = position

    def next(self, _: float) -> list[str] | None:
        step = self._script.popleft()
        if isinstance(step, Exception):
            raise step
        self._count += 1
        return step


class _Nowhere:
    def receive(self, _: memoryview, __: float) -> int:
        return 0

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogConnection, "open", lambda *_: _Nowhere())


def log_of(server: Server, most: int | None = None) -> BinaryLog:
    return BinaryLog(
        Login("db", 3306, "ops", "secret"),
        Replica(7, LogSession(), GtidSources(NONE)),
        server.facts,
        cast("Callable[..., Any]", server.streaming),
        Reconnects(most, Backoff(0.001, 0.001)),
        DEFAULT_RULES.events,
        StreamingMetrics(CollectedMetrics(), MetricPlace("mysql", "shop"), lambda: 0),
        1 << 16,
    )


def batches(server: Server, most: int | None = None) -> Iterator[Any]:
    return (found for found in log_of(server, most).batches(Position("log.1", 4)) if found)


def test_it_is_read_on_where_it_was_lost() -> None:
    server = Server(deque([[["a"], LOST], [RetriableError("no server")], [["b"]]]))
    found = batches(server)
    assert [next(found), next(found)] == [["a"], ["b"]]
    assert server.opened == 2


def test_attempts_count_until_records_come() -> None:
    broken: list[Step] = [None, [], LOST]
    server = Server(deque([list(broken), [["a"], LOST], list(broken), list(broken)]))
    found = batches(server, most=2)
    assert next(found) == ["a"]
    with pytest.raises(RetriableError, match="lost"):
        next(found)
    assert not server.scripts


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LogEndedError(ServerError(1227, "42000", "Access denied")), "The right REPLICATION SLAVE to read.*Access den"),
        (LogEndedError(ServerError(1236, "", "same server_uuid/server_id")), "Another replica uses .*server.id=7: sa"),
        (
            LogEndedError(ServerError(1236, "HY000", "Could not find first log file name")),
            r"no longer has the binary log of the position \{'file': 'log.1', 'pos': 4\}.*snapshot.mode=when_needed",
        ),
        (LogEndedError(ServerError(1236, "HY000", "max_allowed_packet")), "has ended the binary log: max_allowed"),
        (MalformedBytes("an event that is not whole", 3, 4), "cannot be read after .*: an event that is not whole"),
    ],
)
def test_ends_that_are_not_tried_again(error: Exception, text: str) -> None:
    server = Server(deque([[error]]))
    with pytest.raises(ConnectError, match=text):
        next(batches(server))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            pymysql.OperationalError(1045, "Access denied"),
            ConnectError,
            "The right REPLICATION SLAVE .* ops at db:3306",
        ),
        (pymysql.ProgrammingError(1064, "syntax"), ConnectError, "refuses to read the binary log as ops at db:3306"),
        (pymysql.OperationalError(2003, "refused"), RetriableError, "A connection to read the binary log as ops"),
    ],
)
def test_a_log_that_cannot_be_asked_for(error: Exception, kind: type[ConnectError], text: str) -> None:
    with pytest.raises(kind, match=text):
        next(batches(Server(deque([[error]])), most=0))
