"""The dedicated process as a child process: its command `connect-mirror-maker`."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from connect_dagster.embedded.child_process import start_leashed
from tests.integration.worker_process import QUICK_JVM, write_properties

COMMAND = Path(sys.executable).with_name("connect-mirror-maker")


class DedicatedProcess:
    """One `connect-mirror-maker`; a context manager that starts it, waits until its workers are, and stops it.

    Args:
        props: of its file.
        workdir: for the file and the log.
        targets: aliases of `--clusters`.
        jvm: Spark settings of its JVM; those for a short life by default, so give others to a process to be measured.
    """

    def __init__(
        self,
        props: Mapping[str, str],
        workdir: Path,
        targets: Sequence[str] = (),
        *,
        jvm: Mapping[str, str] = QUICK_JVM,
    ) -> None:
        self._props = {**jvm, **props}
        self._workdir = workdir
        self._targets = targets
        self._log = workdir / "mirror-maker.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        self._workdir.mkdir(parents=True, exist_ok=True)
        file = write_properties(self._workdir / "mm2.properties", self._props)
        chosen = ["--clusters", *self._targets] if self._targets else []
        with self._log.open("ab") as log:
            self._process = start_leashed([COMMAND, file, *chosen], log=log)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._running.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._running.poll()

    def log(self) -> str:
        """All it has logged."""
        return self._log.read_text(errors="replace")

    def wait_log(self, text: str, seconds: float = 120) -> None:
        """Wait until the log holds a text."""
        deadline = time.monotonic() + seconds
        while text not in self.log():
            ended = self._running.poll()
            assert ended is None, f"it ended with {ended}\n{self.log()[-6000:]}"
            assert time.monotonic() < deadline, f"{text!r} is not in\n{self.log()[-6000:]}"
            time.sleep(0.05)

    def wait_exit(self, seconds: float = 60) -> int:
        """Wait until it ends by itself; answers the exit code."""
        return self._running.wait(seconds)

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._running.kill()
        self._running.wait()

    def stop(self, seconds: float = 60) -> int:
        """Stop it as Ctrl+C does; answers the exit code."""
        self._running.terminate()
        try:
            return self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"It did not stop:\n{self.log()[-6000:]}") from None

    def __enter__(self) -> Self:
        self.start()
        self.wait_log("Kafka MirrorMaker started")
        return self

    def __exit__(self, *_: object) -> None:
        if self._running.poll() is None:
            self.stop()

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "it was not started"
        return self._process
