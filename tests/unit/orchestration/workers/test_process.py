import os
import signal
import sys
import time
from pathlib import Path

import pytest

from connect_dagster.orchestration.workers.process import WorkerProcess


def python(code: str) -> WorkerProcess:
    return WorkerProcess.spawn([sys.executable, "-u", "-c", code])


def wait_for_line(worker: WorkerProcess, text: str, timeout: float = 20.0) -> None:
    deadline = time.monotonic() + timeout
    while text not in worker.last_lines():
        assert time.monotonic() < deadline, f"{text!r} was not printed: {worker.last_lines()!r}"
        time.sleep(0.02)


def test_it_runs_in_a_session_of_its_own() -> None:
    worker = python("import os, sys; print('session', os.getsid(0)); sys.stdin.read()")
    wait_for_line(worker, f"session {worker.pid}")
    worker.stop(grace=10)
    assert os.getsid(0) != worker.pid


def test_stop_lets_it_drain_on_the_end_of_its_input() -> None:
    worker = python(
        # Ignored, not handled: Python gives up its handlers while it ends.
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up')\n"
        "sys.stdin.read(); print('drained'); sys.exit(3)"
    )
    wait_for_line(worker, "up")
    worker.stop(grace=20)
    assert worker.exit_description() == "exit code 3"
    assert "drained" in worker.last_lines()


def test_stop_kills_what_does_not_listen() -> None:
    worker = python("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(60)")
    wait_for_line(worker, "up")
    worker.stop(grace=0.3)
    assert worker.exit_description() == "signal SIGKILL"


def test_stop_takes_the_workers_own_children_along() -> None:
    child = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print('child', p.pid); sys.stdin.read()"
    worker = python(child)
    wait_for_line(worker, "child ")
    sleeper = int(worker.last_lines().split()[-1])
    worker.stop(grace=10)
    deadline = time.monotonic() + 10
    while _runs(sleeper):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_wait_returns_early_when_it_ends_and_tells_how() -> None:
    worker = python("import sys; print('no such topic'); sys.exit(2)")
    assert worker.wait(20)
    assert (worker.is_alive(), worker.exit_description()) == (False, "exit code 2")
    wait_for_line(worker, "no such topic")
    worker.stop(grace=1)


def test_a_crash_is_told_by_its_signal() -> None:
    worker = python("import sys; sys.stdin.read()")
    os.kill(worker.pid, signal.SIGKILL)
    assert worker.wait(10)
    assert worker.exit_description() == "signal SIGKILL"
    worker.stop(grace=1)


def test_a_command_that_does_not_exist_is_an_error_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        WorkerProcess.spawn(["/no/such/connect-standalone"])


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
