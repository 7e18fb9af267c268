"""Rows read at once through a disk: one statement, exactly as written, in bounded memory.

For what cannot be read in ranges: a table without a key of whole numbers, a query, a statement with a suffix.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import InheritableThread, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from connect_dagster.connectors.jdbc.source.columns import ReadColumns, ordered
from connect_dagster.connectors.jdbc.source.row_reader import RowReader
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import TimestampIncrementingOffset
from connect_dagster.plugin.frames import SourceFrame, executors_are_local
from connect_dagster.plugin.lines import SourceBatch

_WAIT_SECONDS = 0.5


class Part(ABC):
    """Rows of a spool that become one frame."""

    @property
    @abstractmethod
    def df(self) -> DataFrame:
        """Return the rows."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there are none."""

    @abstractmethod
    def last_rows(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of all rows, or of the last one alone where no other part follows."""

    @abstractmethod
    def delete(self) -> None:
        """Release them."""


class Spool(ABC):
    """The rows of one statement; a separate thread reads them.

    Args:
        rows: what to read, in one partition.
    """

    def __init__(self, rows: DataFrame) -> None:
        self._rows = rows
        self._spark: SparkSession = rows.sparkSession
        self._tag = f"connect-dagster-spool-{uuid.uuid4().hex[:8]}"
        self._error: Exception | None = None
        self._thread = InheritableThread(target=self._run, name=self._tag, daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, rows: DataFrame, rows_each: int) -> Spool:
        """Return a spool for parts of a number of rows, or of all rows where executors keep them."""
        return DiskSpool(rows, rows_each) if executors_are_local(rows.sparkSession) else ExecutorSpool(rows)

    def parts(self, seconds: float) -> list[Part] | None:
        """Return the rows in order; ``None`` when they are not complete within ``seconds``.

        Raises what reading has raised.
        """
        self._thread.join(seconds)
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        return [part for part in self._read_parts() if not part.is_empty]

    def close(self) -> None:
        """End the reading, and forget the rows."""
        if self._thread.is_alive():
            self._spark.sparkContext.cancelJobsWithTag(self._tag)
            self._thread.join(5)

    @abstractmethod
    def _read(self) -> None: ...

    @abstractmethod
    def _read_parts(self) -> list[Part]: ...

    def _run(self) -> None:
        try:
            self._spark.sparkContext.addJobTag(self._tag)
            self._read()
        except Exception as error:  # raised in the thread that waits for the rows
            self._error = error


class DiskSpool(Spool):
    """Rows on the disk that the worker shares with its executors.

    Args:
        rows: what to read, in one partition.
        rows_each: how many rows a part has.
    """

    def __init__(self, rows: DataFrame, rows_each: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-spool-"))
        self._rows_each = rows_each
        super().__init__(rows)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self) -> None:
        writer = self._rows.write.option("maxRecordsPerFile", self._rows_each).option("compression", "lz4")
        writer.parquet(str(self._folder / "rows"))

    def _read_parts(self) -> list[Part]:
        files = in_order((self._folder / "rows").glob("part-*.parquet"))
        return [_File(file, self._spark, self._rows.schema) for file in files]


@dataclass(frozen=True, slots=True)
class _File(Part):
    file: Path
    spark: SparkSession
    schema: StructType

    @property
    def df(self) -> DataFrame:
        return self.spark.read.schema(self.schema).parquet(str(self.file))

    @property
    def is_empty(self) -> bool:
        return not pq.read_metadata(self.file).num_rows

    def last_rows(self, columns: Sequence[str]) -> pa.Table:
        return pq.read_table(self.file, columns=[*columns], coerce_int96_timestamp_unit="us")

    def delete(self) -> None:
        self.file.unlink(missing_ok=True)


def in_order(parts: Iterable[Path]) -> list[Path]:
    """Sort files of one partition as written: Spark numbers them with three digits, from 1000 on with more."""
    return sorted(parts, key=lambda part: (len(part.name), part.name))


class ExecutorSpool(Spool):
    """Rows on the disks of executors on other machines, in one part: executors send them without holding all."""

    def close(self) -> None:
        super().close()
        self._rows.unpersist()

    def _read(self) -> None:
        self._rows.persist(StorageLevel.DISK_ONLY).count()

    def _read_parts(self) -> list[Part]:
        return [_Persisted(self._rows)]


@dataclass(frozen=True, slots=True)
class _Persisted(Part):
    rows: DataFrame

    @property
    def df(self) -> DataFrame:
        return self.rows

    @property
    def is_empty(self) -> bool:
        return self.rows.isEmpty()

    def last_rows(self, columns: Sequence[str]) -> pa.Table:
        last = self.rows.select(*columns)
        return last.sparkSession.createDataFrame(last.tail(1), last.schema).toArrow()

    def delete(self) -> None:
        self.rows.unpersist()


class SpooledRows:
    """The rows of one statement as frames.

    Args:
        reader: of the target.
        sql: the statement.
        timestamps: timestamp columns to sort by; the first that is not null counts.
        incrementing: incrementing column to sort by; empty for none.
        offset: before the rows; without columns to sort by no offsets are kept.
        instant: converts the value of a timestamp column to an instant.
    """

    def __init__(
        self,
        reader: RowReader,
        sql: str,
        timestamps: Sequence[str] = (),
        incrementing: str = "",
        offset: TimestampIncrementingOffset | None = None,
        instant: Callable[[int], int] = lambda shown: shown,
    ) -> None:
        self._reader = reader
        self._columns: ReadColumns = reader.read_columns()
        self._timestamps = self._names(timestamps)
        self._incrementing = self._names([incrementing] if incrementing else [])
        self._offset = offset or TimestampIncrementingOffset()
        self._instant = instant
        self._parts: list[Part] | None = None
        self._pending: dict[int, Part] = {}
        rows = ordered(reader.rows(sql, self._columns), self._columns, (self._timestamps, self._incrementing))
        self._spool = Spool.of(rows, reader.batch_rows())

    @property
    def done(self) -> bool:
        """Return whether all frames were returned."""
        return self._parts == []

    @property
    def arrived(self) -> bool:
        """Return whether all frames were delivered."""
        return self.done and not self._pending

    @property
    def offset(self) -> TimestampIncrementingOffset:
        """Return the target's offset after the last frame."""
        return self._offset

    def next(self) -> SourceFrame | None:
        """Return the next frame; ``None`` while rows are still being read, and when there are no more."""
        if self._parts is None:
            with self._reader.translated_errors():
                self._parts = self._spool.parts(_WAIT_SECONDS)
            if self._parts and len(self._parts) > 1:
                self._reader.outgrown(self._reader.batch_rows())  # the next time parts may be larger
        if not self._parts:
            return None
        part = self._parts.pop(0)
        rows = part.df
        if not self._timestamps and not self._incrementing:
            frame = self._reader.frame(rows, self._columns, {}, None)
        else:
            self._offset = self._after(part)
            offset = self._offset.to_offset()
            partition = self._reader.target.partition if offset else {}
            frame = self._reader.frame(rows, self._columns, partition, offset)
        self._pending[id(frame)] = part
        return frame

    def delivered(self, batch: SourceBatch) -> None:
        """Delete the rows of a delivered frame."""
        part = self._pending.pop(id(batch), None)
        if part is not None:
            part.delete()

    def close(self) -> None:
        """Stop reading and delete the rows."""
        self._spool.close()

    def _names(self, names: Sequence[str]) -> list[str]:
        return [column.name for name in names if (column := self._columns.named(name)) is not None]

    def _after(self, part: Part) -> TimestampIncrementingOffset:
        """Return the offset after a part; a timestamp alone must not cover rows of the next part with the same one."""
        rows = part.last_rows([*self._timestamps, *self._incrementing])
        number = int(rows.column(self._incrementing[0])[-1].as_py()) if self._incrementing else None
        if not self._timestamps:
            return TimestampIncrementingOffset(None, number)
        times = self._times(rows)
        last = self._instant(times[-1].as_py())
        if number is not None or not self._parts or self._first_time(self._parts[0]) != last:
            return TimestampIncrementingOffset(last, number)
        before = times.filter(pc.less(times, times[-1]))
        return TimestampIncrementingOffset(self._instant(before[-1].as_py())) if len(before) else self._offset

    def _first_time(self, part: Part) -> int:
        return self._instant(self._times(part.last_rows(self._timestamps).slice(0, 1))[0].as_py())

    def _times(self, rows: pa.Table) -> pa.ChunkedArray:
        """Return the timestamp of each row in nanoseconds."""
        times = pc.coalesce(*(rows.column(name) for name in self._timestamps))
        return pc.multiply(times.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), 1000)


class Spools:
    """The spools of one target: the one being read, and those whose last frames are not yet delivered."""

    def __init__(self) -> None:
        self._reading: SpooledRows | None = None
        self._set_offset: Callable[[TimestampIncrementingOffset], None] = lambda offset: None
        self._leaving: list[SpooledRows] = []

    @property
    def reading(self) -> bool:
        """Return whether rows are being read."""
        return self._reading is not None

    def begin(
        self, rows: SpooledRows, set_offset: Callable[[TimestampIncrementingOffset], None] = lambda offset: None
    ) -> None:
        """Start reading rows.

        Args:
            rows: the rows to read.
            set_offset: called with the offset after each frame.
        """
        self._reading, self._set_offset = rows, set_offset

    def next(self) -> SourceFrame | None:
        """Return the next frame, if it is complete."""
        if self._reading is None:
            return None
        try:
            frame = self._reading.next()
        except Exception:
            # The rest can be read again, from the offset of the last frame.
            self._reading.close()
            self._reading = None
            raise
        if frame is not None:
            self._set_offset(self._reading.offset)
        if self._reading.arrived:  # there were no rows: nothing will be delivered
            self._reading.close()
            self._reading = None
        elif self._reading.done:
            self._leaving.append(self._reading)
            self._reading = None
        return frame

    def delivered(self, batch: SourceBatch) -> None:
        """Delete the rows of a delivered frame."""
        for rows in [*self._leaving, *filter(None, [self._reading])]:
            rows.delivered(batch)
        for rows in [rows for rows in self._leaving if rows.arrived]:
            rows.close()
            self._leaving.remove(rows)

    def close(self) -> None:
        """Delete all rows."""
        for rows in [*self._leaving, *filter(None, [self._reading])]:
            rows.close()
        self._leaving, self._reading = [], None
