"""The struct ``source`` of data records (Debezium: ``BinlogSourceInfoStructMaker``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.kernels import Longs
from connect_dagster.connectors.mysql.table_ids import TableId


@dataclass(frozen=True, slots=True)
class SourceConstants:
    """Entries that are equal in all records of a connector.

    Attributes:
        version: of the connector.
        connector: ``mysql`` or ``mariadb``.
        name: ``topic.prefix``.
    """

    version: str
    connector: str
    name: str


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """Entries that differ from record to record, or are constant.

    Attributes:
        file: of the log.
        position: of the row event in the file.
        row: number of the row in the event.
        micros: microseconds since 1970.
        server_id: of the server that wrote the event.
        gtid: text, null where there is none.
        thread: of the server; -1 for none.
        query: statement, null where it is not known.
        snapshot: ``snapshot``; null for rows of the log.
    """

    file: str
    position: Longs
    row: Longs
    micros: Longs
    server_id: Longs
    gtid: pa.Array
    thread: Longs
    query: pa.Array
    snapshot: pa.Array

    def __len__(self) -> int:
        return len(self.position)


def source_struct(constants: SourceConstants, table: TableId, columns: SourceColumns) -> pa.StructArray:
    """Return ``source`` for the records of a table, its fields in the order of the schema."""
    count = len(columns)

    def text(value: str | None) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.string()), count)

    threads = pa.array(columns.thread, pa.int64(), mask=columns.thread < 0)
    fields: dict[str, Any] = {
        "version": text(constants.version),
        "connector": text(constants.connector),
        "name": text(constants.name),
        "ts_ms": pa.array(columns.micros // 1000),
        "snapshot": columns.snapshot,
        "db": text(table.database),
        "sequence": text(None),
        "ts_us": pa.array(columns.micros),
        "ts_ns": pa.array(columns.micros * 1000),
        "table": text(table.name),
        "server_id": pa.array(columns.server_id),
        "gtid": columns.gtid,
        "file": text(columns.file),
        "pos": pa.array(columns.position),
        "row": pa.array(columns.row.astype(np.int32)),
        "thread": threads,
        "query": columns.query,
    }
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))
