"""What the tests of the documentation share: its files at other places, its worker, what is to come of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from connect_dagster.embedded.child_process import start_leashed


@contextmanager
def running(command: Sequence[str | Path], folder: Path) -> Iterator[None]:
    """A command of a guide that stays, its output in the folder's `worker.log`."""
    with (folder / "worker.log").open("wb") as log:
        worker = start_leashed(command, log=log)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(30)


def moved(file: Path, folder: Path, places: Mapping[str, str]) -> Path:
    """A file of the project in the folder, with other places in it."""
    copy = folder / file.name
    copy.write_text(replaced(file.read_text(encoding="utf-8"), places), encoding="utf-8")
    return copy


def replaced(text: str, places: Mapping[str, str]) -> str:
    """The text with other places."""
    for here, there in places.items():
        text = text.replace(here, there)
    return text


def await_content(file: Path, content: bytes) -> None:
    """Wait until the file holds just that."""
    deadline = time.monotonic() + 240
    while not file.exists() or file.read_bytes() != content:
        log = (file.parent / "worker.log").read_text(encoding="utf-8", errors="replace")
        assert time.monotonic() < deadline, (
            f"{file} does not hold what was sent; the worker's log ends with {log[-3000:]}"
        )
        time.sleep(0.1)
