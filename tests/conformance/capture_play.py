"""Runs a script of statements under two connectors, Debezium in Java's worker and ours, and keeps their records."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from confluent_kafka.admin import AdminClient

from tests.binlog_servers import BinlogServer, MySQL
from tests.conformance.capture_script import DATABASE, END, OTHER_DATABASE, SESSION
from tests.conformance.java_debezium import Debezium
from tests.conformance.topic_records import messages
from tests.rest_calls import Answer, call

SECONDS = 150.0
POLL_SECONDS = 0.2

JAVA, OURS = "java", "ours"
HEARTBEATS = "{prefix}-heartbeat"
_HISTORY = ".history"


@dataclass(frozen=True, slots=True)
class Side:
    """One worker under test.

    Attributes:
        name: ``java`` or ``ours``, the start of its topics' names.
        url: of its REST API.
    """

    name: str
    url: str

    def call(self, method: str, target: str, body: Any = None) -> Answer:
        """Send a request."""
        return call(self.url, method, target, body)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of one side, without what depends on its prefix."""

    key: Any
    value: Any
    headers: Sequence[tuple[str, Any]] = ()


@dataclass(slots=True)
class Captured:
    """Everything that a connector wrote.

    Attributes:
        topics: records by topic, without the prefix.
        offset: that is committed at the end.
        failure: trace of the task where it failed.
    """

    topics: dict[str, list[Record]] = field(default_factory=dict)
    offset: Any = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Play:
    """A broker, a server and both workers.

    Attributes:
        broker: addresses of the broker.
        server: that is captured.
        sides: the workers.
    """

    broker: str
    server: BinlogServer
    sides: Sequence[Side]

    def run(
        self,
        before: Sequence[str],
        after: Sequence[str],
        options: Mapping[str, str],
        *,
        queries: bool = False,
        rows: bool = True,
    ) -> dict[str, Captured]:
        """Return what each side has captured.

        Args:
            before: statements that are run before the connectors start.
            after: statements that are run once their snapshots are done.
            options: more options of the connectors; ``{prefix}`` stands for that of their topics.
            queries: whether the log has the statements that change rows.
            rows: whether the snapshot has rows.
        """
        run = uuid4().hex[:8]
        self._fresh_databases()
        with self._sessions(queries) as execute:
            execute(before)
            for side in self.sides:
                self._create(side, f"{side.name}_{run}", options)
            try:
                marks = f".{DATABASE}.{END}"
                failed = self._wait_for(run, marks if rows else _HISTORY, 1)
                if not failed:
                    execute([*after, f"INSERT INTO {END} VALUES (2)"])
                    self._wait_for(run, marks, 2 if rows else 1)
                return {side.name: self._captured(side, f"{side.name}_{run}") for side in self.sides}
            finally:
                for side in self.sides:
                    side.call("DELETE", f"/connectors/{side.name}_{run}")

    def _fresh_databases(self) -> None:
        for name in (DATABASE, OTHER_DATABASE):
            self.server.new_database(name)
        self.server.root_execute(f"ALTER DATABASE {DATABASE} CHARACTER SET utf8mb4")

    @contextmanager
    def _sessions(self, queries: bool) -> Iterator[Callable[[Sequence[str]], None]]:
        variable = "binlog_rows_query_log_events" if isinstance(self.server, MySQL) else "binlog_annotate_row_events"
        with (
            self.server.global_variables(**{variable: int(queries)}),
            self.server.connection(DATABASE) as connection,
            connection.cursor() as cursor,
        ):

            def execute(statements: Sequence[str]) -> None:
                for statement in (*SESSION, *statements):
                    try:
                        cursor.execute(statement)
                        cursor.fetchall()
                    except Exception as error:
                        raise AssertionError(f"{error}: {statement}") from error

            yield execute

    def _create(self, side: Side, prefix: str, options: Mapping[str, str]) -> None:
        user = self.server.new_user()
        connector = Debezium.MYSQL if isinstance(self.server, MySQL) else Debezium.MARIADB
        config = {
            "name": prefix,
            "connector.class": connector.java_class,
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": user.name,
            "database.password": user.password,
            "database.server.id": str(5000 + uuid4().int % 100_000),
            "database.include.list": DATABASE,
            "table.exclude.list": f"{DATABASE}.secret",
            "topic.prefix": prefix,
            "snapshot.max.threads": "1",  # so that the order is that of the tables
            "schema.history.internal.kafka.bootstrap.servers": self.broker,
            "schema.history.internal.kafka.topic": f"{prefix}{_HISTORY}",
            **({} if connector is Debezium.MYSQL else {"database.ssl.mode": "disable"}),
            **{name: value.replace("{prefix}", prefix) for name, value in options.items()},
        }
        answer = side.call("PUT", f"/connectors/{prefix}/config", config)
        assert answer.status == 201, (side.name, answer.body)

    def _wait_for(self, run: str, topic: str, count: int) -> bool:
        """Wait until each side has some records in a topic, or has failed; return whether one has."""
        deadline = time.monotonic() + SECONDS
        waiting = list(self.sides)
        failed = False
        while waiting:
            assert time.monotonic() < deadline, (
                f"{[side.name for side in waiting]} did not come to record {count} of {topic}"
            )
            time.sleep(POLL_SECONDS)
            for side in list(waiting):
                prefix = f"{side.name}_{run}"
                fails = _failure(side, prefix) is not None
                if fails or len(self._records(f"{prefix}{topic}")) >= count:
                    waiting.remove(side)
                    failed |= fails
        return failed

    def _records(self, topic: str) -> Sequence[Any]:
        known = self._topics()
        return messages(self.broker, [topic]) if topic in known else []

    def _topics(self) -> list[str]:
        return list(AdminClient({"bootstrap.servers": self.broker}).list_topics(timeout=20).topics)

    def _captured(self, side: Side, prefix: str) -> Captured:
        found = Captured(failure=_failure(side, prefix))
        for topic in self._topics():
            if topic.startswith(prefix):
                records = [_record(one, prefix) for one in self._records(topic)]
                name = topic.replace(prefix, "{prefix}")
                found.topics[name] = records[:1] if name.startswith(HEARTBEATS) else records  # their number is chance
        found.offset = _settled_offset(side, prefix)
        return found


def _failure(side: Side, prefix: str) -> str | None:
    answer = side.call("GET", f"/connectors/{prefix}/status")
    if answer.status != 200:
        return None
    status = answer.json
    return next((part["trace"] for part in (status["connector"], *status["tasks"]) if "trace" in part), None)


def _settled_offset(side: Side, prefix: str) -> Any:
    """Return the offset that is committed after a flush or two."""
    time.sleep(1.5)
    found = side.call("GET", f"/connectors/{prefix}/offsets").json["offsets"]
    return found[0]["offset"] if found else None


def _record(message: Any, prefix: str) -> Record:
    headers = [(name, _parsed(content, prefix)) for name, content in message.headers() or ()]
    return Record(_parsed(message.key(), prefix), _parsed(message.value(), prefix), headers)


def _parsed(content: bytes | None, prefix: str) -> Any:
    if content is None:
        return None
    text = content.decode().replace(prefix, "{prefix}")
    try:
        return json.loads(text)
    except ValueError:
        return text
