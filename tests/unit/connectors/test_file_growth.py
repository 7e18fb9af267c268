"""The wait for a file to grow ends with its growth."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connect_dagster.connectors.file import growth
from connect_dagster.connectors.file.growth import FileGrowth

LONG = 30.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "log"
    made.write_text("a\n")
    return made


@pytest.fixture
def waiting(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileGrowth]:
    made = FileGrowth(file)
    made.wait(0)
    monkeypatch.setattr(growth, "_LONGEST_WAIT", LONG)
    yield made
    made.close()


def woken(waiting: FileGrowth, change: Callable[[], object]) -> bool:
    """Return whether a wait ended long before its time, as something changed meanwhile."""
    timer = threading.Timer(0.1, change)
    timer.start()
    began = time.monotonic()
    waiting.wait(LONG * 32)
    timer.join()
    return time.monotonic() - began < LONG / 2


def append(file: Path, text: str = "b\n") -> None:
    with file.open("a") as opened:
        opened.write(text)


def test_a_line(waiting: FileGrowth, file: Path) -> None:
    for _ in range(3):
        assert woken(waiting, lambda: append(file))


def test_a_change_before_the_wait(waiting: FileGrowth, file: Path) -> None:
    append(file)
    assert woken(waiting, lambda: None)


def test_a_truncation(waiting: FileGrowth, file: Path) -> None:
    assert woken(waiting, lambda: os.truncate(file, 0))


@pytest.mark.parametrize("remove", [lambda file: file.rename(f"{file}.1"), Path.unlink], ids=["renamed", "deleted"])
def test_another_file_in_its_place(
    waiting: FileGrowth, file: Path, remove: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert woken(waiting, lambda: remove(file))
    monkeypatch.setattr(growth, "_LONGEST_WAIT", 0.01)
    waiting.wait(1)  # there is none
    file.write_text("c\n")
    waiting.wait(0)
    monkeypatch.setattr(growth, "_LONGEST_WAIT", LONG)
    assert woken(waiting, lambda: append(file))


def test_without_events_it_looks_again_later(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(growth, "INotify", refused)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for waiting in (FileGrowth(file), FileGrowth(None)):
        for quiet in (0, 1.6, 100):
            waiting.wait(quiet)
        waiting.close()
    assert slept == [0.005, 0.05, 0.1] * 2
