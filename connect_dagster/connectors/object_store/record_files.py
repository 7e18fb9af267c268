"""The files that a task writes: takes batches in, ends files by the rules, stores them, and knows what to commit.

A batch is read once. Columns that decide go through NumPy, rows wait in the spool until their files end, then one
Spark job for each schema writes all files that have ended, and each is stored under its name.
"""

from __future__ import annotations

import itertools
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from pyspark.sql import SparkSession

from connect_dagster.connectors.object_store.batch_rows import BatchRows, PlacedRecords
from connect_dagster.connectors.object_store.file_writer import FileWriter
from connect_dagster.connectors.object_store.record_forms import RecordForms
from connect_dagster.connectors.object_store.rotation import Numbers, PartitionFiles, RecordFile
from connect_dagster.connectors.object_store.settings import FileSettings
from connect_dagster.connectors.object_store.spool import Spool
from connect_dagster.connectors.object_store.stores import Store
from connect_dagster.errors import ConfigError, RetriableError
from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.frames import SinkBatch, executors_are_local
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_UPLOADS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Ended:
    """Groups that have ended, of one Kafka partition.

    Attributes:
        place: the partition.
        files: by their numbers.
        rows: in the spool, by the numbers of their schemas.
    """

    place: TopicPartition
    files: Mapping[int, RecordFile]
    rows: Mapping[int, Path]


@dataclass(frozen=True, slots=True)
class _Written:
    """A file on the worker's disk, to be stored."""

    place: TopicPartition
    path: Path
    name: str


class RecordFiles:
    """The files of a sink task.

    Args:
        spark: the worker's session.
        settings: of the files.
        store: where they go.
        reporter: of records that no file can have; without it the first one fails the task.
        now: the clock, in seconds since 1970.
    """

    def __init__(
        self,
        spark: SparkSession,
        settings: FileSettings,
        store: Store,
        reporter: ErrantRecordReporter | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._store = store
        self._now = now
        self._forms = RecordForms(settings, reporter)
        self._writer = FileWriter(spark, settings.format)
        self._spool = Spool(settings.spool)
        self._numbers = itertools.count()
        self._directories: dict[tuple[str, str], int] = {}
        self._directory_names: list[tuple[str, str]] = []
        self._open: dict[TopicPartition, PartitionFiles] = {}
        self._taken: dict[TopicPartition, int] = {}  # offset of the last record
        self._ended: list[_Ended] = []
        self._written: list[_Written] = []
        self._folders: list[Path] = []  # of written files
        self._unstored: dict[TopicPartition, int] = {}  # first offset in groups that have ended
        if settings.schedule is not None:
            settings.schedule.begin(now())

    @classmethod
    def opened(
        cls, spark: SparkSession, settings: FileSettings, store: Store, reporter: ErrantRecordReporter | None
    ) -> Self:
        """Return the files of a task, after a look at the store.

        Raises:
            ConnectError: no file could be stored.
        """
        if settings.spool is None and not executors_are_local(spark):
            reason = "Spark's executors run on other machines and need a folder that they share with the worker"
            raise ConfigError.invalid("spool.dir", None, reason)
        store.check()
        return cls(spark, settings, store, reporter)

    def put(self, batch: SinkBatch) -> bool:
        """Take records in, and store the files that have ended; return whether there were any.

        The same batch may come again after an error: records that were taken in are left out.

        Raises:
            RetriableError: the store cannot be reached now.
            ConnectError: a record or a file cannot be written.
        """
        self._end_by_clock()
        tables = [table for frame in batch if len(table := self._forms.read(frame))]
        if tables:
            rows, now = BatchRows(tables), round(self._now() * 1000)
            for placed in rows.by_place(self._settings.partitioner, self._directory, now):
                self._take(rows, placed.after(self._taken.get(placed.place, -1)))
        return self._store_ended()

    def committable(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offsets up to which all records are in stored files; ends files whose moment has come.

        Args:
            offsets: after the last records that were put.
        """
        if self._end_by_clock():
            try:
                self._store_ended()
            except RetriableError as error:
                log.warning("%s; the next records will try again", error)
        return {place: min(offset, self._first_open(place, offset)) for place, offset in offsets.items()}

    def close(self, places: Sequence[TopicPartition]) -> None:
        """Forget the open files of partitions; their records are read again."""
        for place in places:
            for known in (self._open, self._taken, self._unstored):
                known.pop(place, None)
            self._spool.discard(place)
        self._ended = [one for one in self._ended if one.place not in places]
        self._written = [one for one in self._written if one.place not in places]

    def stop(self) -> None:
        """Delete what waits on the disk."""
        self._spool.remove()

    def _first_open(self, place: TopicPartition, otherwise: int) -> int:
        if place in self._unstored:
            return self._unstored[place]
        start = self._open[place].start if place in self._open else None
        return otherwise if start is None else start

    def _directory(self, topic: str, text: str) -> int:
        number = self._directories.setdefault((topic, text), len(self._directory_names))
        if number == len(self._directory_names):
            self._directory_names.append((topic, text))
        return number

    # Records in

    def _take(self, rows: BatchRows, placed: PlacedRecords) -> None:
        place, records = placed.place, placed.records
        if not len(records):
            return
        opened = self._open.setdefault(place, PartitionFiles(self._settings.rules, self._numbers))
        first = int(records.offsets[0]) if opened.start is None else opened.start
        parts = list(opened.take(records))
        files = np.concatenate([part.files for part in parts])
        ends = [part for part in parts if part.ended is not None]
        boundary = ends[-1].end if ends else 0
        self._append(place, rows, placed.indices[:boundary], files[:boundary])
        if ends:
            ended = {number: file for part in ends for number, file in (part.ended or {}).items()}
            self._end(place, first, ended)
        self._append(place, rows, placed.indices[boundary:], files[boundary:])
        self._taken[place] = int(records.offsets[-1])

    def _append(self, place: TopicPartition, rows: BatchRows, indices: Numbers, files: Numbers) -> None:
        for schema, taken in rows.take(indices, files):
            self._spool.append(place, schema, taken)

    def _end(self, place: TopicPartition, first: int, files: Mapping[int, RecordFile]) -> None:
        self._ended.append(_Ended(place, files, self._spool.end(place)))
        self._unstored.setdefault(place, first)

    def _end_by_clock(self) -> bool:
        schedule = self._settings.schedule
        if schedule is None or not schedule.is_due(self._now()):
            return False
        for place, opened in self._open.items():
            if (first := opened.start) is not None:
                self._end(place, first, opened.end_now())
        return True

    # Files out

    def _store_ended(self) -> bool:
        if self._ended:
            self._written += self._write(self._ended)
            self._ended = []
        if not self._unstored:
            return False
        with ThreadPoolExecutor(_UPLOADS_AT_ONCE, thread_name_prefix="object-store") as pool:
            storing = [(one, pool.submit(self._store.put, one.path, one.name)) for one in self._written]
        failed = [(one, error) for one, done in storing if (error := done.exception()) is not None]
        self._written = [one for one, _ in failed]
        if failed:
            errors = [error for _, error in failed]
            raise next((error for error in errors if not isinstance(error, RetriableError)), errors[0])
        self._unstored.clear()
        while self._folders:
            shutil.rmtree(self._folders.pop(), ignore_errors=True)
        return True

    def _write(self, ended: Sequence[_Ended]) -> list[_Written]:
        """Write the files of groups to the disk."""
        files = {number: (one.place, file) for one in ended for number, file in one.files.items()}
        written: list[_Written] = []
        for schema in sorted({schema for one in ended for schema in one.rows}):
            rows = [one.rows[schema] for one in ended if schema in one.rows]
            count = sum(file.schema == schema for _, file in files.values())
            folder = self._spool.new_path()
            self._folders.append(folder)
            self._writer.write(self._forms.form(schema), rows, count, folder)
            for number, path, extension in self._writer.files(folder):
                place, file = files[number]
                topic, directory = self._directory_names[file.directory]
                name = self._settings.names.of(topic, directory, place, file.offset, extension)
                written.append(_Written(place, path, name))
            for path in rows:
                path.unlink()
        return written
