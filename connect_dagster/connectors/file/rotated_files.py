"""Files that were once at a path: found by the names that rotation gives them, and told apart by a mark.

Knows names, times and first bytes; no lines.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

log = logging.getLogger(__name__)

# What logrotate and the handlers of logging libraries add to a name: .1, -20261124, .2026-11-24_10
_NUMBER = r"[._-]\d[\d._:T-]*"
# Between stem and suffix a short number is rather a file of another program: app-2.log
_DATE = r"[._-]\d{4}[\d._:T-]*"
_COMPRESSION = re.compile(r"\.(?:gz|bz2|xz|zst|lz4|Z)$")
_MARK = re.compile(r"(\d+)-(\d+)-(\d+)-([0-9a-f]{8})")
_MOST_BYTES = 1024
# Fewer first bytes may be the same in another file.
_LEAST_BYTES = 64


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file wherever it is moved or copied to: by its inode, which another file may get later, and its first bytes.

    Attributes:
        inode: number of the file in its file system.
        written_ns: when it was written to last before it was read, in epoch nanoseconds.
        length: number of first bytes.
        checksum: CRC-32 of these.
    """

    inode: int
    written_ns: int
    length: int
    checksum: int

    @classmethod
    def of(cls, file: BinaryIO, position: int) -> FileMark:
        """Return the mark of a file that was read up to a position, in bytes."""
        found, length = os.fstat(file.fileno()), min(position, _MOST_BYTES)
        return cls(found.st_ino, found.st_mtime_ns, length, _checksum(file, length))

    @classmethod
    def parse(cls, text: Any) -> FileMark | None:
        """Return a mark from its text; ``None`` for anything else."""
        found = _MARK.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return None
        inode, written_ns, length = map(int, found.groups()[:3])
        return cls(inode, written_ns, length, int(found[4], 16))

    def __str__(self) -> str:
        return f"{self.inode}-{self.written_ns}-{self.length}-{self.checksum:08x}"

    def fits(self, file: BinaryIO) -> bool:
        """Return whether it is a mark of this file, or of one that this is a copy of."""
        found = os.fstat(file.fileno())
        known = found.st_ino == self.inode or self.length >= _LEAST_BYTES
        return known and found.st_size >= self.length and _checksum(file, self.length) == self.checksum


@dataclass(frozen=True, slots=True)
class RotatedFile:
    """A file with a rotated name, as it was in a listing of the folder."""

    path: Path
    found: os.stat_result

    @property
    def compressed(self) -> bool:
        """Return whether its name is that of a compressed file."""
        return _COMPRESSION.search(self.path.name) is not None

    def __str__(self) -> str:
        return f"{self.path.name} ({self.found.st_size} bytes)"

    def open(self) -> BinaryIO | None:
        """Open it; return ``None``, after a warning, where this user may not.

        Raises:
            FileNotFoundError: its name has gone to another file since, or is gone.
        """
        try:
            opened = self.path.open("rb")
        except PermissionError:
            log.warning("File %s may not be read: its %d bytes are missing", self.path, self.found.st_size)
            return None
        if os.path.samestat(self.found, os.fstat(opened.fileno())):
            return opened
        opened.close()
        raise FileNotFoundError(self.path)


def rotated_files(path: Path) -> list[RotatedFile]:
    """Return the plain files in the folder that are named as rotated ones of this file, by their time."""
    whole, stem, suffix = map(re.escape, (path.name, path.stem, path.suffix))
    name = re.compile(rf"(?:{whole}{_NUMBER}|{stem}{_DATE}{suffix})(?:{_COMPRESSION.pattern})?")
    try:
        files = [file for file in path.parent.iterdir() if name.fullmatch(file.name)]
    except PermissionError:
        log.warning("Cannot list folder %s: files that were rotated meanwhile may be missing", path.parent)
        return []
    rotated: list[RotatedFile] = []
    for file in files:
        with suppress(FileNotFoundError):
            found = file.lstat()
            if stat.S_ISREG(found.st_mode):
                rotated.append(RotatedFile(file, found))
    return sorted(rotated, key=lambda one: one.found.st_mtime_ns)


def _checksum(file: BinaryIO, length: int) -> int:
    return zlib.crc32(os.pread(file.fileno(), length, 0))
