"""Folders for temporary files that do not outlive their process for long, however it ends.

A folder is locked for as long as its process, or the JVM that it started, lives. The system ends a lock with the
process, so a folder without one is abandoned, and the next process removes it. The lock is shared and on the folder
itself: so it also keeps ``systemd-tmpfiles`` from removing files of a worker that runs for weeks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "connect-dagster-scratch-"
# Until it is locked, a folder has a name that nobody looks for.
_DRAFT_PREFIX = f".{_PREFIX}"
_MEMORY = Path("/dev/shm")
# The JVM of a worker that was killed ends some seconds after it.
_SWEEP_AFTER_SECONDS = (0.0, 5.0, 60.0)


class _Process:
    """The folders of this process."""

    memory: Path | None = None
    locks: frozenset[int] = frozenset()


@contextmanager
def scratch_folder(root: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user may enter, and remove it at the end; abandoned ones are removed first.

    Args:
        root: where; the system's folder for temporary files by default.
    """
    root = root or Path(tempfile.gettempdir())
    remove_abandoned(root)
    with _locked_folder(root) as (folder, _):
        yield folder


@contextmanager
def process_scratch() -> Iterator[None]:
    """Keep all temporary files of this process in such folders: those of ``tempfile``, of child processes, of memory.

    Memory's are those in :func:`memory_folder`. Abandoned folders are removed by a thread.
    """
    files_root, memory_root = Path(tempfile.gettempdir()), memory_folder()
    with _locked_folder(files_root) as (files, files_lock), _locked_folder(memory_root) as (memory, memory_lock):
        given = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = tempfile.tempdir = str(files)
        _Process.memory, _Process.locks = memory, frozenset((files_lock, memory_lock))
        roots = {files_root, memory_root}
        threading.Thread(target=_sweep, args=(roots,), name="scratch-sweep", daemon=True).start()
        try:
            yield
        finally:
            _Process.memory, _Process.locks = None, frozenset()
            tempfile.tempdir = None
            del os.environ["TMPDIR"]
            if given is not None:
                os.environ["TMPDIR"] = given


def memory_folder() -> Path:
    """Return the folder for small files that are written often: in memory where the system has such a folder."""
    if _Process.memory is not None:
        return _Process.memory
    return _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def free_bytes(folder: Path) -> int:
    """Return the free space of a folder's file system for this user.

    Raises:
        OSError: the folder does not exist.
    """
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def process_locks() -> tuple[int, ...]:
    """Return the descriptors that a child process inherits when the folders are its own too."""
    return tuple(_Process.locks)


def remove_abandoned(root: Path) -> None:
    """Remove the folders in ``root`` that no process has locked, of this user alone."""
    with suppress(OSError):
        for folder in root.glob(f"{_PREFIX}*"):
            _remove_unless_locked(folder)


def _sweep(roots: set[Path]) -> None:
    for seconds in _SWEEP_AFTER_SECONDS:
        time.sleep(seconds)
        for root in roots:
            remove_abandoned(root)


@contextmanager
def _locked_folder(root: Path) -> Iterator[tuple[Path, int]]:
    draft = Path(tempfile.mkdtemp(prefix=f"{_DRAFT_PREFIX}{os.getpid()}-", dir=root))
    lock = _opened(draft)
    try:
        # Where folders cannot be locked nobody removes one that is in use: a sweep cannot lock it either.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH)
        folder = draft.rename(draft.with_name(draft.name.removeprefix(".")))
        try:
            yield folder, lock
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove_unless_locked(folder: Path) -> None:
    try:
        lock = _opened(folder)
    except OSError:  # a link, another user's, or gone
        return
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # in use
        return
    finally:
        os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
