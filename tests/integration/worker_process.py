"""A worker of ours as a child process: its command `connect-standalone`, and what tests ask of it."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from connect_dagster.embedded.child_process import end_leashed, start_leashed
from connect_dagster.embedded.ports import HOST, free_port
from tests.rest_calls import Answer, call

COMMAND = Path(sys.executable).with_name("connect-standalone")
POLL_SECONDS = 0.05
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
# A test's worker lives for seconds: what the second compiler gains, its compiling takes twice over.
# Without the second compiler the JVM reserves 48 MB for code, which a worker with many kinds of connectors fills.
QUICK_JVM = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m"}
COMMON_DEFAULTS = {
    "key.converter": JSON_CONVERTER,
    "value.converter": JSON_CONVERTER,
    "offset.flush.interval.ms": "1000",
}


class WorkerProcess:
    """One `connect-standalone`; a context manager that starts it, waits until it is ready, and stops it.

    Args:
        worker_props: the worker's properties; listener, converters and offsets file get values when absent.
        connector_files: files for the command line, see `write_properties`.
        workdir: for the worker's property file, offsets file and log.
        jvm: Spark settings of its JVM; those for a short life by default, so give others to a worker to be measured.
        within: a command that its command is given to, as that of a network namespace.
    """

    command: ClassVar[Path] = COMMAND

    def __init__(
        self,
        worker_props: Mapping[str, str],
        connector_files: Sequence[Path],
        workdir: Path,
        *,
        jvm: Mapping[str, str] = QUICK_JVM,
        within: Sequence[str] = (),
    ) -> None:
        self.workdir = workdir
        self.log_file = workdir / "worker.log"
        self.props = {**self._defaults(), **jvm, **worker_props}
        self.rest_url = reachable(self.props["listeners"].split(",")[0])
        self._files = connector_files
        self._within = within
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; `wait_ready` waits for it."""
        self.workdir.mkdir(parents=True, exist_ok=True)
        worker = write_properties(self.workdir / "worker.properties", self.props)
        with self.log_file.open("ab") as log:
            self._process = start_leashed([*self._within, self.command, worker, *self._files], log=log)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._running().pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._running().poll()

    def wait_ready(self, timeout: float = 150) -> None:
        """Wait until it is healthy and all connectors of its command line were created."""
        self.wait_until(lambda: self._created() >= len(self._files), "be ready", timeout)

    def wait_states(self, connector: str, *states: str, timeout: float = 30) -> dict[str, Any]:
        """Wait until the connector and its tasks report these states, in this order; answers the status."""
        self.wait_until(lambda: self._states(connector) == list(states), f"show {states}", timeout)
        return dict(self.call("GET", f"/connectors/{connector}/status").json)

    def wait_log(self, text: str, timeout: float = 30) -> None:
        """Wait until the log holds a text."""
        self.wait_until(lambda: text in self.log(), f"log {text!r}", timeout)

    def wait_exit(self, timeout: float = 60) -> int:
        """Wait until it ends by itself; answers the exit code."""
        process = self._running()
        return process.wait(timeout)

    def wait_until(self, condition: Callable[[], bool], aim: str, timeout: float) -> None:
        """Wait for a condition, but not for a worker that has ended.

        Raises:
            AssertionError: it ended or took too long; quotes the log's end.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            ended = self.exit_code is not None
            if ended or time.monotonic() > deadline:
                fate = f"ended with {self.exit_code}" if ended else f"took over {timeout:g} s"
                raise AssertionError(f"The worker did not {aim}: it {fate}\n{self.log()[-6000:]}")
            time.sleep(POLL_SECONDS)

    def call(
        self, method: str, target: str, body: bytes | Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Ask its REST API."""
        return call(self.rest_url, method, target, body, headers)

    def log(self) -> str:
        """All it has logged."""
        return self.log_file.read_text(errors="replace")

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._running().kill()
        self._running().wait()

    def stop(self, timeout: float = 30) -> int:
        """Stop it as Ctrl+C does; answers the exit code. Kills it after `timeout` seconds."""
        return end_leashed(self._running(), timeout)

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the worker was not started"
        return self._process

    def _defaults(self) -> dict[str, str]:
        return COMMON_DEFAULTS | {
            "listeners": f"http://{HOST}:{free_port()}",
            "offset.storage.file.filename": str(self.workdir / "connect.offsets"),
        }

    def _created(self) -> int:
        """How many connectors it has; -1 as long as it is not healthy."""
        try:
            healthy = self.call("GET", "/health").status == 200
            return len(self.call("GET", "/connectors").json) if healthy else -1
        except OSError:
            return -1

    def _states(self, connector: str) -> list[str]:
        answer = self.call("GET", f"/connectors/{connector}/status")
        if answer.status != 200:
            return []
        return [part["state"] for part in (answer.json["connector"], *answer.json["tasks"])]


def write_properties(path: Path, props: Mapping[str, str]) -> Path:
    """Write a property file as a person would, apart from characters that such a file must escape."""
    lines = (f"{key}={value}\n" for key, value in props.items())
    path.write_bytes("".join(lines).replace("\\", "\\\\").encode("ascii", "backslashreplace"))
    return path


def reachable(listener: str) -> str:
    """A URL by which a client on this machine reaches a listener."""
    scheme, _, address = listener.partition("://")
    host, _, port = address.rpartition(":")
    return f"{scheme.lower()}://{HOST if host in ('', '0.0.0.0') else host}:{port}"
