"""The checkpoint of a streaming query: the end of a batch, and a query that starts there.

Spark writes down the end of each batch before it runs it, and that it is done after (``OffsetSeqLog``,
``CommitLog``): lines of a version, metadata, and one source's offset as JSON.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from pathlib import Path

_MEMORY_FOLDER = Path("/dev/shm")
_VERSION = "v1"


class OwnCheckpoint:
    """A folder for the life of a task; created again where the task runs.

    Args:
        offset: end of the last batch that was done, as ``end_of`` answered it; ``None`` to begin at the beginning.
    """

    def __init__(self, offset: str | None) -> None:
        folder = _MEMORY_FOLDER if _MEMORY_FOLDER.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-", dir=folder))
        if offset is not None:
            self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
            self._write(
                "offsets/0", f"{_VERSION}\n{json.dumps({'batchWatermarkMs': 0, 'batchTimestampMs': 0})}\n{offset}"
            )
            self._write("commits/0", f"{_VERSION}\n{json.dumps({'nextBatchWatermarkMs': 0})}")

    @property
    def location(self) -> str:
        """Return the folder for ``checkpointLocation``."""
        return str(self._folder)

    def end_of(self, batch: int) -> str:
        """Return the end of a batch, as its source writes it."""
        return (self._folder / "offsets" / str(batch)).read_text().splitlines()[-1]

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        file = self._folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


class LastingCheckpoint:
    """A folder or URL that outlives the task, for formats whose offset alone is not enough."""

    def __init__(self, location: str) -> None:
        self.location = location

    def end_of(self, batch: int) -> None:
        """Do nothing: only Spark reads it."""

    def remove(self) -> None:
        """Leave it for the next task."""
