"""An exclusive claim on a file for the life of a process.

The claim is a lock on a separate file beside it, since the claimed file is replaced when it is saved. The system
ends it with the process, however that ends; the lock file itself stays.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from connect_dagster.errors import ConnectError


class FileLock:
    """The claim on one file.

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
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o644)
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
