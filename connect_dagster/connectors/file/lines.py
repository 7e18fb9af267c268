"""A growing file as whole lines: line ends, incomplete lines, rotated and truncated files.

Knows bytes and positions; neither Spark nor Kafka.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from connect_dagster.connectors.file.rotated_files import FileMark, RotatedFile, rotated_files
from connect_dagster.java.utf8 import utf16_units

log = logging.getLogger(__name__)

_ROTATION_GRACE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines from a file.

    Attributes:
        data: the lines, the last terminator left out.
        position: bytes of the file up to and with that terminator.
    """

    data: bytes
    position: int


def whole_lines(data: bytes, limit: int | None = None) -> int:
    r"""Return the length of the whole lines at the start of ``data``: up to the last ``\n``, or ``\r`` before its end.

    A ``\r`` at the very end may be half of a ``\r\n`` (Java: ``FileStreamSourceTask.extractLine``).

    Args:
        data: what was read.
        limit: most lines to return.
    """
    if limit is not None:
        return _length_of_lines(data, limit)
    end = data.rfind(b"\n")
    if b"\r" in data:
        end = max(end, data.rfind(b"\r", 0, len(data) - 1))
    return end + 1


def _length_of_lines(data: bytes, limit: int) -> int:
    end = 0
    for _ in range(limit):
        following = _line_end(data, end)
        if following is None:
            break
        end = following
    return end


def _line_end(data: bytes, start: int) -> int | None:
    newline, lone = data.find(b"\n", start), data.find(b"\r", start)
    if lone == -1 or -1 < newline < lone:
        return None if newline == -1 else newline + 1
    if lone == len(data) - 1:
        return None
    return lone + 2 if data[lone + 1 : lone + 2] == b"\n" else lone + 1


def without_terminator(data: bytes, length: int) -> bytes:
    r"""Return the first bytes of ``data``, which are lines, without their last ``\n``, ``\r\n`` or ``\r``."""
    if data.endswith(b"\r\n", 0, length):
        return data[: length - 2]
    return data[: length - data.endswith((b"\n", b"\r"), 0, length)]


class LineFile:
    """A reader of a file that grows, is rotated (renamed and replaced) or truncated.

    Args:
        path: the file; it need not exist yet.
        position: bytes to skip at the first opening.
        chunk_bytes: bytes to read at once; a longer line is also read whole.
        limit: most lines to return at once; ``None`` for all of a chunk.
        mark: of the file that the position is in, which may have been rotated; ``None`` where it is not known.
    """

    def __init__(
        self, path: Path, position: int, chunk_bytes: int, limit: int | None, mark: FileMark | None = None
    ) -> None:
        self._path = path
        self._position = position
        self._mark = mark
        self._chunk_bytes = chunk_bytes
        self._limit = limit
        self._file: BinaryIO | None = None
        self._exhausted: tuple[int, int] | None = None
        self._quiet_since: float | None = None
        self._rotates = False

    @property
    def mark(self) -> FileMark | None:
        """Return the mark of the file that the last chunk ended in; ``None`` for a file that is never rotated."""
        return FileMark.of(self._file, self._position) if self._file is not None and self._rotates else None

    def open(self) -> None:
        """Open the file unless it is open. Raises FileNotFoundError while it does not exist."""
        if self._file is None:
            self._file = self._fitting() if self._mark is None else self._marked(self._mark)
            self._mark = None
            self._rotates = bool(rotated_files(self._path))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> Chunk | None:
        """Return the next whole lines, ``None`` when there are none yet."""
        self.open()
        assert self._file is not None
        data, length = self._new_lines(self._file)
        if length:
            self._quiet_since = None
            self._position += length
            return Chunk(without_terminator(data, length), self._position)
        return self._after_rotation(self._file)

    def _new_lines(self, file: BinaryIO) -> tuple[bytes, int]:
        """Return what follows the position and the length of its whole lines.

        A file that has not changed since there were none is not read again.
        """
        there = os.fstat(file.fileno())
        if there.st_size < self._position:
            log.warning("File %s was truncated below position %d: reading from its start", self._path, self._position)
            self._position = 0
            self._rotates = bool(rotated_files(self._path))
        elif self._exhausted == (there.st_size, there.st_mtime_ns):
            return b"", 0
        data, length = self._read_lines(file)
        self._exhausted = None if length else (there.st_size, there.st_mtime_ns)
        return data, length

    def _read_lines(self, file: BinaryIO) -> tuple[bytes, int]:
        size = self._chunk_bytes
        while True:
            file.seek(self._position)
            data = file.read(size)
            length = whole_lines(data, self._limit)
            if length or len(data) < size:
                return data, length
            size *= 2  # one line longer than the chunk

    def _after_rotation(self, file: BinaryIO) -> Chunk | None:
        """Switch to the new file once it is written to and the old one is not; its last line needs no terminator."""
        if not self._rotated(file):
            self._quiet_since = None
            return None
        now = time.monotonic()
        self._quiet_since = self._quiet_since or now
        if now - self._quiet_since < _ROTATION_GRACE_SECONDS:
            return None
        file.seek(self._position)
        rest = file.read()
        following = self._following(file)
        if following is None:
            log.info("File %s was rotated: reading the new one from its start", self._path)
        else:
            log.info("File %s was rotated more than once: reading %s from its start", self._path, following.name)
        self._file, self._rotates = following or self._path.open("rb"), True
        file.close()
        self._quiet_since, self._exhausted, self._position = None, None, 0
        return Chunk(without_terminator(rest, len(rest)), 0) if rest else None

    def _rotated(self, file: BinaryIO) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return there.st_size > 0 and not os.path.samestat(there, os.fstat(file.fileno()))

    def _following(self, left: BinaryIO) -> BinaryIO | None:
        """Open the file that was written to after the one that is left, if it was rotated too; ``None`` without one."""
        there, present = os.fstat(left.fileno()), self._path.stat()
        known = {(there.st_dev, there.st_ino), (present.st_dev, present.st_ino)}
        for one in rotated_files(self._path):
            found = one.found
            if (found.st_dev, found.st_ino) in known or found.st_mtime_ns <= there.st_mtime_ns:
                continue
            if one.compressed:
                text = "File %s was compressed before it was read: its %d bytes are missing"
                log.warning(text, one.path, found.st_size)
            elif (opened := one.open()) is not None:
                return opened
        return None

    # At the start

    def _marked(self, mark: FileMark) -> BinaryIO:
        """Open the file of a mark, wherever it is now; where it is gone, the first that was written to after it."""

        def fits(file: BinaryIO) -> bool:
            return _size(file) >= self._position and mark.fits(file)

        if self._path.exists() and (present := _opened_if(self._path.open("rb"), fits)) is not None:
            return present
        rotated = rotated_files(self._path)
        # By its inode first, then the newest of those that begin with the same bytes.
        likely = sorted(rotated, key=lambda one: (one.found.st_ino != mark.inode, -one.found.st_mtime_ns))
        found = _first(likely, fits)
        if found is None:
            return self._after_gap(mark, [one for one in rotated if one.found.st_mtime_ns >= mark.written_ns])
        text = "File %s was rotated meanwhile: continuing in %s at byte %d"
        log.info(text, self._path, found.name, self._position)
        return found

    def _after_gap(self, mark: FileMark, rotated: Sequence[RotatedFile]) -> BinaryIO:
        """Open the first file that was written to after the one of a mark, which is gone."""
        later = [one for one in rotated if one.found.st_mtime_ns > mark.written_ns]
        file = _first(later, lambda _: True) or self._path.open("rb")
        log.warning(
            "The file that offset %d of file %s belongs to was truncated, compressed or removed: what it had after that"
            " offset is missing, and compressed files since (%s); reading %s from its start",
            self._position,
            self._path,
            ", ".join(str(one) for one in rotated if one.compressed) or "there are none",
            file.name,
        )
        self._position = 0
        return file

    def _fitting(self) -> BinaryIO:
        """Open the file; another one only if a line ends at the position in that one alone."""
        present, position = self._path.open("rb"), self._position
        if position <= _size(present):
            self._position = self._resume_position(present, position)
            if self._position != position or _at_line_start(present, position):
                return present
        newest_first = reversed(rotated_files(self._path))
        found = _first(newest_first, lambda file: _size(file) >= position and _at_line_start(file, position))
        if found is None:
            return present
        present.close()
        text = "No line of file %s ends at offset %d, but one of %s does, which was rotated: continuing there"
        log.warning(text, self._path, position, found.name)
        return found

    def _resume_position(self, file: BinaryIO, position: int) -> int:
        if _at_line_start(file, position):
            return position
        converted = _bytes_of_characters(file, position)
        if converted is None:
            return position
        log.warning(
            "Offset %d of file %s counts characters, as Java's worker does; continuing at byte %d",
            position,
            self._path,
            converted,
        )
        return converted


def _first(files: Iterable[RotatedFile], fits: Callable[[BinaryIO], bool]) -> BinaryIO | None:
    """Open the first file that is not compressed, may be read, and fits; ``None`` without one."""
    for one in files:
        opened = None if one.compressed else one.open()
        if opened is not None and (fitting := _opened_if(opened, fits)) is not None:
            return fitting
    return None


def _opened_if(file: BinaryIO, fits: Callable[[BinaryIO], bool]) -> BinaryIO | None:
    """Return an open file that fits; close another one."""
    if fits(file):
        return file
    file.close()
    return None


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _at_line_start(file: BinaryIO, position: int) -> bool:
    if position == 0:
        return True
    file.seek(position - 1)
    return file.read(1) in (b"\n", b"\r")


def _bytes_of_characters(file: BinaryIO, characters: int) -> int | None:
    """Return the bytes of the first lines with ``characters`` UTF-16 units; ``None`` when they end within a line."""
    file.seek(0)
    units = read = 0
    for line in file:
        units += utf16_units(line)
        read += len(line)
        if units >= characters:
            return read if units == characters else None
    return None
