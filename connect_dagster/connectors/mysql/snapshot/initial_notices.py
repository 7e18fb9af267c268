"""Notifications of the initial snapshot (Debezium: ``InitialSnapshotNotificationService``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from connect_dagster.connectors.mysql.notifications.notification import (
    CURRENT_COLLECTION,
    DATA_COLLECTIONS,
    SCANNED_COLLECTION,
    STATUS,
    TOTAL_ROWS,
    Aggregate,
    Progress,
    ScanStatus,
)
from connect_dagster.connectors.mysql.notifications.notifications import Notifications
from connect_dagster.connectors.mysql.snapshot.readers import TableBatch
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable


class InitialNotices:
    """Makes them; each method returns a batch without an offset, or none.

    Args:
        notifications: where they go.
    """

    def __init__(self, notifications: Notifications) -> None:
        self._notifications = notifications
        self._rows: Counter[TableId] = Counter()

    def started(self) -> list[SourceTable]:
        """Report that the snapshot begins."""
        return self._made(Progress.STARTED)

    def of_batch(self, batch: TableBatch, tables: Collection[TableId]) -> list[SourceTable]:
        """Report the beginning or the end of a table with a batch of its rows.

        Args:
            batch: of rows.
            tables: all of the snapshot.
        """
        self._rows[batch.table] += batch.rows
        made = self.in_progress(batch.table, tables) if batch.is_first else []
        return [*made, *(self.scanned(batch.table, self._rows[batch.table], tables) if batch.is_last else [])]

    def in_progress(self, table: TableId, tables: Iterable[TableId]) -> list[SourceTable]:
        """Report that the rows of a table come next.

        Args:
            table: that is read.
            tables: all of the snapshot.
        """
        return self._made(Progress.IN_PROGRESS, {CURRENT_COLLECTION: str(table), DATA_COLLECTIONS: _names(tables)})

    def scanned(self, table: TableId, rows: int, tables: Iterable[TableId]) -> list[SourceTable]:
        """Report that all rows of a table were read.

        Args:
            table: that was read.
            rows: their number.
            tables: all of the snapshot.
        """
        data = {
            SCANNED_COLLECTION: str(table),
            DATA_COLLECTIONS: _names(tables),
            TOTAL_ROWS: str(rows),
            STATUS: ScanStatus.SUCCEEDED.value,
        }
        return self._made(Progress.TABLE_SCAN_COMPLETED, data)

    def completed(self) -> list[SourceTable]:
        """Report the end of the snapshot."""
        return self._made(Progress.COMPLETED)

    def aborted(self) -> list[SourceTable]:
        """Report that the snapshot ends before it has all rows."""
        return self._made(Progress.ABORTED)

    def skipped(self) -> list[SourceTable]:
        """Report that a snapshot is not to be taken."""
        return self._made(Progress.SKIPPED)

    def _made(self, kind: Progress, data: Mapping[str, str] | None = None) -> list[SourceTable]:
        return self._notifications.made(Aggregate.INITIAL, kind, data or {})


def _names(tables: Iterable[TableId]) -> str:
    return ",".join(map(str, tables))
