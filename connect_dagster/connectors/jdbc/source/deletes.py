"""Deleted rows, found by comparing the keys of all rows with those of the previous scan.

Promise: a row that one scan has seen and the next has not becomes a tombstone under its key. One that is
inserted and deleted between two scans is not found. The keys of the last scan are kept in ``delete.scan.location``;
without it they are lost when the task ends, and deletes before the first scan of the next task are not found.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq

from connect_dagster.connectors.jdbc.source.columns import ReadColumns, spark_name
from connect_dagster.connectors.jdbc.source.queriers import TableQuerier
from connect_dagster.connectors.jdbc.source.row_reader import Key, RowReader
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.frames import executors_are_local
from connect_dagster.plugin.lines import SourceBatch

_SEEN, _FRESH = "seen", "fresh"


class DeleteScan:
    """A querier with scans for deletes between its batches.

    Args:
        rows: the querier of the rows.
        reader: of the same table.

    Raises:
        ConfigError: the table has no primary key, or executors on other machines have no folder for the keys.
    """

    def __init__(self, rows: TableQuerier, reader: RowReader) -> None:
        self._rows = rows
        self._reader = reader
        key = reader.key()
        if key is None:
            raise ConfigError(f"delete.scan.interval.ms needs a primary key, and {reader.target.name} has none")
        self._key: Key = key
        self._columns: ReadColumns = reader.read_columns().only(key.columns)
        self._interval = reader.config.delete_scan_interval_ms / 1000
        self._own = reader.config.delete_scan_location is None
        if self._own and not executors_are_local(reader.spark):
            raise ConfigError(
                "delete.scan.interval.ms needs delete.scan.location, a folder that the worker shares with Spark's "
                "executors, as these run on other machines"
            )
        self._folder = self._key_folder()
        self._due = time.monotonic()
        self._sent: SourceBatch | None = None
        self._busy = False
        self._rested = False

    @property
    def busy(self) -> bool:
        """Return whether the next batch is due now."""
        return self._rows.busy or self._busy

    def next(self) -> SourceBatch | None:
        """Return rows first, then deletes; full batches postpone scans, a few rows at each poll do not."""
        self._busy = False
        if self._rested and self._is_due():
            self._rested = False
            found = self._scan()
            self._busy = True  # the rows whose poll this scan used
            return found
        frame = self._rows.next()
        self._rested = frame is not None and not self._rows.busy
        return self._scan() if frame is None and not self._rows.busy and self._is_due() else frame

    def delivered(self, batch: SourceBatch) -> None:
        """Keep a scan as the last one once its tombstones are delivered."""
        if batch is self._sent:
            self._keep()
            self._sent = None
        else:
            self._rows.delivered(batch)

    def close(self) -> None:
        """Close the querier, and delete keys without a location."""
        self._rows.close()
        if self._own:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _key_folder(self) -> Path:
        location = self._reader.config.delete_scan_location
        if location is None:
            return Path(tempfile.mkdtemp(prefix="connect-dagster-keys-"))
        # Connectors may share the location, and read tables of one name in different databases.
        names = (self._reader.config.originals.get("name", ""), str(self._reader.target.table))
        return Path(location, *(quote(name, safe="") for name in names))

    def _is_due(self) -> bool:
        return self._sent is None and time.monotonic() >= self._due

    def _scan(self) -> SourceBatch | None:
        with self._reader.translated_errors():
            found = self._scanned()
        self._due = time.monotonic() + self._interval
        return found

    def _scanned(self) -> SourceBatch | None:
        reader = self._reader
        sql = reader.selecting(", ".join(reader.dialect.quoting.name(column.name) for column in self._columns.columns))
        shutil.rmtree(self._folder / _FRESH, ignore_errors=True)
        now = reader.rows(sql, self._columns)
        now.write.parquet(str(self._folder / _FRESH))
        if not self._is_comparable():
            self._keep()
            return None
        spark = now.sparkSession
        seen, fresh = (spark.read.schema(now.schema).parquet(str(self._folder / name)) for name in (_SEEN, _FRESH))
        gone = seen.join(fresh, [column.name for column in self._columns.columns], "left_anti")
        gone.write.mode("overwrite").parquet(str(self._folder / "gone"))
        found = spark.read.schema(now.schema).parquet(str(self._folder / "gone"))
        if found.isEmpty():
            self._keep()
            return None
        self._sent = reader.deleted_frame(
            found.select(*(spark_name(c.name) for c in self._columns.columns)), self._columns
        )
        self._busy = True
        return self._sent

    def _is_comparable(self) -> bool:
        """Return whether there are keys of a previous scan, of the same columns."""
        if not (self._folder / _SEEN / "_SUCCESS").exists():
            return False
        seen, fresh = (pq.read_schema(next((self._folder / name).glob("*.parquet"))) for name in (_SEEN, _FRESH))
        return bool(seen.equals(fresh))

    def _keep(self) -> None:
        seen = self._folder / _SEEN
        shutil.rmtree(seen, ignore_errors=True)
        (self._folder / _FRESH).rename(seen)
