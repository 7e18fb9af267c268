"""Streaming: the binary log from a position on, as batches of records (Debezium: ``BinlogStreamingChangeEventSource``).

A piece of the log gives one batch for each table. The last one carries the offset, so that nothing is lost where a
worker ends between them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from connect_dagster.connectors.mysql.decode.events import EventType, Query
from connect_dagster.connectors.mysql.positions import Position
from connect_dagster.connectors.mysql.schema_changes import SchemaChanges, StatementPlace
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTables
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece, LogStream
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_SET_STATEMENT = re.compile(r"\s*SET\s+STATEMENT\s.*?\sFOR\s", re.IGNORECASE | re.DOTALL)
_XA = re.compile(r"\s*XA\s", re.IGNORECASE)
_ROWS_AS_STATEMENT = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE)\s", re.IGNORECASE)


class Streaming:
    """Makes batches of a log.

    Args:
        stream: the log.
        changes: makes records of rows.
        schema_changes: applies statements.
        partition: of the offsets.
    """

    def __init__(
        self, stream: LogStream, changes: ChangeTables, schema_changes: SchemaChanges, partition: Mapping[str, str]
    ) -> None:
        self._stream = stream
        self._changes = changes
        self._schema_changes = schema_changes
        self._partition = partition

    @property
    def position(self) -> Position:
        """Return the position after all batches so far."""
        return self._stream.place.stored()

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
            return None
        lone = piece.lone()
        if lone is not None:
            return self._of_lone(piece, *lone)
        tables = [
            SourceTable(
                one.rows,
                {},
                None,
                topic=one.captured.topic,
                value_schema=one.captured.value_schema,
                key_schema=one.captured.key_schema,
            )
            for one in self._changes.of(piece)
        ]
        return self._with_offset(tables)

    def _with_offset(self, tables: list[SourceTable]) -> list[SourceTable]:
        if not tables:
            return []
        return [*tables[:-1], _positioned(tables[-1], self._partition, self.position)]

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
            batches = self._schema_changes.apply(text, query.schema, _place(piece))
            self._stream.place = self._stream.place.after_statement()
            return self._with_offset(batches)
        self._stream.place = self._stream.place.after_statement()
        return []


def _place(piece: LogPiece) -> StatementPlace:
    place = piece.times.before.at_statement(int(piece.events.end_position[0]), int(piece.events.server_id[0]))
    return StatementPlace(
        place.stored(), int(piece.times.position[0]), int(piece.times.micros[0]), piece.times.before.gtid
    )


def _positioned(table: SourceTable, partition: Mapping[str, str], position: Position) -> SourceTable:
    return SourceTable(
        table.table,
        partition,
        position.offset(),
        topic=table.topic,
        value_schema=table.value_schema,
        key_schema=table.key_schema,
    )
