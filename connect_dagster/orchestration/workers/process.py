"""A Connect worker as a child process: started in a separate session, watched, stopped, never left behind.

The child gets a pipe as stdin that stays open as long as the parent lives; a worker of ours drains and exits
when it closes, so even ``kill -9`` of the parent leaves no orphan. Signals sent to the parent's group
(Ctrl+C) do not reach it. Independent of Dagster.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO


def session_memory(session: int) -> int | None:
    """Return the resident bytes of all processes of a session; None without ``/proc``.

    Args:
        session: Id of the session, which is the pid of the process that began it.
    """
    if not Path("/proc/self/stat").exists():
        return None
    pages = sum(_pages(stat, session) for stat in Path("/proc").glob("[0-9]*/stat"))
    return pages * os.sysconf("SC_PAGE_SIZE")


def _pages(stat: Path, session: int) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it ended meanwhile
    # After the name come state, parent, group, session; resident pages are 18 fields further (proc(5)).
    return int(fields[21]) if int(fields[3]) == session else 0


EXIT_ON_STDIN_EOF = "CONNECT_DAGSTER_EXIT_ON_STDIN_EOF"
REMEMBERED_LINES = 40
POLL_SECONDS = 0.2


class WorkerProcess:
    """A running child, see :meth:`spawn`. Its output is copied to stderr, and its last lines are kept."""

    def __init__(self, process: subprocess.Popen[bytes], mask: Callable[[str], str], announcement: str | None) -> None:
        self._process = process
        self._mask = mask
        self._announcement = announcement
        self._announced = threading.Event()
        self._started = time.monotonic()
        self._last_lines: deque[str] = deque(maxlen=REMEMBERED_LINES)
        self._copier = threading.Thread(target=self._copy_output, name="worker-output", daemon=True)
        self._copier.start()

    @classmethod
    def spawn(
        cls, command: Sequence[str], mask: Callable[[str], str] = str, announcement: str | None = None
    ) -> "WorkerProcess":
        """Start ``command``.

        Args:
            command: The program and its arguments.
            mask: Takes secrets out of a line of its output, before anybody sees it.
            announcement: Text in the line of its output that says that it has started, for :attr:`has_announced`.

        Raises:
            OSError: It cannot be run.
        """
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, EXIT_ON_STDIN_EOF: "1"},
            start_new_session=True,
        )
        return cls(process, mask, announcement)

    @property
    def pid(self) -> int:
        """Process id, also the id of its session and group."""
        return self._process.pid

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def memory(self) -> int | None:
        """Resident bytes of its session; None where the system does not report them."""
        return session_memory(self.pid)

    @property
    def has_announced(self) -> bool:
        """Return True if its output has the announcement."""
        return self._announced.is_set()

    def is_alive(self) -> bool:
        """Return True if the process runs."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> bool:
        """Wait until the process ends or ``seconds`` have passed; return True if it ended.

        Waits in short slices, so that a signal to this process is handled at once on every platform.
        """
        deadline = time.monotonic() + seconds
        while self.is_alive() and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(POLL_SECONDS, left))
        return not self.is_alive()

    def stop(self, grace: float) -> None:
        """End the process: close its stdin, SIGTERM, and after ``grace`` seconds SIGKILL to its group."""
        if self._process.stdin:
            self._process.stdin.close()
        if self.is_alive():
            self._process.terminate()
        self.wait(grace)
        # Also after a graceful end: whatever the worker started goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._copier.join(timeout=1.0)

    def exit_description(self) -> str:
        """Return how it ended: ``exit code 2`` or ``signal SIGKILL``; ``running`` when it did not."""
        match self._process.poll():
            case None:
                return "running"
            case int(code) if code < 0:
                return f"signal {signal.Signals(-code).name}"
            case code:
                return f"exit code {code}"

    def last_lines(self) -> str:
        """Return the last lines of its output, complete once it and its children have ended."""
        if not self.is_alive():
            self._copier.join(timeout=1.0)
        return "\n".join(self._last_lines)

    def _copy_output(self) -> None:
        output: IO[bytes] | None = self._process.stdout
        assert output is not None
        for line in output:
            text = self._mask(line.decode(errors="replace").rstrip("\n"))
            self._last_lines.append(text)
            if self._announcement is not None and self._announcement in text:
                self._announced.set()
            print(text, file=sys.stderr, flush=True)  # noqa: T201
