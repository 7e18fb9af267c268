"""Sessions that answer statements by a table, for what the servers of tests are not."""

from collections.abc import Mapping, Sequence
from typing import Any

import pymysql

Answer = Sequence[tuple[Any, ...]] | pymysql.Error


class Cursor:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._rows: Sequence[tuple[Any, ...]] = ()

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def execute(self, statement: str, values: object = None) -> None:
        self._session.statements.append(statement)
        answer = self._session.answers.get(statement, ())
        if isinstance(answer, pymysql.Error):
            raise answer
        self._rows = answer

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        return self._rows


class Session:
    """A connection for ``query``.

    Attributes:
        answers: rows or an error by statement; no rows to others.
        statements: that have been run.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = {"SELECT CURRENT_USER()": [("debezium@10.%",)], "SELECT VERSION()": [("8.4.2",)], **answers}
        self.statements: list[str] = []

    def cursor(self) -> Cursor:
        return Cursor(self)
