"""Rows of a chunk that wait until the log has passed the end of their window.

A row whose key the log has between the beginning and the end is dropped: the log has its newest version. The records of
a table without a key are dropped where the log has a row that is equal in all columns, before or after its change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.kernels import Flags
from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan
from connect_dagster.connectors.mysql.incremental.chunk_server import ChunkRows
from connect_dagster.connectors.mysql.incremental.key_sets import found_in
from connect_dagster.connectors.mysql.records.captured_table import CapturedField
from connect_dagster.connectors.mysql.records.change_records import ChangeRecords, read_records
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.errors import ConnectError


@dataclass(slots=True)
class Window:
    """A chunk between its reading and its sending.

    Attributes:
        plan: by which it was read.
        records: of its rows.
        failure: for which there are none.
    """

    plan: ChunkPlan
    records: ChangeRecords | None = None
    failure: ConnectError | None = None
    _kept: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    @classmethod
    def of(cls, plan: ChunkPlan, rows: ChunkRows) -> Window:
        """Return the window of rows."""
        records = read_records(plan.captured, _decoder(rows), rows.count)
        return cls(plan, records, None, np.ones(rows.count, np.bool_))

    def drop(self, change: ChangeTable, since: int) -> None:
        """Drop the rows that the log has in a newer version.

        Args:
            change: records of the same table.
            since: index of the first event that counts.
        """
        if self.records is None or not self._kept.any():
            return
        keys = self.records.after if self.records.key is None else self.records.key
        changed = _changed(change, since)
        if len(changed):
            self._kept &= ~found_in(keys, changed)

    def kept(self) -> ChangeRecords | None:
        """Return the records that are left; ``None`` where none are."""
        if self.records is None or not self._kept.any():
            return None
        of, mask = self.records, pa.array(self._kept)
        count = int(np.count_nonzero(self._kept))
        return ChangeRecords(
            change=np.arange(count),
            operation=of.operation.filter(mask),
            before=of.before.filter(mask),
            after=of.after.filter(mask),
            key=None if of.key is None else of.key.filter(mask),
            new_key=None,
            old_key=None,
            tombstone=np.zeros(count, np.bool_),
        )


def _decoder(rows: ChunkRows) -> Callable[[CapturedField], pa.Array]:
    def values(captured: CapturedField) -> pa.Array:
        return rows.columns[captured.column.name]

    return values


def _changed(change: ChangeTable, since: int) -> pa.StructArray:
    """Return the keys of records, or the rows where they have none."""
    rows = change.rows.filter(pa.array(change.event >= since))
    if "key" in rows.column_names:
        return rows.column("key").combine_chunks()
    before, after, *_ = rows.column("value").combine_chunks().flatten()
    return pa.concat_arrays([before.drop_null(), after.drop_null()])
