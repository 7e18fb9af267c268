"""What FileStreamSource checks, and standard input as lines."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.connectors.file.source import FileStreamSourceConnector, StandardInput
from connect_dagster.errors import ConnectError

CONFIG = {"name": "x", "file": "/tmp/a", "topic": "t"}
PARTITION = {"filename": "/tmp/a"}


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard input from a pipe; answers its writing end."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writing


def test_standard_input_as_whole_lines(pipe: int) -> None:
    lines = StandardInput(None)
    assert lines.read() is None
    os.write(pipe, b"one\nha")
    assert _data(lines) == b"one"
    assert lines.read() is None
    os.write(pipe, b"lf\r\n")
    assert _data(lines) == b"half"
    os.close(pipe)
    assert lines.read() is None
    assert lines.read() is None


def test_standard_input_with_a_limit_of_lines(pipe: int) -> None:
    lines = StandardInput(2)
    os.write(pipe, b"a\nb\nc\n")
    os.close(pipe)
    assert [_data(lines), _data(lines), lines.read()] == [b"a\nb", b"c", None]


def _data(lines: StandardInput) -> bytes:
    chunk = lines.read()
    assert chunk is not None
    return chunk.data


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (PARTITION, {"pos": 1}, "Offset objects should either be null or contain the key 'position'"),
        (
            PARTITION,
            {"position": "1"},
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (PARTITION, {"position": -1}, "The value for the 'position' key in the offset should be a non-negative value"),
        ({"file": "x"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        (None, {"position": 1}, "Partition objects cannot be null"),
    ],
)
def test_offsets_that_cannot_be(partition: dict[str, Any] | None, offset: dict[str, Any], text: str) -> None:
    with pytest.raises(ConnectError, match=f"^{text}$"):
        FileStreamSourceConnector().alter_offsets(CONFIG, [(partition, offset)])


def test_offsets_that_can_be() -> None:
    offsets = [(PARTITION, {"position": 0}), (PARTITION, None)]
    assert FileStreamSourceConnector().alter_offsets(CONFIG, offsets)


def test_standard_input_has_no_offsets(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="Offsets cannot be modified if the 'file' configuration is unspecified"):
        FileStreamSourceConnector().alter_offsets({"topic": "t"}, [])
