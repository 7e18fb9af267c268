r"""FileStreamSource: each line of a growing file becomes a record.

    name=local-file-source
    connector.class=FileStreamSource
    tasks.max=1
    file=/tmp/test.txt
    topic=connect-test

A line is sent once its terminator (``\n``, ``\r\n`` or ``\r``) is there. Offsets count bytes; Java's worker counts
characters, and an offset it wrote is converted where that can be recognized. A file that is rotated is read to its end,
then those that were rotated meanwhile, by their names and times, unless they are compressed. Where there are rotated
files, an offset also has the mark of the file that its position is in, which Java's worker ignores: a worker that was
down during rotations continues in that file. Source: ``FileStreamSourceTask``.
"""

from __future__ import annotations

import logging
import math
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from connect_dagster.connectors.file.growth import FileGrowth
from connect_dagster.connectors.file.lines import Chunk, LineFile, whole_lines, without_terminator
from connect_dagster.connectors.file.rotated_files import FileMark
from connect_dagster.errors import ConnectError, DataError
from connect_dagster.java.utf8 import decode_replacing
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, non_empty_string, one_of
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector, SourceTask
from connect_dagster.plugin.lines import SourceLines

log = logging.getLogger(__name__)

FILENAME, POSITION, MARK = "filename", "position", "file"
# Each batch costs a Spark job; larger ones take more memory and delay other tasks.
_BATCH_BYTES = 16 << 20
_LEAST_BATCH_BYTES = 8 << 10
_MISSING_SECONDS = 1.0


class FileStreamSourceConfig(ConfigDef):
    """Configuration of the source."""

    file: str | None = config_key(
        "file",
        default=None,
        importance=Importance.HIGH,
        doc="File to read lines from. Standard input is read when it is left out.",
    )
    topic: str = config_key(
        "topic",
        importance=Importance.HIGH,
        validator=non_empty_string,
        doc="Topic that receives a record for each line.",
    )
    batch_size: int = config_key(
        "batch.size",
        default=2000,
        importance=Importance.LOW,
        doc="Most lines to read at once. Left out, a batch holds what was read in one go, up to 8 MB.",
    )
    invalid_utf8: str = config_key(
        "invalid.utf8",
        default="replace",
        importance=Importance.LOW,
        validator=one_of("replace", "fail"),
        doc="Bytes that are not UTF-8: 'replace' puts U+FFFD in their place, 'fail' makes the task FAILED.",
    )


class Lines(Protocol):
    """A source of whole lines: a file or standard input."""

    @property
    def mark(self) -> FileMark | None:
        """Return the mark of the file that the last chunk ended in, ``None`` where the position alone is enough."""

    def read(self) -> Chunk | None:
        """Return the next whole lines, ``None`` when there are none yet."""

    def close(self) -> None:
        """Close the input."""


class FileStreamSourceTask(SourceTask):
    """Read one file, or standard input."""

    at_driver = True

    def start(self, config: Properties) -> None:
        """Take the configuration; the file is opened at the first poll, when it exists."""
        parsed = FileStreamSourceConfig.parse(config)
        self._file = parsed.file or None
        self._topic = parsed.topic
        self._fail_on_invalid = parsed.invalid_utf8 == "fail"
        self._partition = {FILENAME: self._file}
        limit = parsed.batch_size if "batch.size" in config else None
        if self.context.rate.records < math.inf:
            limit = self.context.rate.cap_records(limit or sys.maxsize)
        self._lines: Lines = self._open(self._file, limit)
        self._growth = FileGrowth(None if self._file is None else Path(self._file))
        self._grew = time.monotonic()
        self._missing_said = False

    def poll(self) -> SourceLines | None:
        """Return whole lines; waits when there are none."""
        try:
            chunk = self._lines.read()
        except FileNotFoundError:
            self._wait_for_file()
            return None
        if chunk is None:
            self._growth.wait(time.monotonic() - self._grew)
            return None
        self._grew = time.monotonic()
        return self._records(chunk)

    def stop(self) -> None:
        """Close the file."""
        if hasattr(self, "_lines"):
            self._lines.close()
        if hasattr(self, "_growth"):
            self._growth.close()

    def _open(self, file: str | None, limit: int | None) -> Lines:
        if file is None:
            return StandardInput(limit)
        stored = self.context.offsets.offset(self._partition)
        mark = FileMark.parse((stored or {}).get(MARK))
        most_bytes = max(_LEAST_BATCH_BYTES, self.context.rate.cap_bytes(_BATCH_BYTES))
        return LineFile(Path(file), _position(stored), most_bytes, limit, mark)

    def _wait_for_file(self) -> None:
        if not self._missing_said:
            log.warning(
                "Couldn't find file %s for FileStreamSourceTask, sleeping to wait for it to be created",
                self._file,
            )
            self._missing_said = True
        time.sleep(_MISSING_SECONDS)

    def _records(self, chunk: Chunk) -> SourceLines:
        mark, offset = self._lines.mark, {POSITION: chunk.position if self._file else None}
        return SourceLines(
            self._utf8(chunk),
            source_partition=self._partition,
            source_offset=offset if mark is None else {**offset, MARK: str(mark)},
            topic=self._topic,
        )

    def _utf8(self, chunk: Chunk) -> bytes:
        if chunk.data.isascii():
            return chunk.data
        try:
            pa.array([chunk.data], pa.binary()).cast(pa.string())
        except pa.ArrowInvalid as error:
            if self._fail_on_invalid:
                raise DataError(
                    f"File {self._file} holds bytes that are not UTF-8 before position {chunk.position}; "
                    "invalid.utf8=replace would put U+FFFD in their place"
                ) from error
            return decode_replacing(chunk.data).encode()
        return chunk.data


class FileStreamSourceConnector(SourceConnector):
    """A source of the lines of a file.

    One file, one task.
    """

    config_def = FileStreamSourceConfig
    java_class: ClassVar[str] = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    java_task_class: ClassVar[str] = "org.apache.kafka.connect.file.FileStreamSourceTask"
    version: ClassVar[str] = KAFKA_VERSION
    task_class = FileStreamSourceTask

    def start(self, config: Properties) -> None:
        """Check the configuration and log the file."""
        self._config = dict(config)
        parsed = FileStreamSourceConfig.parse(config)
        log.info("Starting file source connector reading from %s", parsed.file or "standard input")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the connector's own configuration: a file has one reader."""
        return [self._config]

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        """Support it for a file; standard input has no positions."""
        has_file = bool(FileStreamSourceConfig.parse(config).file)
        return ExactlyOnceSupport.SUPPORTED if has_file else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each offset is a position of a file."""
        if not FileStreamSourceConfig.parse(config).file:
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            _check_offset(partition, offset)
        return True


class StandardInput:
    """Standard input as whole lines; its end ends the lines, not the task."""

    mark = None

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._held = b""

    def read(self) -> Chunk | None:
        """Return the lines that have arrived, without waiting."""
        length = whole_lines(self._held, self._limit)
        if not length:
            self._held += _available(sys.stdin.fileno(), _BATCH_BYTES)
            length = whole_lines(self._held, self._limit)
        data, self._held = self._held, self._held[length:]
        return Chunk(without_terminator(data, length), 0) if length else None

    def close(self) -> None:
        """Leave standard input open: the task does not own it."""


def _available(descriptor: int, most: int) -> bytes:
    """Return the bytes that can be read without waiting, in several reads: a pipe gives 64 KiB at once."""
    parts: list[bytes] = []
    while most and select.select([descriptor], [], [], 0)[0]:
        part = os.read(descriptor, most)
        if not part:
            break
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _position(stored: Mapping[str, Any] | None) -> int:
    position = (stored or {}).get(POSITION)
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise ConnectError(f"Stored offset {stored} is not a position: '{POSITION}' must be a whole number from 0 on")
    return position


def _check_offset(partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
    if offset is not None:
        if POSITION not in offset:
            raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION}'")
        position = offset[POSITION]
        if not isinstance(position, int) or isinstance(position, bool):
            raise ConnectError(f"The value for the '{POSITION}' key in the offset is expected to be a Long value")
        if position < 0:
            raise ConnectError(f"The value for the '{POSITION}' key in the offset should be a non-negative value")
    if partition is None:
        raise ConnectError("Partition objects cannot be null")
    if FILENAME not in partition:
        raise ConnectError(f"Partition objects should contain the key '{FILENAME}'")
