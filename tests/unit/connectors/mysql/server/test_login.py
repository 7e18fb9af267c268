"""Arguments of connections and the first statements of sessions."""

import ssl
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.server.login import Login, LogSession, split_statements

PLAIN = Login("db", 3307, "kim", "비밀", connect_seconds=5)
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
COMMON = {
    "host": "db",
    "port": 3307,
    "user": "kim",
    "password": "비밀".encode(),
    "charset": "utf8mb4",
    "connect_timeout": 5,
}


def test_attempts() -> None:
    encrypted, plain = {**COMMON, "ssl": CONTEXT}, {**COMMON, "ssl_disabled": True}
    assert PLAIN.attempts() == (plain,)
    assert replace(PLAIN, context=CONTEXT).attempts() == (encrypted,)
    assert replace(PLAIN, context=CONTEXT, plain_instead=True).attempts() == (encrypted, plain)
    assert replace(PLAIN, connect_seconds=1e9).attempts()[0]["connect_timeout"] == 31_536_000


@pytest.mark.parametrize(
    ("session", "statements"),
    [
        (LogSession(), ["SET SESSION net_write_timeout = 600", "SET @master_heartbeat_period = 48000000000"]),
        (
            LogSession(90, 30, None),
            ["SET SESSION net_write_timeout = 90", "SET SESSION net_read_timeout = 30"],
        ),
    ],
)
def test_log_session(session: LogSession, statements: list[str]) -> None:
    assert list(session.statements()) == statements


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        (" ; ; ", ()),
        ("SET a = 1", ("SET a = 1",)),
        ("SET a = 1; SET b = ';;' ;", ("SET a = 1", "SET b = ';'")),
        ("a;;;b", ("a;", "b")),
        ("a;;", ("a;",)),
        ("a;", ("a",)),
    ],
)
def test_split_statements(text: str, statements: tuple[str, ...]) -> None:
    assert split_statements(text) == statements


@given(st.lists(st.text("ab;").filter(bool)))
def test_statements_come_back(statements: list[str]) -> None:
    written = " ; ".join(f"{one} x".replace(";", ";;") for one in statements)
    assert split_statements(written) == tuple(f"{one} x" for one in statements)
