"""Rows that wait on the worker's disk for the end of their files: Parquet, a file for each group and schema."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from connect_dagster.plugin.records import TopicPartition

# Rows in memory, of all partitions: then each waiting table becomes a row group.
_WAITING_BYTES = 32 << 20


class _OpenFile:
    """A Parquet file that grows by row groups."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self._writer = pq.ParquetWriter(path, schema, compression="lz4")
        self._waiting: list[pa.Table] = []

    def append(self, rows: pa.Table) -> None:
        self._waiting.append(rows)

    def flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
            self._waiting.clear()

    def close(self) -> None:
        self.flush()
        self._writer.close()

    def discard(self) -> None:
        self._waiting.clear()
        self._writer.close()
        self.path.unlink(missing_ok=True)


class Spool:
    """A folder of such files.

    Args:
        parent: where it is created; the folder for temporary files of the process by default.
    """

    def __init__(self, parent: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="connect-dagster-spool-", dir=parent or None))
        self._open: dict[tuple[TopicPartition, int], _OpenFile] = {}
        self._waiting = 0
        self._made = 0

    def new_path(self) -> Path:
        """Return a path in the folder that is not in use."""
        self._made += 1
        return self.folder / str(self._made)

    def append(self, place: TopicPartition, schema: int, rows: pa.Table) -> None:
        """Add rows to the open group of a partition.

        Args:
            place: the partition.
            schema: number of the rows' schema; all its tables have the same columns.
            rows: of it.
        """
        opened = self._open.get((place, schema))
        if opened is None:
            opened = self._open[place, schema] = _OpenFile(self.new_path(), rows.schema)
        opened.append(rows)
        self._waiting += rows.nbytes
        if self._waiting > _WAITING_BYTES:
            for one in self._open.values():
                one.flush()
            self._waiting = 0

    def end(self, place: TopicPartition) -> Mapping[int, Path]:
        """End the group of a partition; return its files by the numbers of their schemas."""
        ended = {key: self._open.pop(key) for key in list(self._open) if key[0] == place}
        for one in ended.values():
            one.close()
        return {schema: one.path for (_, schema), one in ended.items()}

    def discard(self, place: TopicPartition) -> None:
        """Delete the open group of a partition."""
        for key in [key for key in self._open if key[0] == place]:
            self._open.pop(key).discard()

    def remove(self) -> None:
        """Delete all rows."""
        for one in self._open.values():
            one.discard()
        self._open.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
