"""Rows of a piece of the log as records: one Arrow table for each table that changed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.columns import decode
from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs
from connect_dagster.connectors.mysql.decode.row_events import RowChanges, RowGroup, RowImages, TableMaps, row_images
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.records.captured_table import CapturedField, CapturedTable
from connect_dagster.connectors.mysql.records.change_records import RecordChoice, change_records
from connect_dagster.connectors.mysql.records.record_tables import record_headers, record_table
from connect_dagster.connectors.mysql.records.source_info import SourceColumns, SourceConstants, source_struct
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.plugin.schema import Schema


class Tables(Protocol):
    """The structure of tables at the place that the log has reached."""

    def captured(self, announced: TableMap) -> CapturedTable | None:
        """Return the table of row events; ``None`` for one that is not captured.

        Args:
            announced: the table as the log describes it.

        Raises:
            ConnectError: its structure is not known, or another one.
        """


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
    """

    captured: CapturedTable
    rows: pa.Table


class ChangeTables:
    """Makes records of the pieces of one log.

    Args:
        tables: knows the structure of tables.
        choice: of records.
        parts: of records.
        sources: whose transactions count; ``None`` for all.
        micros: gives the present time in microseconds since 1970.
    """

    def __init__(
        self,
        tables: Tables,
        choice: RecordChoice,
        parts: RecordParts,
        sources: GtidSources | None,
        micros: Callable[[], int],
    ) -> None:
        self._tables = tables
        self._choice = choice
        self._parts = parts
        self._sources = sources
        self._micros = micros
        self._maps = TableMaps()

    def file_changed(self) -> None:
        """Forget the numbers of tables, which begin again in each file."""
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
        records = change_records(captured, changes, _decoder(piece, group, images), self._choice)
        if not len(records):
            return None
        event, row = event[records.change], row[records.change]
        source = source_struct(self._parts.source, captured.id, _source_columns(piece, event, row))
        write = functools.partial(self._parts.write_header, captured.key_schema)
        headers = record_headers(records, self._parts.headers, write)
        return ChangeTable(captured, record_table(records, source, self._micros(), headers))

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


def _source_columns(piece: LogPiece, event: Longs, row: Longs) -> SourceColumns:
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
