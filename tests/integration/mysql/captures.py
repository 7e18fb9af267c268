"""A connector on a real server without a worker: the schema history is in memory, batches are looked into."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

from connect_dagster.connectors.mysql.assembly import (
    StreamExtras,
    binary_log,
    initial_snapshot,
    now_micros,
    record_making,
    schema_history,
    signalling,
)
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.options.config import MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.server.server import Server
from connect_dagster.connectors.mysql.snapshot.snapshot_metrics import SnapshotMetrics
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.embedded.ports import HOST
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.testing.contexts import CollectedMetrics
from tests.binlog_servers import REPLICATION_RIGHTS, BinlogServer, MySQL
from tests.databases import Database

SECONDS = 120
_RIGHTS = (*REPLICATION_RIGHTS, "INSERT", "DELETE")


class Memory:
    """A schema history."""

    def __init__(self) -> None:
        self._records: list[bytes] = []

    def records(self) -> list[bytes]:
        return list(self._records)

    def write(self, value: bytes) -> None:
        self._records.append(value)


class Capture:
    """A connector.

    Args:
        database: whose tables it captures; the table of signals is `signals` in it.
        before: a connector that this one goes on from.
        options: further ones.

    Attributes:
        records: of all topics, by topic.
        stored: the newest offset.
    """

    def __init__(
        self, database: Database, before: Capture | None = None, options: Mapping[str, str] | None = None
    ) -> None:
        self._database = database
        server = cast("BinlogServer", database.server)
        user = server.new_user(_RIGHTS)
        flavor = Flavor.MYSQL if isinstance(server, MySQL) else Flavor.MARIADB
        parse = MySqlConfig.parse if flavor is Flavor.MYSQL else MariaDbConfig.parse
        self._config = parse(
            {
                "topic.prefix": "shop",
                "database.hostname": HOST,
                "database.port": str(server.port),
                "database.user": user.name,
                "database.password": user.password,
                "database.server.id": "184054",
                "database.include.list": database.name,
                "schema.history.internal.kafka.topic": "history",
                "schema.history.internal.kafka.bootstrap.servers": "none:9092",
                "signal.data.collection": f"{database.name}.signals",
                "notification.enabled.channels": "sink",
                "notification.sink.topic.name": "notices",
                "incremental.snapshot.chunk.size": "50",
                **(options or {}),
            }
        )
        self.records: dict[str, list[dict[str, Any]]] = {} if before is None else before.records
        self.stored: dict[str, Any] = {} if before is None else before.stored
        self._memory: Memory = Memory() if before is None else before._memory
        headers = cast("Any", SimpleNamespace(to_bytes=lambda _, __: None))
        self._server = Server(self._config.login(self._config.tls), (), flavor)
        making = record_making(self._config, flavor, "3.6.1.Final", headers)
        history = schema_history(self._config, cast("Any", self._memory), self._server)
        place = MetricPlace(flavor.value, "shop")
        shown = CollectedMetrics()
        metrics = SnapshotMetrics(shown, place, time.monotonic)
        snapshot = initial_snapshot(self._config, making, history, metrics)
        if before is None:
            for batches in snapshot.batches(structure=True, data=False):
                self._take(batches)
            position = snapshot.position
        else:
            position = Position.of(self.stored)
            history.recover(position)
        assert position is not None
        self.signals = signalling(self._config, flavor, making, history)
        self.signals.restore(dict(position.others))
        self._log = binary_log(
            self._config,
            self._server,
            making,
            history,
            StreamExtras(self.signals, StreamingMetrics(shown, place, now_micros)),
        )
        self._batches = self._log.batches(position)

    def read(self, until: Callable[[], bool]) -> None:
        """Read the log until something holds."""
        deadline = time.monotonic() + SECONDS
        while not until():
            assert time.monotonic() < deadline, "it takes too long"
            self._take(next(self._batches))

    def read_all(self) -> None:
        """Read the log up to a mark that is written now."""
        mark = f"mark-{time.monotonic_ns()}"
        self._database.execute(f"INSERT INTO signals VALUES ('{mark}', 'log', '{{\"message\": \"{mark}\"}}')")
        self.read(lambda: any(one["value"] and _id(one) == mark for one in self.of("signals")))

    def snapshot(self, data: str, *, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Ask for a snapshot and read until it has ended."""
        self.ask(data)
        count = len(self.notices("COMPLETED"))

        def ended() -> bool:
            meanwhile()
            return len(self.notices("COMPLETED")) > count

        self.read(ended)

    def ask(self, data: str, kind: str = "execute-snapshot") -> None:
        """Insert a signal."""
        with self._database.connected() as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO signals VALUES (UUID(), %s, %s)", (kind, data))

    def of(self, table: str) -> list[dict[str, Any]]:
        """The records of a table."""
        return self.records.get(f"shop.{self._database.name}.{table}", [])

    def notices(self, kind: str) -> list[dict[str, str]]:
        """The facts of the notifications of a kind of incremental snapshots."""
        values = [one["value"] for one in self.records.get("notices", [])]
        return [
            dict(value["additional_data"])
            for value in values
            if value["type"] == kind and value["aggregate_type"] == "Incremental Snapshot"
        ]

    def close(self) -> None:
        """Close all connections."""
        for one in (self.signals, self._log, self._server):
            one.close()

    def _take(self, batches: list[SourceTable]) -> None:
        for batch in batches:
            self.records.setdefault(batch.topic or "", []).extend(batch.table.to_pylist())
            if batch.source_partition:
                self.stored = dict(batch.source_offset or {})


@contextlib.contextmanager
def capture(
    database: Database, before: Capture | None = None, options: Mapping[str, str] | None = None
) -> Iterator[Capture]:
    """Run a connector for a while."""
    made = Capture(database, before, options)
    try:
        yield made
    finally:
        made.close()


def _id(record: dict[str, Any]) -> Any:
    after = record["value"]["after"]
    return after and after["id"]
