"""Errors in packets and of PyMySQL, and what is raised for them."""

import pymysql
import pytest

from connect_dagster.connectors.mysql.server.server_error import (
    ErrorNumber,
    ServerError,
    as_connect_error,
    has_ended_session,
    server_error,
)
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.protocol.wire import MalformedBytes


def test_an_error_with_a_state() -> None:
    found = server_error(b"\xff\xd4\x04#HY000Could not find first log file name")
    assert found == ServerError(
        ErrorNumber.ER_MASTER_FATAL_ERROR_READING_BINLOG, "HY000", "Could not find first log file name"
    )
    assert str(found) == "Could not find first log file name [error 1236 (HY000)]"


def test_an_error_without_a_state() -> None:
    found = server_error(b"\xff\x15\x04Access denied")
    assert found == ServerError(ErrorNumber.ER_ACCESS_DENIED_ERROR, "", "Access denied")
    assert str(found) == "Access denied [error 1045]"


@pytest.mark.parametrize("packet", [b"\xfe\0\0\2\0", b""])
def test_an_end_without_an_error(packet: bytes) -> None:
    assert server_error(packet) is None


def test_an_error_that_ends_too_early() -> None:
    with pytest.raises(MalformedBytes):
        server_error(b"\xff\xd4")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            pymysql.OperationalError(2003, "refused"),
            RetriableError,
            "A connection to read is missing: refused",
        ),
        (pymysql.OperationalError(1040, "Too many"), RetriableError, "A connection to read is missing: Too many"),
        (pymysql.OperationalError(2013, "Lost"), RetriableError, "A connection to read is missing: Lost"),
        (pymysql.InterfaceError(0, ""), RetriableError, "A connection to read is missing: "),
        (ConnectionResetError("reset"), RetriableError, "A connection to read is missing: reset"),
        (pymysql.OperationalError(1142, "SELECT denied"), ConnectError, "The right to read is missing: SELECT denied"),
        (pymysql.ProgrammingError(1064, "syntax"), ConnectError, "The server refuses to read: syntax [error 1064]"),
        (pymysql.InternalError("Packet sequence"), ConnectError, "The server refuses to read: Packet sequence"),
    ],
)
def test_what_is_raised(error: Exception, kind: type[ConnectError], text: str) -> None:
    raised = as_connect_error("to read", error)
    assert (type(raised), str(raised)[: len(text)]) == (kind, text)


def test_a_session_that_was_never_there_has_not_ended() -> None:
    assert has_ended_session(pymysql.OperationalError(2006, "gone"))
    assert not has_ended_session(pymysql.OperationalError(2003, "refused"))
