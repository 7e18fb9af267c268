"""Rows of a piece of the log as records: one Arrow table for each table that changed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.columns import decode
from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs
from connect_dagster.connectors.mysql.decode.row_events import RowChanges, RowGroup, RowImages, TableMaps, row_images
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureRules
from connect_dagster.connectors.mysql.positions.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.records.captured_table import CapturedField, CapturedTable, impossible_date
from connect_dagster.connectors.mysql.records.change_records import RecordChoice, change_records, truncate_record
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.records.record_tables import RecordParts, record_headers, record_table
from connect_dagster.connectors.mysql.records.source_info import SourceColumns, source_struct
from connect_dagster.connectors.mysql.stream.event_place import EventPlace
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, DataError
from connect_dagster.plugin.frames import SourceTable

_UNREADABLE = (DataError, IndexError, ValueError)
"""Errors of decoders for bytes, and values, that are not what the table says."""

MILLISECOND = 1000
"""Microseconds, which Debezium's times of statements do not have."""


class TableLookup(Protocol):
    """The structure of tables at the place that the log has reached."""

    def captured(self, announced: TableMap, place: EventPlace) -> CapturedTable | None:
        """Return the table of row events; ``None`` for one that is not captured.

        Args:
            announced: the table as the log describes it.
            place: of the first of the events.

        Raises:
            ConnectError: its structure is not known, or another one.
        """

    def truncated(self, table: TableId) -> CapturedTable | None:
        """Return a table that a statement truncates; ``None`` for one that is not captured, or is not known."""


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """Records of one table.

    Attributes:
        captured: topic and schemas.
        rows: the columns of a ``SourceTable``.
        event: index in the piece of the event that each record comes from.
        row: number of its row in the event.
    """

    captured: CapturedTable
    rows: pa.Table
    event: Longs
    row: Longs

    def batch(self) -> SourceTable:
        """Return the records as a batch without an offset."""
        of = self.captured
        return SourceTable(self.rows, {}, None, topic=of.topic, value_schema=of.value_schema, key_schema=of.key_schema)


class ChangeTables:
    """Makes records of the pieces of one log.

    Args:
        tables: knows the structure of tables.
        choice: of records.
        parts: of records.
        sources: whose transactions count; ``None`` for all.
        micros: gives the present time in microseconds since 1970.
        signals: table whose rows always have records, as they are signals.
        failures: reactions to what cannot be read.
    """

    def __init__(
        self,
        tables: TableLookup,
        choice: RecordChoice,
        parts: RecordParts,
        sources: GtidSources | None,
        micros: Callable[[], int],
        signals: TableId | None = None,
        failures: FailureRules = DEFAULT_RULES,
    ) -> None:
        self._tables = tables
        self._failures = failures
        self._signals = None if signals is None else str(signals).lower()
        self._choice = choice
        self._parts = parts
        self._sources = sources
        self._micros = micros
        self._maps = TableMaps()

    def file_changed(self) -> None:
        """Forget the numbers of tables, which are given again in each file."""
        self._maps.clear()

    def of(self, piece: LogPiece) -> list[ChangeTable]:
        """Return the records of a piece, by table in the order of their first changes.

        Raises:
            ConnectError: the structure of a captured table is not known, or an event cannot be read.
        """
        found = []
        for group in self._groups(piece):
            captured = self._tables.captured(group.table, EventPlace.of(piece, int(group.events[0])))
            if captured is not None:
                found += self._of_events(piece, group, captured)
        return found

    def _groups(self, piece: LogPiece) -> list[RowGroup]:
        try:
            return self._maps.groups(piece.buffer, piece.events)
        except _UNREADABLE as error:
            place = EventPlace.of(piece, 0)
            raise ConnectError(f"The binary log cannot be read from {place} on: {error}") from error

    def _of_events(self, piece: LogPiece, group: RowGroup, captured: CapturedTable) -> list[ChangeTable]:
        """Return the records of events; where they cannot be read, halve them to find those that are to blame."""
        try:
            made = self._of_group(piece, group, captured)
        except _UNREADABLE as error:
            if len(group.events) == 1:
                what = f"An event of table {captured.id} at {EventPlace.of(piece, int(group.events[0]))}"
                self._failures.events.apply(f"{what} cannot be read: {str(error) or type(error).__name__}", error)
                return []
            middle = len(group.events) // 2
            halves = (group.events[:middle], group.events[middle:])
            return [one for half in halves for one in self._of_events(piece, RowGroup(group.table, half), captured)]
        return [] if made is None else [made]

    def _of_group(self, piece: LogPiece, group: RowGroup, captured: CapturedTable) -> ChangeTable | None:
        images = row_images(piece.buffer, piece.events, group)
        changes = RowChanges.of(images)
        image = np.maximum(changes.before, changes.after)
        event, row = images.event[image], images.row[image]
        kept = self._kept(piece, event, row)
        if not kept.any():
            return None
        if not kept.all():
            changes = RowChanges(changes.operation[kept], changes.before[kept], changes.after[kept])
            event, row = event[kept], row[kept]
        decoder = self._decoder(piece, group, captured, images)
        records = change_records(captured, changes, decoder, self._choice_of(captured))
        if not len(records):
            return None
        event, row = event[records.change], row[records.change]
        source = source_struct(self._parts.source, captured.id, source_columns(piece, event, row))
        write = functools.partial(self._parts.write_header, captured.key_schema)
        headers = record_headers(records, self._parts.headers, write)
        return ChangeTable(captured, record_table(records, source, self._micros(), headers), event, row)

    def _decoder(
        self, piece: LogPiece, group: RowGroup, captured: CapturedTable, images: RowImages
    ) -> Callable[[CapturedField], pa.Array]:
        decoded: dict[int, pa.Array] = {}

        def values(field: CapturedField) -> pa.Array:
            index = field.index
            if index not in decoded:
                stored = group.table.columns[index]
                found = decode(piece.buffer, images.cells[index], stored, field.type.reading)
                if found.impossible >= 0:
                    place = EventPlace.of(piece, int(images.event[found.impossible]))
                    self._failures.values.apply(impossible_date(captured.id, field, f"in the event {place}"))
                decoded[index] = found.values
            return decoded[index]

        return values

    def _choice_of(self, captured: CapturedTable) -> RecordChoice:
        if str(captured.id).lower() != self._signals:
            return self._choice
        return replace(self._choice, skipped=frozenset())

    def truncated(self, piece: LogPiece, table: TableId) -> ChangeTable | None:
        """Return the record of a statement that truncates a table; ``None`` for none.

        Args:
            piece: the statement.
            table: that it truncates.
        """
        captured = None if Operation.TRUNCATE in self._choice.skipped else self._tables.truncated(table)
        if captured is None:
            return None
        records, first = truncate_record(captured), np.zeros(1, np.int64)
        columns = source_columns(piece, first, first)
        columns = replace(columns, micros=columns.micros // MILLISECOND * MILLISECOND)
        source = source_struct(self._parts.source, captured.id, columns)
        headers = record_headers(records, self._parts.headers, lambda _: None)
        rows = record_table(records, source, self._micros(), headers)
        return ChangeTable(replace(captured, key_schema=None), rows, first, first)

    def _kept(self, piece: LogPiece, event: Longs, row: Longs) -> Flags:
        """Return which changes have records: not those that were sent, or whose server does not count."""
        kept: Flags = ~piece.times.is_sent(event, row)
        if self._sources is None:
            return kept
        counting = piece.times.of_sources(self._sources.keeps_rows)
        return kept & counting[event]


def source_columns(piece: LogPiece, event: Longs, row: Longs) -> SourceColumns:
    """Return the entries of ``source`` for rows, by the indices of their events and their numbers in these."""
    events, times = piece.events, piece.times
    return SourceColumns(
        file=times.before.file,
        position=times.position[event],
        row=row,
        micros=times.micros[event],
        server_id=events.server_id[event],
        gtid=times.gtids(event),
        thread=times.thread[event],
        query=times.queries(event),
        snapshot=pa.nulls(len(event), pa.string()),
    )
