"""`make demo` as a user runs it: to its end with ONCE, and interrupted by Ctrl+C."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.shipped_project import ROOT, wait_until

pytestmark = pytest.mark.nightly

START_SECONDS = 400


@pytest.mark.timeout(900)
def test_s1_09_once_checks_every_line_and_reports(tmp_path: Path) -> None:
    with demo(tmp_path, "--once") as (process, output):
        code = process.wait(800)
    text = output.read_text()
    assert code == 0, text
    for fact in (
        "lines compared        10,000 equal, one by one",
        "end offset            connect-test-0: 10,000",
        "lag of the sink       0  (group connect-local-file-sink)",
        "rows through Spark    local-file-sink-0: 10,000",
        "rows through Spark    local-file-source-0: 10,000",
        "(STARTED)",
        "materialisations      kafka/connect-test: ",
        "demo: everything arrived",
    ):
        assert fact in text
    assert processes_of(tmp_path) == []


@pytest.mark.timeout(900)
def test_ctrl_c_stops_every_process_the_demo_started(tmp_path: Path) -> None:
    with demo(tmp_path) as (process, output):
        wait_until(lambda: "Ctrl+C stops everything" in output.read_text(), "see the demo run", START_SECONDS)
        assert len(processes_of(tmp_path)) > 5
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0, output.read_text()
    assert processes_of(tmp_path) == []


@contextmanager
def demo(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run the demo in a directory, with what it prints in a file; interrupted when the test ends before it."""
    output = directory / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.demo", "--directory", str(directory / "demo"), *options],
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process, output
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def processes_of(directory: Path) -> list[str]:
    """Command lines of the processes that know the directory, by arguments or environment; not of this one."""
    mark = str(directory).encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:
            continue
        if process.name != str(os.getpid()) and any(mark in text for text in told):
            found.append(told[0].replace(b"\0", b" ").decode(errors="replace"))
    return found
