"""Whole programs that come as an archive, a tar or a zip: unpacked once into the user's cache.

The cache is `XDG_CACHE_HOME`, else `~/.cache`; a program's folder carries its archive's checksum.
"""

import os
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from connect_dagster.embedded.jar_lock import locked_jars
from connect_dagster.embedded.jars import Progress, resolve


def unpacked(set_name: str, *, progress: Progress | None = None) -> Path:
    """The folder with what is in the archive of a set that has only this one.

    Raises:
        KeyError: there is no such set.
        JarUnavailable: the archive is missing and cannot be downloaded.
        JarCorrupt: the archive is not the locked one.
    """
    (archive,) = resolve(set_name, progress=progress)
    (locked,) = locked_jars(set_name)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "connect-dagster"
    folder = cache / f"{set_name}-{locked.sha256[:16]}"
    if not folder.exists():
        _unpack(archive, folder)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    """In one step, as others may unpack the same archive now."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder.parent) as scratch:
        whole = Path(scratch) / "whole"
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, whole)
        else:
            with tarfile.open(archive) as tar:
                tar.extractall(whole, filter="data")
        with suppress(OSError):  # somebody was faster
            whole.rename(folder)


def _unpack_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            unpacked_to = Path(file.extract(member, folder))
            if mode := (member.external_attr >> 16) & 0o777:  # the Unix half, which `extract` leaves out
                unpacked_to.chmod(mode | 0o600)
