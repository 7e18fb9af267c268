"""Streaming: the binary log from a position on, as batches of records (Debezium: ``BinlogStreamingChangeEventSource``).

A piece of the log gives one batch for each table. The last one carries the offset, so that nothing is lost where a
worker ends between them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from connect_dagster.connectors.mysql.decode.events import EventType, Query
from connect_dagster.connectors.mysql.history.schema_changes import SchemaChanges, StatementPlace
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.stream.change_tables import MILLISECOND, ChangeTable, ChangeTables
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece, LogStream
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.connectors.mysql.stream.transactions import TransactionMonitor
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)


_SET_STATEMENT = re.compile(r"\s*SET\s+STATEMENT\s.*?\sFOR\s", re.IGNORECASE | re.DOTALL)
_XA = re.compile(r"\s*XA\s", re.IGNORECASE)
_ROWS_AS_STATEMENT = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE)\s", re.IGNORECASE)


class Signals(Protocol):
    """Hears signals, and takes incremental snapshots."""

    def stored(self, position: Position) -> Position:
        """Return what to store of a position that the log has reached."""

    def after(self, piece: LogPiece, changes: Sequence[ChangeTable], place: Place) -> list[SourceTable]:
        """Return batches, without offsets, that come after the records of a piece."""

    def idle(self, place: Place) -> list[SourceTable]:
        """Return batches, without offsets, that do not depend on the log."""


class Streaming:
    """Makes batches of a log.

    Args:
        stream: the log.
        changes: makes records of rows.
        schema_changes: applies statements.
        signals: hears signals, and sends what incremental snapshots read.
        partition: of the offsets.
        metrics: show how far it is.
        transactions: numbers records in their transactions; ``None`` where they have no numbers.
    """

    def __init__(
        self,
        stream: LogStream,
        changes: ChangeTables,
        schema_changes: SchemaChanges,
        signals: Signals,
        partition: Mapping[str, str],
        metrics: StreamingMetrics,
        transactions: TransactionMonitor | None = None,
    ) -> None:
        self._stream = stream
        self._changes = changes
        self._schema_changes = schema_changes
        self._signals = signals
        self._partition = partition
        self._metrics = metrics
        self._transactions = transactions

    @property
    def position(self) -> Position:
        """Return the position after all batches so far."""
        return self._stream.place.stored()

    @property
    def stored(self) -> Position:
        """Return what to store of the position: with entries of transactions, and of what signals ask for."""
        return self._signals.stored(replace(self.position, others=self._transaction_entries()))

    def _transaction_entries(self) -> tuple[tuple[str, Any], ...]:
        return () if self._transactions is None else tuple(self._transactions.entries().items())

    def next(self, wait: float) -> list[SourceTable] | None:
        """Return the batches of the next piece, perhaps none; ``None`` where nothing comes in time.

        Args:
            wait: longest time in seconds.

        Raises:
            RetriableError: the connection is lost.
            ConnectError: the log, or a statement in it, cannot be read.
        """
        piece = self._stream.next(wait)
        if piece is None:
            return self._with_offset(self._signals.idle(self._stream.place)) or None
        lone = piece.lone()
        if lone is not None:
            self._metrics.read(piece, [], self._stream.place)
            return self._of_lone(piece, *lone)
        changes, boundaries = self._numbered(piece, self._changes.of(piece))
        self._metrics.read(piece, changes, self._stream.place)
        signalled = self._signals.after(piece, changes, self._stream.place)
        return self._with_offset([*(one.batch() for one in changes), *boundaries, *signalled])

    def _numbered(self, piece: LogPiece, changes: list[ChangeTable]) -> tuple[list[ChangeTable], list[SourceTable]]:
        return (changes, []) if self._transactions is None else self._transactions.numbered(piece, changes)

    def _with_offset(self, tables: list[SourceTable]) -> list[SourceTable]:
        if not tables:
            return []
        return [*tables[:-1], _positioned(tables[-1], self._partition, self.stored)]

    def _of_lone(self, piece: LogPiece, kind: EventType, body: bytes) -> list[SourceTable]:
        match kind:
            case EventType.ROTATE:
                self._changes.file_changed()
            case EventType.QUERY:
                return self._of_statement(piece, Query.parse(body))
            case EventType.INCIDENT:
                log.error("The server reports an incident at %s: rows may be missing in its log", piece.times.before)
        return []

    def _of_statement(self, piece: LogPiece, query: Query) -> list[SourceTable]:
        text = query.text.strip()
        plain = _SET_STATEMENT.sub("", text)
        if _XA.match(plain):
            return []  # what it does is not committed yet, or is in rows
        if _ROWS_AS_STATEMENT.match(plain):
            log.warning(
                "A statement in place of rows is passed over; binlog_format must be ROW for all sessions: %s", text
            )
        else:
            applied = self._schema_changes.apply(text, query.schema, _place(piece, self._transaction_entries()))
            truncated = [self._changes.truncated(piece, table) for table in applied.truncated]
            changes, _ = self._numbered(piece, [one for one in truncated if one is not None])
            self._stream.place = self._stream.place.after_statement()
            return self._with_offset([*applied.batches, *(one.batch() for one in changes)])
        self._stream.place = self._stream.place.after_statement()
        return []


def _place(piece: LogPiece, others: tuple[tuple[str, Any], ...]) -> StatementPlace:
    place = piece.times.before.at_statement(int(piece.events.end_position[0]), int(piece.events.server_id[0]))
    return StatementPlace(
        replace(place.stored(), others=others),
        int(piece.times.position[0]),
        int(piece.times.micros[0]) // MILLISECOND * MILLISECOND,
        piece.times.before.gtid,
        piece.times.before.thread,
    )


def _positioned(table: SourceTable, partition: Mapping[str, str], position: Position) -> SourceTable:
    return replace(table, source_partition=partition, source_offset=position.offset())
