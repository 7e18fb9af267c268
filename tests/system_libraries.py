"""Shared libraries that a server of tests needs and that are not on every system.

The system's own are used where it has them. Else Debian's packages are unpacked into the cache, which needs no rights
but apt's lists; where there are none, `make libraries` installs the packages.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.programs import cache_folder, made_once

MYSQL: Mapping[str, tuple[str, ...]] = {
    "libaio.so.1": ("libaio1", "libaio1t64"),  # Debian 13 has renamed package and file, which is the same for us
    "libnuma.so.1": ("libnuma1",),
}
"""What MySQL's server needs: file and the packages that may have it."""

_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib")
_RENAMED = "t64"


class LibraryMissing(Exception):
    """A shared library is neither on this system nor to be had by apt."""


def library_folder(needed: Mapping[str, tuple[str, ...]]) -> Path | None:
    """The folder with those libraries that the system lacks, for `LD_LIBRARY_PATH`; None where it lacks none.

    Raises:
        LibraryMissing: names the library and what to do.
    """
    missing = [file for file in needed if not _loads(file)]
    if not missing:
        return None
    folder = cache_folder() / "-".join(["libraries", *missing])
    with made_once(folder) as draft:
        if draft:
            draft.mkdir()
            for file in missing:
                with tempfile.TemporaryDirectory() as scratch:
                    shutil.copy(_renamed(file) or _downloaded(file, needed[file], Path(scratch)), draft / file)
    return folder


def _loads(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True


def _renamed(file: str) -> Path | None:
    paths = (Path(folder, file + _RENAMED) for folder in _FOLDERS)
    return next((path for path in paths if path.exists()), None)


def _downloaded(file: str, packages: Sequence[str], folder: Path) -> Path:
    for package in packages:
        unpacked = folder / package
        unpacked.mkdir()
        if _ran("apt-get", "download", "-qq", package, cwd=unpacked):
            for archive in unpacked.glob("*.deb"):
                _ran("dpkg-deb", "-x", archive, unpacked, cwd=unpacked)
        found = [*unpacked.rglob(file), *unpacked.rglob(file + _RENAMED)]
        if found:
            return found[0]
    raise LibraryMissing(f"{file} is missing: run `make libraries` as root, or install your system's {packages[0]}.")


def _ran(*command: str | Path, cwd: Path) -> bool:
    try:
        return subprocess.run(command, cwd=cwd, capture_output=True, timeout=120, check=False).returncode == 0
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    library_folder(MYSQL)
