"""FileStreamSink: each record becomes a line of a file.

    name=local-file-sink
    connector.class=FileStreamSink
    tasks.max=1
    file=/tmp/test.sink.txt
    topics=connect-test

Lines are appended. Offsets are committed after the lines are on disk. Source: ``FileStreamSinkTask``.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.expressions.arrow_text import text_bytes, write_all
from connect_dagster.expressions.java_calls import kept_in_jvm
from connect_dagster.expressions.text import as_java_text
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import Schema

log = logging.getLogger(__name__)

_PLACE = ("topic", "partition", "offset")
# Other tasks have it for as long as they write a batch.
_LOCK_SECONDS = 5.0
_LOCK_POLL_SECONDS = 0.002


class FileStreamSinkConfig(ConfigDef):
    """Configuration of the sink."""

    file: str | None = config_key(
        "file",
        default=None,
        importance=Importance.HIGH,
        doc="File to append lines to. Standard output is written when it is left out.",
    )


class FileStreamSinkTask(SinkTask):
    """Append to one file, or to standard output."""

    needs_headers = False
    at_driver = True

    def start(self, config: Properties) -> None:
        """Open the file, which is made when it does not exist."""
        self._file = FileStreamSinkConfig.parse(config).file or None
        self._descriptor = sys.stdout.fileno() if self._file is None else self._open(self._file)
        # Only a plain file, not a pipe, can be synced and truncated.
        self._plain = self._file is not None and stat.S_ISREG(os.fstat(self._descriptor).st_mode)

    def put(self, batch: SinkBatch) -> None:
        """Append a line for each record; all of them or, when the disk refuses, none."""
        self._append(_lines(batch))

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write the lines to disk before their offsets are committed."""
        if self._plain:
            os.fsync(self._descriptor)

    def stop(self) -> None:
        """Close the file."""
        if getattr(self, "_file", None) is not None and hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def _open(self, file: str) -> int:
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConnectError(f"Couldn't find or create file '{file}' for FileStreamSinkTask: {error}") from error
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            log.warning("File %s does not end with a line: ending it, so that the next record begins a line", file)
            os.write(descriptor, b"\n")
        return descriptor

    def _append(self, parts: list[pa.Buffer]) -> None:
        try:
            with self._alone():
                self._write_or_take_back(parts)
        except OSError as error:
            raise ConnectError(f"Could not write to file '{self._file or 'standard output'}': {error}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file against other tasks: an undone write must not contain their lines.

        Raises:
            RetriableError: another program has locked it for too long.
        """
        if not self._plain:
            yield
            return
        deadline = time.monotonic() + _LOCK_SECONDS
        while not self._locked():
            if time.monotonic() > deadline:
                raise RetriableError(f"File '{self._file}' is locked by another program for {_LOCK_SECONDS:.0f} s")
            time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _locked(self) -> bool:
        with suppress(BlockingIOError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _write_or_take_back(self, parts: list[pa.Buffer]) -> None:
        before = os.fstat(self._descriptor).st_size
        try:
            for part in parts:
                write_all(self._descriptor, memoryview(part))
        except OSError:
            if self._plain:
                os.ftruncate(self._descriptor, before)
            raise


class FileStreamSinkConnector(SinkConnector):
    """A sink that appends a line to a file for each record.

    One file, with one or more tasks.
    """

    config_def = FileStreamSinkConfig
    java_class: ClassVar[str] = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    java_task_class: ClassVar[str] = "org.apache.kafka.connect.file.FileStreamSinkTask"
    version: ClassVar[str] = KAFKA_VERSION
    task_class = FileStreamSinkTask

    def start(self, config: Properties) -> None:
        """Check the configuration and log the file."""
        self._config = dict(config)
        parsed = FileStreamSinkConfig.parse(config)
        log.info("Starting file sink connector writing to %s", parsed.file or "standard output")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the connector's configuration for each task; the group distributes the partitions."""
        return [dict(self._config) for _ in range(max_tasks)]

    def alter_offsets(self, config: Properties, offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept any offset: the file holds none."""
        return True


def _lines(batch: SinkBatch) -> list[pa.Buffer]:
    """Return the bytes to append. A single frame is in order; several are merged by partition and offset."""
    single = len(batch.frames) == 1
    place = [] if single else [F.col(name) for name in _PLACE]
    tables = [frame.to_arrow(*place, _line(frame.value_schema)) for frame in batch]
    if single:
        (merged,) = tables
    else:
        merged = pa.concat_tables(tables).sort_by([(name, "ascending") for name in _PLACE])
    return list(text_bytes(merged.column("line")))


@kept_in_jvm(100)
def _line(schema: Schema | None) -> Column:
    """Return the text of a record with its terminator."""
    return F.concat(as_text(schema, F.col("value")), F.lit("\n")).alias("line")


def as_text(schema: Schema | None, column: Column) -> Column:
    """Return the text of a typed column as Java's ``println`` prints it (differences: ``java_text``); never null."""
    return F.coalesce(as_java_text(schema, column), F.lit("null"))
