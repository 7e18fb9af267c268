"""Where files go: a file appears whole under its name, or not at all, and replaces one of the same name."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path
from typing import Protocol

from connect_dagster.errors import ConnectError, RetriableError

# Of these, waiting changes nothing.
_CERTAIN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})


class Store(Protocol):
    """A place for files."""

    def check(self) -> None:
        """Raise an error where no file could be stored.

        Raises:
            ConnectError: it names the store, and what is missing.
        """

    def put(self, file: Path, name: str) -> None:
        """Store a file.

        Args:
            file: on the worker's disk.
            name: its path in the store.

        Raises:
            RetriableError: it may work later.
            ConnectError: it will not.
        """


class LocalStore:
    """A folder.

    Args:
        root: created if missing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(self) -> None:
        """Raise an error where no file could be written to the folder."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConnectError(f"Folder {self._root} cannot be created: {error.strerror or error}") from error
        if not os.access(self._root, os.W_OK | os.X_OK):
            raise ConnectError(f"Folder {self._root} is not writable for the user of the worker (uid {os.geteuid()})")

    def put(self, file: Path, name: str) -> None:
        """Copy a file beside its place, and rename it."""
        target = self._root / name
        hidden = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, hidden)
            _to_disk(hidden)
            hidden.replace(target)
            # Left by a task that was killed here.
            for left in target.parent.glob(f".{_quoted(target.name)}.*.tmp"):
                left.unlink(missing_ok=True)
            _to_disk(target.parent)
        except OSError as error:
            hidden.unlink(missing_ok=True)
            text = f"File {target} cannot be written: {error.strerror or error}"
            raise (ConnectError if error.errno in _CERTAIN else RetriableError)(text) from error


def _to_disk(path: Path) -> None:
    """Have the system write a file or a folder to the disk, before offsets after it are committed."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _quoted(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
