"""The offsets of source connectors in a file that Java's standalone worker reads, and the other way round.

Java: ``FileOffsetBackingStore``. Beyond Java, one worker at a time may use the file, a save replaces it as a whole,
and a damaged file is an error rather than an empty one.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.java import hash_map_file as java_map
from connect_dagster.storage.offset_store import ConnectorOffsets, Offset, OffsetTable, Partition

log = logging.getLogger(__name__)

_DRAFT = ".tmp"
_RANDOM_BYTES = 8
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileOffsetStore:
    """All offsets of a standalone worker; any thread may call it.

    Args:
        path: ``offset.storage.file.filename``; a link is followed, so that a save keeps it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = Path(os.path.realpath(path))
        self._claim = FileLock(self._file)
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._table = OffsetTable()

    def start(self) -> None:
        """Claim the file and read it; one that does not exist, or is empty, has no offsets yet.

        Raises:
            ConnectError: another worker uses the file, it cannot be read, or it is damaged.
        """
        log.info("Starting FileOffsetBackingStore with file %s", self.path)
        self._claim.acquire()
        self._remove_drafts()
        try:
            entries = self._read()
        except ConnectError:
            self._claim.release()
            raise
        for key, value in entries.items():
            if not self._table.put(key, value):
                log.warning("Ignoring offset partition key with an unexpected format in %s: %r", self.path, key)

    def stop(self) -> None:
        """Let other workers use the file."""
        self._claim.release()
        log.info("Stopped FileOffsetBackingStore")

    def open(self, connector: str, config: Mapping[str, str]) -> ConnectorOffsets:
        """Return the offsets of one connector; its configuration has no influence."""
        return ConnectorOffsets(self, connector)

    def offset(self, connector: str, partition: Partition) -> dict[str, Any] | None:
        """Return the offset of a partition, ``None`` when there is none.

        Raises:
            DataError: the stored offset is not a JSON object.
        """
        with self._lock:
            return self._table.offset(connector, partition)

    def offsets_of(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions of a connector with their offsets, in the order in which they were first written.

        Raises:
            DataError: a stored offset is not a JSON object.
        """
        with self._lock:
            return self._table.offsets_of(connector)

    def save(self, connector: str, changes: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets of partitions, ``None`` to forget one, and write everything to the file.

        Raises:
            DataError: a value is none that offsets may hold.
            ConnectError: the file cannot be written; it is as before, and so are the offsets.
        """
        with self._saving:
            with self._lock:
                entries = self._table.changes(connector, changes)
                content = {**self._table.entries, **entries}
            if not entries:
                return
            self._replace(java_map.dumps(content))
            with self._lock:
                for key, value in entries.items():
                    self._table.put(key, value)

    def _read(self) -> dict[bytes, bytes | None]:
        try:
            content = self._file.read_bytes()
            return java_map.loads(content) if content else {}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConnectError(f"Cannot read offsets file {self.path}: {error.strerror}") from error
        except DataError as error:
            raise ConnectError(f"Cannot read offsets file {self.path}: {error}") from error

    def _remove_drafts(self) -> None:
        """Remove what a worker that was killed within a save has left; the claim says that no other one is saving."""
        draft = re.compile(rf"{re.escape(self._file.name)}\.[0-9a-f]{{{2 * _RANDOM_BYTES}}}{re.escape(_DRAFT)}")
        with suppress(OSError):
            for file in self._file.parent.iterdir():
                if draft.fullmatch(file.name):
                    file.unlink()

    def _replace(self, content: bytes) -> None:
        # Others may write to the folder: a name that they cannot know has no link of theirs.
        draft = self._file.with_name(f"{self._file.name}.{secrets.token_hex(_RANDOM_BYTES)}{_DRAFT}")
        try:
            _write_durably(draft, content, like=self._file)
            draft.replace(self._file)
            _sync_folder(self._file.parent)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise ConnectError(f"Cannot save offsets file {self.path}: {error.strerror}") from error


def _write_durably(file: Path, content: bytes, like: Path) -> None:
    with os.fdopen(os.open(file, _NEW_FILE, 0o666), "wb") as out:
        if like.exists():
            os.fchmod(out.fileno(), like.stat().st_mode & 0o7777)
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FileLock:
    """An exclusive claim on a file for the life of a process.

    The claim is a lock on a separate file beside it, since the claimed file is replaced when it is saved. The system
    ends it with the process, however that ends; the lock file itself stays.

    Args:
        file: the file to claim; it need not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock_file = file.with_name(f"{file.name}.lock")
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Claim the file.

        Raises:
            ConnectError: another process, or another part of this one, has it, or the lock file cannot be written.
        """
        try:
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise ConnectError(f"Cannot lock {self._file}: {self._lock_file}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 20).decode(errors="replace").strip()
            os.close(descriptor)
            raise ConnectError(f"{self._file} is in use by another worker, process {holder or 'unknown'}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the claim up; nothing happens when there is none."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
