"""The lock of a file that several tasks write."""

import fcntl
from pathlib import Path

import pyarrow as pa
import pytest

from connect_dagster.connectors.file import sink
from connect_dagster.connectors.file.sink import FileStreamSinkTask
from connect_dagster.errors import RetriableError


def test_a_file_that_another_program_has_locked_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hangs at 1f0d1e0, for as long as the other program has it, and the task leaves its group."""
    monkeypatch.setattr(sink, "_LOCK_SECONDS", 0.05)
    file = tmp_path / "lines"
    task = FileStreamSinkTask()
    task.start({"file": str(file)})
    with file.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(RetriableError, match=r"^File '.*/lines' is locked by another program for 0 s$"):
            task._append([pa.py_buffer(b"x\n")])
    task._append([pa.py_buffer(b"y\n")])
    task.stop()
    assert file.read_text() == "y\n"
