"""A leashed child ends with its parent, whatever ends the parent, and whichever thread started the child."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from connect_dagster.embedded.child_process import end_leashed, start_leashed

# Starts a child from a thread that ends at once, says its pid, and waits to be killed.
PARENT = """
import sys, threading, time
from pathlib import Path
from connect_dagster.embedded.child_process import start_leashed

started = []
def start():
    with open(sys.argv[1], "wb") as log:
        started.append(start_leashed(["sleep", "600"], log=log))
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(started[0].pid, flush=True)
time.sleep(600)
"""


def _gone_within(seconds: float, process: psutil.Process) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def _started_with_watcher(tmp_path: Path) -> "tuple[subprocess.Popen[bytes], psutil.Process]":
    with (tmp_path / "log").open("wb") as log:
        process = start_leashed(["sleep", "600"], log=log)
    deadline = time.monotonic() + 5
    while not (watchers := psutil.Process(process.pid).children()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process, watchers[0]


def test_the_child_outlives_its_thread_and_ends_when_the_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path / "log"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    assert not _gone_within(1.5, child)  # longer than the watcher's round
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert _gone_within(5, child)


def test_a_paused_child_ends_too(tmp_path: Path) -> None:
    process, _ = _started_with_watcher(tmp_path)
    process.send_signal(signal.SIGSTOP)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(5) == -signal.SIGKILL


def test_pid_output_exit_code_and_standard_input_are_the_commands(tmp_path: Path) -> None:
    log_file = tmp_path / "log"
    with log_file.open("wb") as log:
        process = start_leashed(["sh", "-c", "echo $$; cat; exit 7"], log=log)
    assert process.wait(10) == 7
    assert log_file.read_text() == f"{process.pid}\n"


def test_the_watcher_ends_with_the_command(tmp_path: Path) -> None:
    process, watcher = _started_with_watcher(tmp_path)
    process.terminate()
    process.wait(5)
    assert _gone_within(5, watcher)


def test_a_child_is_stopped_or_killed(tmp_path: Path) -> None:
    def started(*words: str) -> subprocess.Popen[bytes]:
        file = tmp_path / "ready"
        file.unlink(missing_ok=True)
        with (tmp_path / "log").open("wb") as log:
            process = start_leashed(
                ["sh", "-c", f"{'; '.join(words)}; touch {file}; while :; do sleep 0.05; done"], log=log
            )
        until = time.monotonic() + 10
        while not file.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        return process

    assert end_leashed(started("trap 'exit 3' TERM"), 10) == 3
    deaf = started("trap '' TERM")
    assert end_leashed(deaf, 0.2) == -signal.SIGKILL
    assert deaf.stdin is not None
    assert deaf.stdin.closed
