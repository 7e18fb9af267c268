"""The common environment of the cells: server, broker, workers with the connector, and what is written."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests

from benchmarks.cdc.logs import Log, WrittenLog, load_rows, write_log
from benchmarks.contestants import TUNED, Contestant, Running, running
from benchmarks.measure import Deadline, InvalidCellError
from benchmarks.topics import Topics
from benchmarks.workload import Format
from connect_dagster.embedded.broker import EmbeddedBroker
from tests.binlog_servers import MySQL, User
from tests.conformance.java_debezium import Debezium
from tests.databases import Database

_BROKER_HEAP = "2g"
_LEAST_SECONDS, _SLOWEST = 120.0, 2_000  # records a second
_POLL_SECONDS = 0.02
_TUNED_CONNECTOR = {"max.batch.size": "20480", "max.queue.size": "81920", "snapshot.fetch.size": "20000"}
_CONVERTERS = {
    f"{side}.converter{rest}": value
    for side in ("key", "value")
    for rest, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "false"))
}


@dataclass(frozen=True, slots=True)
class Effort:
    """Amounts.

    Attributes:
        rows: of the snapshot, and records of the bulk of the log.
        fewer: records of the other parts of the log.
        samples: single rows whose latency is taken.
        warm_share: part of the records of a log before those that count.
    """

    rows: int
    fewer: int
    samples: int
    warm_share: float = 0.2


@dataclass(slots=True)
class CaptureBench:
    """One server, one broker, and the parts of the log that are written so far."""

    folder: Path
    server: MySQL
    broker: EmbeddedBroker
    topics: Topics
    plugins: Path
    effort: Effort
    user: User
    _logs: dict[Log, WrittenLog] = field(default_factory=dict)
    _tables: dict[int, Database] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def log(self, kind: Log) -> WrittenLog:
        """Return a part of the log, written on first use."""
        if kind not in self._logs:
            records = self.effort.rows if kind is Log.BULK else self.effort.fewer
            self._logs[kind] = write_log(self.server, kind, records)
        return self._logs[kind]

    def table(self, rows: int) -> Database:
        """Return a database with a table ``goods`` of this number of rows, written on first use."""
        if rows not in self._tables:
            self._tables[rows] = write_log(self.server, Log.BULK, rows).database
        return self._tables[rows]

    def new_table(self, rows: int) -> Database:
        """Return a new database with a table ``goods``."""
        database = write_log(self.server, Log.BULK, 0).database
        load_rows(database, "goods", rows)
        return database

    @contextmanager
    def worker(self, contestant: Contestant) -> Iterator[Running]:
        """Start a worker without connectors, until the end of the context."""
        with_plugins = dict(contestant.worker_props)
        if contestant.java is not None:
            with_plugins["plugin.path"] = str(self.plugins)
        folder = self.folder / f"worker-{next(self._numbers)}"
        made = replace(contestant, worker_props=with_plugins)
        with running(made, Format.JSON, self.broker.bootstrap_servers, folder) as worker:
            worker.wait_ready()
            yield worker

    @contextmanager
    def capturing(
        self,
        worker: Running,
        contestant: Contestant,
        database: Database,
        tables: Sequence[str],
        offset: Mapping[str, Any] | None = None,
        **options: str,
    ) -> Iterator[list[str]]:
        """Run a connector until the end of the context; yields its topics, which are deleted after it.

        Args:
            worker: that runs it.
            contestant: whose worker it is.
            database: that is captured.
            tables: of it.
            offset: from which the log is read; ``None`` for the connector's own choice.
            options: more of the connector, with underscores for dots.
        """
        prefix = f"bench{next(self._numbers)}"
        topics = [f"{prefix}.{database.name}.{table}" for table in tables]
        self.topics.create(topics)
        config = self._config(prefix, contestant, database) | {
            name.replace("_", "."): value for name, value in options.items()
        }
        try:
            if offset is None:
                worker.create(config)
            else:
                self._created_at(worker, config, offset)
            yield topics
        finally:
            worker.delete(prefix)
            self.topics.delete(topics)

    def _created_at(self, worker: Running, config: Mapping[str, str], offset: Mapping[str, Any]) -> None:
        url, name = worker.rest_url.rstrip("/"), config["name"]
        _sent("POST", f"{url}/connectors", {"name": name, "config": dict(config), "initial_state": "STOPPED"})
        stored = {"offsets": [{"partition": {"server": name}, "offset": dict(offset)}]}
        _sent("PATCH", f"{url}/connectors/{name}/offsets", stored)
        _sent("PUT", f"{url}/connectors/{name}/resume", None)

    def _config(self, prefix: str, contestant: Contestant, database: Database) -> dict[str, str]:
        return {
            "name": prefix,
            "connector.class": Debezium.MYSQL.java_class,
            "tasks.max": "1",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": self.user.name,
            "database.password": self.user.password,
            "database.server.id": str(10_000 + next(self._numbers)),
            "database.include.list": database.name,
            "topic.prefix": prefix,
            "include.schema.changes": "false",
            "schema.history.internal.kafka.bootstrap.servers": self.broker.bootstrap_servers,
            "schema.history.internal.kafka.topic": f"{prefix}-history",
            "schema.history.internal.store.only.captured.databases.ddl": "true",
            **_CONVERTERS,
            **(_TUNED_CONNECTOR if contestant is TUNED else {}),
        }

    def count(self, topics: Sequence[str]) -> int:
        """Return the number of records of all topics."""
        return sum(self.topics.count(topic, 1) for topic in topics)

    def await_records(self, worker: Running, topics: Sequence[str], wanted: int) -> int:
        """Wait for records; return how many there are then.

        Raises:
            InvalidCellError: the connector has failed, or they do not come in time.
        """
        deadline = Deadline(_LEAST_SECONDS + wanted / _SLOWEST, f"{wanted} records come to {topics[0]}")
        found = 0

        def done() -> bool:
            nonlocal found
            found = self.count(topics)
            return found >= wanted

        worker.await_end(deadline, done, _POLL_SECONDS)
        return found

    def check(self, topics: Sequence[str], wanted: int) -> None:
        """Raise ``InvalidCellError`` where there are more or fewer records than the changes give."""
        found = self.count(topics)
        if found != wanted:
            raise InvalidCellError(f"{topics[0]} and {len(topics) - 1} more topics have {found} of {wanted} records")


def _sent(method: str, url: str, body: Any) -> None:
    answer = requests.request(method, url, json=body, timeout=100)
    if not answer.ok:
        raise InvalidCellError(f"{method} {url}: {answer.status_code} {answer.text}")
