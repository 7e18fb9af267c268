"""Errors of databases, classified by reaction, and without the passwords that drivers repeat.

DatabaseError                    the task or connector is FAILED
└── DatabaseUnavailableError     the connection was lost, or the database chose this transaction to end; try again
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from connect_dagster.errors import ConnectError, RetriableError

MASK = "****"
_PARAMETER = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|keystorepassword)\s*=\s*)[^&;,)\s]*")
_USER_INFO = re.compile(r"(//[^/:@?\s]*:)[^/@\s]*@")
_ORACLE = re.compile(r"jdbc:oracle:[^@\s]*+@?")
# Classes of SQLSTATE: connection errors, transactions rolled back, operator intervention, resources.
_PASSING_CLASSES = ("08", "40", "57", "53")
_PASSING_NAMES = ("SQLTransientException", "SQLRecoverableException", "SQLTransientConnectionException")
# MariaDB and MySQL: lock wait timeout, deadlock, too many connections, server shutdown, gone away, lost.
_PASSING_CODES = frozenset({1205, 1213, 1040, 1053, 2006, 2013, 1927})
_ACCESS_DENIED = ("28",)


class DatabaseError(ConnectError):
    """An error of a database or its driver.

    Attributes:
        state: SQLSTATE, such as ``42S02``; empty when there is none.
        code: the vendor's number; 0 when there is none.
    """

    def __init__(self, message: str, state: str = "", code: int = 0) -> None:
        super().__init__(message)
        self.state = state
        self.code = code

    @property
    def refused(self) -> bool:
        """Return whether user or password were wrong."""
        return self.state.startswith(_ACCESS_DENIED)


class DatabaseUnavailableError(DatabaseError, RetriableError):
    """An error that may not occur again at the next attempt."""

    java_name = RetriableError.java_name


def sql_error(error: Exception, what: str, secrets: Sequence[str] = ()) -> DatabaseError | None:
    """Return the error of the first SQL exception among the causes; ``None`` for exceptions not from Java.

    Args:
        error: as py4j or PySpark has it.
        what: what was tried, for the beginning of the text.
        secrets: texts that must not show.
    """
    thrown = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if thrown is None:
        return None
    chain = list(_causes(thrown))
    sql = next((one for one in chain if hasattr(one, "getSQLState") and _is_sql(one)), None)
    if sql is None:
        return DatabaseError(without_secrets(f"{what}: {_text(chain[0])}", secrets))
    state, code = str(sql.getSQLState() or ""), int(sql.getErrorCode())
    message = without_secrets(f"{what}: {_text(sql)}{_numbers(state, code)}", secrets)
    passing = any(_passes(one, state, code) for one in chain)
    return (DatabaseUnavailableError if passing else DatabaseError)(message, state, code)


def without_secrets(text: str, secrets: Sequence[str] = ()) -> str:
    """Return a text, such as a URL, without passwords."""
    for secret in secrets:
        # One of few letters may well be part of a word.
        text = text.replace(secret, MASK) if len(secret) > 3 else text
    for pattern, kept in ((_PARAMETER, rf"\1{MASK}"), (_USER_INFO, rf"\1{MASK}@"), (_ORACLE, _without_password)):
        text = pattern.sub(kept, text)
    return text


def _without_password(url: re.Match[str]) -> str:
    """Return the beginning of Oracle's URL, which may have ``user/password@``, without the password."""
    user, slash, password = url[0].partition("/")
    return f"{user}/{MASK}@" if slash and password.endswith("@") and password != "@" else url[0]


def _passes(thrown: Any, state: str, code: int) -> bool:
    name = str(thrown.getClass().getName())
    return (
        state.startswith(_PASSING_CLASSES)
        or code in _PASSING_CODES
        or name.rpartition(".")[2] in _PASSING_NAMES
        or name.startswith(("java.net.", "java.io.EOF"))
    )


def _is_sql(thrown: Any) -> bool:
    kind = thrown.getClass()
    while kind is not None:
        if kind.getName() == "java.sql.SQLException":
            return True
        kind = kind.getSuperclass()
    return False


def _causes(thrown: Any) -> Iterator[Any]:
    for _ in range(10):
        yield thrown
        thrown = thrown.getCause()
        if thrown is None:
            return


def _text(thrown: Any) -> str:
    text = thrown.getMessage()
    return str(text) if text else str(thrown.getClass().getName())


def _numbers(state: str, code: int) -> str:
    known = [part for part in (f"SQLState: {state}" if state else "", f"errorCode: {code}" if code else "") if part]
    return f" ({', '.join(known)})" if known else ""
