"""Records of the rows of a chunk: ``op`` is ``r``, ``source`` that of the event at which they are sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.records.captured_table import CapturedTable
from connect_dagster.connectors.mysql.records.change_records import ChangeRecords
from connect_dagster.connectors.mysql.records.envelope import SnapshotRecord
from connect_dagster.connectors.mysql.records.record_tables import RecordParts, record_headers, record_table
from connect_dagster.connectors.mysql.records.source_info import source_struct
from connect_dagster.connectors.mysql.stream.change_tables import source_columns
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.plugin.frames import SourceTable


@dataclass(frozen=True, slots=True)
class LogRow:
    """A row of the log.

    Attributes:
        piece: that has it.
        event: index of its event in the piece.
        row: its number in the event.
    """

    piece: LogPiece
    event: int
    row: int


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Makes batches.

    Attributes:
        parts: of records.
        micros: gives the present time in microseconds since 1970.
    """

    parts: RecordParts
    micros: Callable[[], int]

    def batch(self, table: CapturedTable, records: ChangeRecords, at: LogRow) -> SourceTable:
        """Return records as a batch without an offset.

        Args:
            table: that they are of.
            records: at least one.
            at: the row that ends their window, as Debezium's have its position.
        """
        count, now = len(records), self.micros()
        columns = replace(
            source_columns(at.piece, np.full(count, at.event), np.full(count, at.row)),
            micros=np.full(count, now),
            snapshot=pa.repeat(pa.scalar(SnapshotRecord.INCREMENTAL.value), count),
        )
        source = source_struct(self.parts.source, table.id, columns)
        headers = record_headers(records, self.parts.headers, lambda _: None)
        return SourceTable(
            record_table(records, source, now, headers),
            {},
            None,
            topic=table.topic,
            value_schema=table.value_schema,
            key_schema=table.key_schema,
        )
