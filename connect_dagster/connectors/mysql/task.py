"""The task: a snapshot where the mode asks for one, then the binary log (Debezium: ``BinlogSourceTask``)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import ClassVar, Protocol

import pymysql

from connect_dagster.connectors.mysql.assembly import (
    StreamExtras,
    binary_log,
    heartbeat,
    history_topic,
    initial_snapshot,
    notifications,
    now_micros,
    record_making,
    schema_history,
    signalling,
    transaction_monitor,
)
from connect_dagster.connectors.mysql.decode.warm_up import warm_up
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.options.config import MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.positions.position import FIRST_POSITION, Position, SnapshotType, source_partition
from connect_dagster.connectors.mysql.records.batch_parts import parts
from connect_dagster.connectors.mysql.server.log_settings import VARIABLES, check_log_settings
from connect_dagster.connectors.mysql.server.server import Server
from connect_dagster.connectors.mysql.snapshot.initial_notices import InitialNotices
from connect_dagster.connectors.mysql.snapshot.initial_snapshot import InitialSnapshot
from connect_dagster.connectors.mysql.snapshot.snapshot_metrics import SnapshotMetrics
from connect_dagster.connectors.mysql.snapshot_modes import Found, Start, Stored, decide
from connect_dagster.connectors.mysql.stream.kept_log import missing_log
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.connectors.mysql.waits import waits
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.connector import Properties, SourceTask
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.5


class BinlogSourceTask(SourceTask):
    """Reads one server.

    Attributes:
        flavor: kind of the server.
        config_class: of the connector.
        version: of the connector, as records have it.
    """

    flavor: ClassVar[Flavor]
    config_class: ClassVar[type[MySqlConfig] | type[MariaDbConfig]]
    version: ClassVar[str]
    at_driver = True

    def start(self, config: Properties) -> None:
        """Check the server and what is stored.

        Raises:
            ConnectError: the server, the schema history or the stored offset does not allow for a start.
        """
        self._config = parsed = self.config_class.parse(config)
        warm_up()
        self._topic = history_topic(parsed)
        self._server = Server(parsed.login(parsed.tls), parsed.first_statements, self.flavor)
        check_log_settings(self._server.variables(*VARIABLES))
        self._making = record_making(parsed, self.flavor, self.version, self.context.header_converter)
        self._history = schema_history(parsed, self._topic, self._server)
        offset = self.context.offsets.offset(source_partition(parsed.topic_prefix))
        self._stored = None if offset is None else Position.of(offset)
        self._signals = signalling(parsed, self.flavor, self._making, self._history)
        self._transactions = transaction_monitor(parsed)
        place = MetricPlace(self.flavor.value, parsed.topic_prefix)
        streaming_metrics = StreamingMetrics(self.context.metrics, place, now_micros)
        self._snapshot_metrics = SnapshotMetrics(self.context.metrics, place, time.monotonic)
        extras = StreamExtras(self._signals, streaming_metrics, self._transactions)
        self._log = binary_log(parsed, self._server, self._making, self._history, extras)
        self._snapshot = self._new_snapshot()
        self._heartbeat = heartbeat(parsed, self._server)
        self._batches = self._run()

    def poll(self) -> Sequence[SourceTable] | None:
        """Return the records that come next."""
        deadline = time.monotonic() + self._config.poll_interval_ms / 1000
        while True:
            found = [part for batch in self._next() for part in parts(batch)]
            if found or time.monotonic() >= deadline:
                return found or None

    def _next(self) -> list[SourceTable]:
        try:
            return next(self._batches)
        except RetriableError as error:  # it was tried again as often as errors.max.retries allows
            raise ConnectError(str(error)) from error

    def _run(self) -> Iterator[list[SourceTable]]:
        """Yield batches: those of a snapshot, then those of the log."""
        start, position = self._started()
        if start.schema or start.data:
            yield from waits(self._config.delay_ms / 1000)
            yield from self._snapshots(start, None if start.from_snapshot else position)
            yield from waits(self._config.streaming_delay_ms / 1000)
        else:
            self._snapshot_metrics.skipped()
            yield InitialNotices(notifications(self._config)).skipped()
        if start.from_snapshot:
            position = self._snapshot.position
        while not start.streams:
            yield from waits(_IDLE_SECONDS)
        position = position or self._first_position()
        entries = dict(position.others)
        self._signals.restore(entries)
        if self._transactions is not None:
            self._transactions.restore(entries)
        for batches in self._log.batches(position):
            yield [*batches, *self._beats()]

    def _snapshots(self, start: Start, at: Position | None) -> Iterator[list[SourceTable]]:
        """Yield the batches of a snapshot, which begins again where its connection is lost."""
        attempt = 0
        while True:
            try:
                yield from self._snapshot.batches(structure=start.schema, data=start.data, at=at)
                return
            except RetriableError as error:
                self._snapshot.close()
                attempt += 1
                delay = self._config.reconnects.delay(attempt)
                if delay is None:
                    raise
                log.warning("%s. The snapshot begins again in %.1f s", error, delay)
            yield from waits(delay)
            self._snapshot = self._new_snapshot()

    def _new_snapshot(self) -> InitialSnapshot:
        return initial_snapshot(self._config, self._making, self._history, self._snapshot_metrics)

    def _beats(self) -> list[SourceTable]:
        if self._heartbeat is None or self._log.stored is None:
            return []
        beat = self._heartbeat.batch(self._log.stored)
        return [] if beat is None else [beat]

    def _started(self) -> tuple[Start, Position | None]:
        """Return what to do, after the schema history has been read as far as it is of use.

        Raises:
            ConnectError: the snapshot mode does not allow for what is stored.
        """
        stored = self._stored
        kind = _kind_of(stored)
        found = Found(kind)
        if stored is not None and kind is Stored.POSITION:
            config = self._config
            keeps, uses_gtids = config.gtid_sources.keeps, not config.ignores_gtid
            missing = missing_log(stored, self._server, keeps, uses_gtids=uses_gtids)
            found = Found(kind, self._topic.has_records(), missing)
        start = decide(self._config.plan, found)
        if not self._topic.exists():
            self._topic.create()
        if stored is not None and kind is Stored.POSITION and not start.from_snapshot:
            self._history.recover(stored)
        return start, None if start.from_snapshot else stored

    def _first_position(self) -> Position:
        """Return the beginning of the log."""
        purged = str(self._server.purged()) if self._server.has_gtids() else None
        return Position(self._server.log_files()[0], FIRST_POSITION, purged)

    def stop(self) -> None:
        """Close the connections."""
        for name in ("_snapshot", "_signals", "_log", "_server", "_topic"):
            opened: Closeable | None = getattr(self, name, None)
            if opened is not None:
                with suppress(pymysql.MySQLError, OSError):
                    opened.close()


class Closeable(Protocol):
    """Has something to close."""

    def close(self) -> None:
        """Close it."""


def _kind_of(stored: Position | None) -> Stored:
    if stored is None:
        return Stored.NOTHING
    return Stored.UNFINISHED if stored.snapshot is SnapshotType.INITIAL else Stored.POSITION
