"""Whole programs that come as an archive, a tar or a zip: unpacked once into the user's cache.

The cache is `XDG_CACHE_HOME`, else `~/.cache`; a program's folder carries its archive's checksum.
"""

import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from connect_dagster.embedded.jar_lock import locked_jars
from connect_dagster.embedded.jars import Progress, resolve


def cache_folder() -> Path:
    """The folder of this project in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "connect-dagster"


def unpacked(set_name: str, *, inner: str | None = None, progress: Progress | None = None) -> Path:
    """The folder with what is in the archive of a set that has only this one.

    Args:
        set_name: a table of the lock.
        inner: the archive's member to unpack, itself a tar, instead of the archive.
        progress: see `resolve`.

    Raises:
        KeyError: there is no such set.
        JarUnavailable: the archive is missing and cannot be downloaded.
        JarCorrupt: the archive is not the locked one.
    """
    (archive,) = resolve(set_name, progress=progress)
    (locked,) = locked_jars(set_name)
    folder = cache_folder() / f"{set_name}-{locked.sha256[:16]}"
    with made_once(folder) as draft:
        if draft and inner:
            with zipfile.ZipFile(archive) as file, file.open(inner) as stream:
                _unpack_tar(stream, draft)
        elif draft and zipfile.is_zipfile(archive):
            _unpack_zip(archive, draft)
        elif draft:
            with archive.open("rb") as stream:
                _unpack_tar(stream, draft)
    return folder


@contextmanager
def made_once(folder: Path) -> Iterator[Path | None]:
    """Give the place to make a cached folder in, None where it is there; it appears in one step."""
    if folder.exists():
        yield None
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as scratch:
        draft = Path(scratch) / "draft"
        yield draft
        with suppress(OSError):  # somebody was faster
            draft.rename(folder)


def _unpack_tar(archive: IO[bytes], folder: Path) -> None:
    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(folder, filter=_within)


def _within(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Leave out links to places outside of the archive."""
    try:
        return tarfile.data_filter(member, folder)
    except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
        return None


def _unpack_zip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            unpacked_to = Path(file.extract(member, folder))
            if mode := (member.external_attr >> 16) & 0o777:  # the Unix half, which `extract` leaves out
                unpacked_to.chmod(mode | 0o600)
