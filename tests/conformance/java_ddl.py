"""Debezium's parsers of DDL in a child process: the tables that statements leave, as a schema history has them."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.java import find_java
from tests.conformance.java_debezium import Debezium

DATABASE = "shop"

_PROGRAM = Path(__file__).with_name("DebeziumDdlInJava.java")
_CLASSES: Mapping[Debezium, tuple[str, str]] = {
    Debezium.MYSQL: (
        "io.debezium.connector.mysql.antlr.MySqlAntlrDdlParser",
        "io.debezium.connector.mysql.charset.MySqlCharsetRegistry",
    ),
    Debezium.MARIADB: (
        "io.debezium.connector.mariadb.antlr.MariaDbAntlrDdlParser",
        "io.debezium.connector.mariadb.charset.MariaDbCharsetRegistry",
    ),
}
# What the connectors hand to their parsers by default: MariaDB's takes `include.schema.changes` for it, in 3.5.0.
_COMMENTS = {Debezium.MYSQL: False, Debezium.MARIADB: True}


@dataclass(frozen=True, slots=True)
class Script:
    """Statements that are run one after the other on a server without tables.

    Attributes:
        statements: Those.
        database: The one that each statement begins in.
        variables: The server's, such as `character_set_server`.
        comments: Whether comments are kept; None for what the connector does by default.
    """

    statements: tuple[str, ...]
    database: str = DATABASE
    variables: Mapping[str, str] = field(default_factory=dict)
    comments: bool | None = None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser made of a script.

    Attributes:
        tables: Elements of `tableChanges` of the type `CREATE`, one for each table, by name.
        statements: For each statement its events, as objects with a `type`, and a `statement` where that is another
            text; or an object with an `error`.
    """

    tables: list[dict[str, Any]]
    statements: list[Any]

    @property
    def errors(self) -> list[str]:
        """The texts of the statements that were not parsed."""
        return [one["message"] for one in self.statements if isinstance(one, dict)]


class JavaDdl:
    """Starts a JVM at the first question; a context manager that ends it. One caller at a time.

    Args:
        connector: The one whose parser is asked.
    """

    def __init__(self, connector: Debezium) -> None:
        self._connector = connector
        self._process: subprocess.Popen[str] | None = None

    def parsed(self, script: Script) -> Parsed:
        """Return what Debezium makes of a script."""
        self._process = process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        comments = _COMMENTS[self._connector] if script.comments is None else script.comments
        process.stdin.write(json.dumps({**asdict(script), "comments": comments}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "the program ended: see its standard error"
        return Parsed(**json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            assert self._process.stdin is not None
            with self._process:
                self._process.stdin.close()

    def _started(self) -> "subprocess.Popen[str]":
        options = [*FAST_START, "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        program = ["-cp", self._connector.class_path, str(_PROGRAM), *_CLASSES[self._connector]]
        return subprocess.Popen(
            [str(find_java()), *options, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


def java_parsed(connector: Debezium, scripts: Sequence[Script]) -> list[Parsed]:
    """Return what Debezium makes of each of some scripts, from one JVM."""
    with JavaDdl(connector) as java:
        return [java.parsed(script) for script in scripts]


def java_tables(connector: Debezium, statements: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tables that statements leave, as a schema history has them.

    Raises:
        ValueError: a statement cannot be parsed.
    """
    (parsed,) = java_parsed(connector, [Script(tuple(statements))])
    if parsed.errors:
        raise ValueError("\n".join(parsed.errors))
    return parsed.tables
