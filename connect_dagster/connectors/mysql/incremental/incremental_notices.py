"""Notifications of incremental snapshots (Debezium: ``IncrementalSnapshotNotificationService``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
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
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable

_MAXIMUM, _LAST = "maximum_key", "last_processed_key"


class IncrementalNotices:
    """Makes them; each method returns a batch without an offset, or none.

    Args:
        notifications: where they go.
        context: of the snapshot.
    """

    def __init__(self, notifications: Notifications, context: IncrementalContext) -> None:
        self._notifications = notifications
        self._context = context

    def of_all(self, kind: Progress) -> list[SourceTable]:
        """Report a beginning, a pause or its end, with the tables that are left."""
        return self._made(kind, {DATA_COLLECTIONS: self._tables})

    def in_progress(self) -> list[SourceTable]:
        """Report that a chunk was read."""
        context = self._context
        data = {
            DATA_COLLECTIONS: self._tables,
            CURRENT_COLLECTION: str(context.tables[0].id),
            _MAXIMUM: str(context.maximum),
            _LAST: str(context.read),
        }
        return self._made(Progress.IN_PROGRESS, data)

    def scanned(self, rows: int, status: ScanStatus) -> list[SourceTable]:
        """Report the end of the first table.

        Args:
            rows: that were read of it.
            status: how it ended.
        """
        data = {
            DATA_COLLECTIONS: self._tables,
            SCANNED_COLLECTION: str(self._context.tables[0].id),
            TOTAL_ROWS: str(rows),
            STATUS: status.value,
        }
        return self._made(Progress.TABLE_SCAN_COMPLETED, data)

    def completed(self) -> list[SourceTable]:
        """Report the end of the snapshot."""
        return self._made(Progress.COMPLETED, {})

    def aborted(self, tables: Iterable[TableId]) -> list[SourceTable]:
        """Report that tables are no longer read."""
        return self._made(Progress.ABORTED, {DATA_COLLECTIONS: ",".join(map(str, tables))})

    @property
    def _tables(self) -> str:
        return ",".join(str(one.id) for one in self._context.tables)

    def _made(self, kind: Progress, data: Mapping[str, str]) -> list[SourceTable]:
        return self._notifications.made(Aggregate.INCREMENTAL, kind, data, self._context.correlation)
