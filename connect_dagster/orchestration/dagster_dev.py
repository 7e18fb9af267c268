"""`dagster dev` as a child process that stops with all its processes: web server, daemon, code server and runs.

Interrupting `dagster dev` alone leaves the code server and the runs behind; so it gets a separate group,
the group is interrupted, and every member is waited for. A run that hosts a worker drains it in that time.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import requests

POLL_SECONDS = 0.2

# Starts Python with default signals: a job in a shell's background ignores SIGINT, and passes that on.
FRESH_SIGNALS = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "signal.signal(signal.SIGTERM, signal.SIG_DFL); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class DagsterDev:
    """One `dagster dev` on the loopback interface.

    Args:
        home: Its DAGSTER_HOME, which exists; also where it runs, and where `dagster-dev.log` goes.
        workspace: The workspace file it loads.
        port: Where the UI listens.
        environment: Variables for the code it loads, in addition to those of this process.
    """

    def __init__(self, home: Path, workspace: Path, port: int, environment: Mapping[str, str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log_file = home / "dagster-dev.log"
        self._home = home.absolute()
        self._command = [
            "-m",
            "dagster",
            "dev",
            "-w",
            str(workspace.absolute()),
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
        ]
        self._environment = {**os.environ, **environment, "DAGSTER_HOME": str(self._home)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; :meth:`wait_ready` waits for the UI."""
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", FRESH_SIGNALS, *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._home,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id of the first process, also the id of the process group."""
        assert self._process is not None, "it was not started"
        return self._process.pid

    def wait_ready(self, timeout: float = 120.0) -> None:
        """Wait until the UI responds.

        Raises:
            RuntimeError: It ended, or that took longer than ``timeout`` seconds; quotes the end of its log.
        """
        deadline = time.monotonic() + timeout
        while not self._answers():
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dagster dev is not up after {timeout:g} s:\n{self.log_file.read_text()[-3000:]}")
            time.sleep(POLL_SECONDS)

    def stop(self, grace: float = 60.0) -> None:
        """Interrupt all processes, wait ``grace`` seconds for the last of them, kill the rest."""
        if self._process is None:
            return
        group = self._process.pid
        _signal_group(group, signal.SIGINT)
        deadline = time.monotonic() + grace
        while _has_members(group) and time.monotonic() < deadline:
            self._process.poll()
            time.sleep(POLL_SECONDS)
        _signal_group(group, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        with contextlib.suppress(requests.RequestException):
            return requests.get(f"{self.url}/server_info", timeout=2.0).ok
        return False


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _has_members(group: int) -> bool:
    """Return True if a process of the group runs; with /proc, zombies do not count."""
    if Path("/proc/self/stat").exists():
        return any(_runs_in(stat, group) for stat in Path("/proc").glob("[0-9]*/stat"))
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _runs_in(stat: Path, group: int) -> bool:
    try:
        state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return int(process_group) == group and state != "Z"
