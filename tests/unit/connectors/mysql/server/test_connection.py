"""Sessions from their beginning, without a server."""

import socket
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from connect_dagster.connectors.mysql.server.connection import connected
from connect_dagster.connectors.mysql.server.login import Login
from tests.unit.connectors.mysql.server.sessions import Answer, Session

LOGIN = Login("db", 3306, "ops", "secret")
FIRST, SECOND = "SET NAMES utf8mb4", "SET SESSION time_zone = '+00:00'"


class OpenSession(Session):
    """A session on a socket, closed by PyMySQL itself where it is lost."""

    def __init__(self, answer: Answer, *, is_lost: bool = False) -> None:
        super().__init__({SECOND: answer})
        self._sock = self.socket = socket.socket()
        self._is_lost = is_lost

    @property
    def is_open(self) -> bool:
        return self.socket.fileno() >= 0

    def close(self) -> None:
        self.socket.close()
        if self._is_lost:
            raise pymysql.Error("Already closed")

    def connect(self, *, autocommit: bool, **_: Any) -> "OpenSession":
        assert autocommit
        return self


@pytest.fixture(params=[False, True])
def refusing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSession]:
    """A session that refuses its second statement."""
    session = OpenSession(pymysql.OperationalError(1227, "Access denied"), is_lost=request.param)
    monkeypatch.setattr(pymysql, "connect", session.connect)
    with session.socket:
        yield session


def test_first_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    session = OpenSession([])
    monkeypatch.setattr(pymysql, "connect", session.connect)
    with session.socket:
        opened: Any = connected(LOGIN, [FIRST, SECOND])
        assert opened is session
        assert session.is_open
    assert session.statements == [FIRST, SECOND]


def test_a_session_whose_first_statement_fails_is_closed(refusing: OpenSession) -> None:
    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        connected(LOGIN, [FIRST, SECOND])
    assert not refusing.is_open
