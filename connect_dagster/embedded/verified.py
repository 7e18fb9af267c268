"""Remember which files were hashed already, so that the next start need not hash them again.

A file counts as the verified one while its size and its time of change are the same. The memory is a small
JSON file in the user's cache; losing it costs a second of hashing and nothing else.
"""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class VerifiedFiles:
    """A set of verified files, loaded from the cache and, as a context manager, saved back when it grew."""

    def __init__(self, stamps: dict[str, str], memory: Path) -> None:
        self._stamps = stamps
        self._memory = memory
        self._grew = False

    @classmethod
    def load(cls) -> Self:
        """Load the user's cache (`XDG_CACHE_HOME`, else `~/.cache`); empty when unreadable."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        memory = cache / "connect-dagster" / "verified-jars.json"
        try:
            stamps = json.loads(memory.read_text())
        except (OSError, ValueError):
            stamps = {}
        return cls(stamps, memory)

    def holds(self, path: Path, sha256: str) -> bool:
        """Return whether the file at `path` was seen with this SHA-256 and has not changed since."""
        return self._stamps.get(str(path)) == _stamp(path, sha256)

    def add(self, path: Path, sha256: str) -> None:
        """Remember that the file at `path` has this SHA-256."""
        self._stamps[str(path)] = _stamp(path, sha256)
        self._grew = True

    def save(self) -> None:
        """Write the memory in one step. Of two writers the later wins; the other hashes once more."""
        with suppress(OSError):  # a read-only home only costs the speed-up
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._memory.parent, delete=False) as file:
                json.dump(self._stamps, file, indent=0)
            Path(file.name).replace(self._memory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._grew:
            self.save()


def _stamp(path: Path, sha256: str) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {sha256}"
