"""Rows of a piece of the log as records: one Arrow table for each table that changed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.columns import decode
from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs
from connect_dagster.connectors.mysql.decode.row_events import RowChanges, RowGroup, RowImages, TableMaps, row_images
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.records.captured_table import CapturedField, CapturedTable
from connect_dagster.connectors.mysql.records.change_records import RecordChoice, change_records, truncate_record
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.records.record_tables import record_headers, record_table
from connect_dagster.connectors.mysql.records.source_info import SourceColumns, SourceConstants, source_struct
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import Schema

MILLISECOND = 1000
"""Microseconds, which Debezium's times of statements do not have."""


class Tables(Protocol):
    """The structure of tables at the place that the log has reached."""

    def captured(self, announced: TableMap) -> CapturedTable | None:
        """Return the table of row events; ``None`` for one that is not captured.

        Args:
            announced: the table as the log describes it.

        Raises:
            ConnectError: its structure is not known, or another one.
        """

    def truncated(self, table: TableId) -> CapturedTable | None:
        """Return a table that a statement truncates; ``None`` for one that is not captured, or is not known."""


@dataclass(frozen=True, slots=True)
class RecordParts:
    """Parts of records that do not depend on rows.

    Attributes:
        source: constants of ``source``.
        headers: of all records.
        write_header: makes the bytes of a header's value, by its schema.
    """

    source: SourceConstants
    headers: Mapping[str, bytes | None]
    write_header: Callable[[Schema | None, Any], bytes | None]


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
    """

    def __init__(
        self,
        tables: Tables,
        choice: RecordChoice,
        parts: RecordParts,
        sources: GtidSources | None,
        micros: Callable[[], int],
        signals: TableId | None = None,
    ) -> None:
        self._tables = tables
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
            ConnectError: the structure of a captured table is not known.
            MalformedBytes: an event is not what its table says.
            DataError: a value cannot be read.
        """
        found = []
        for group in self._maps.groups(piece.buffer, piece.events):
            captured = self._tables.captured(group.table)
            made = None if captured is None else self._of_group(piece, group, captured)
            if made is not None:
                found.append(made)
        return found

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
        records = change_records(captured, changes, _decoder(piece, group, images), self._choice_of(captured))
        if not len(records):
            return None
        event, row = event[records.change], row[records.change]
        source = source_struct(self._parts.source, captured.id, source_columns(piece, event, row))
        write = functools.partial(self._parts.write_header, captured.key_schema)
        headers = record_headers(records, self._parts.headers, write)
        return ChangeTable(captured, record_table(records, source, self._micros(), headers), event, row)

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


def _decoder(piece: LogPiece, group: RowGroup, images: RowImages) -> Callable[[CapturedField], pa.Array]:
    decoded: dict[int, pa.Array] = {}

    def values(field: CapturedField) -> pa.Array:
        index = field.index
        if index not in decoded:
            stored = group.table.columns[index]
            decoded[index] = decode(piece.buffer, images.cells[index], stored, field.type.reading).values
        return decoded[index]

    return values


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
