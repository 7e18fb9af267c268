"""Apache Kafka Connect for Java as a process beside us, and its standalone worker: for conformance and benchmarks."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import quote

import requests

from connect_dagster.embedded.broker_config import FAST_START, jvm_options
from connect_dagster.embedded.child_process import end_leashed, start_leashed
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.embedded.ports import HOST, free_port

POLL_SECONDS = 0.05
PLUGIN_JAR = "connect-file"


class JavaProcess:
    """One process of Kafka Connect for Java, with its property file.

    Args:
        props: the file's properties.
        workdir: for the property files and the log.
        heap: the JVM's maximum, as in `-Xmx`.
        jvm: more JVM options; those for a fast start by default, so give others to a process to be measured.
        jars: more jars for its class path.
        within: a command that its command is given to, as that of a network namespace.
    """

    main: ClassVar[str]

    def __init__(
        self,
        props: Mapping[str, str],
        workdir: Path,
        *,
        heap: str = "1g",
        jvm: tuple[str, ...] = FAST_START,
        jars: Sequence[Path] = (),
        within: Sequence[str] = (),
    ) -> None:
        self.workdir = workdir
        self.log_file = workdir / "java-connect.log"
        self.props = dict(props)
        self._options = jvm_options(heap, jvm)
        self._jars = jars
        self._within = within
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The JVM's process id; fails before `start`."""
        return self._running().pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._running().poll()

    def start(self) -> None:
        """Start the process, without waiting for anything."""
        self.workdir.mkdir(parents=True, exist_ok=True)
        arguments = self._arguments()
        # The file connectors are a plugin, as in the distribution; all else is the worker's class path.
        jars = [*(jar for jar in resolve("java-connect") if not _is_plugin(jar)), *self._jars]
        class_path = os.pathsep.join(map(str, jars))
        with self.log_file.open("ab") as log:
            command: list[str | Path] = [*self._within, find_java(), *self._options, "-cp", class_path, self.main]
            self._process = start_leashed([*command, *arguments], log=log)

    def stop(self, timeout: float = 10) -> None:
        """Stop the process; one that hangs for `timeout` seconds is killed."""
        process, self._process = self._process, None
        if process is not None:
            end_leashed(process, timeout)

    def kill(self) -> None:
        """End the process by SIGKILL."""
        self._running().kill()
        self._running().wait()

    def log(self) -> str:
        """All the process has logged."""
        return self.log_file.read_text(errors="replace")

    def _arguments(self) -> list[str | Path]:
        """The arguments of its command; writes the files that they name."""
        raise NotImplementedError

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("Java Connect is not running")
        return self._process

    def _write(self, name: str, props: Mapping[str, str]) -> Path:
        path = self.workdir / name
        path.write_text("".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in props.items()))
        return path


class JavaWorker(JavaProcess):
    """One worker of Kafka Connect for Java; a context manager that starts, waits and stops.

    Args:
        worker_props: the worker's properties; `listeners` and `plugin.path` get usable values when absent.
        workdir: see `JavaProcess`.
        heap: see `JavaProcess`.
        jvm: see `JavaProcess`.
        jars: see `JavaProcess`.
        within: see `JavaProcess`.
    """

    def __init__(
        self,
        worker_props: Mapping[str, str],
        workdir: Path,
        *,
        heap: str = "1g",
        jvm: tuple[str, ...] = FAST_START,
        jars: Sequence[Path] = (),
        within: Sequence[str] = (),
    ) -> None:
        props = self._defaults() | dict(worker_props)
        super().__init__(props, workdir, heap=heap, jvm=jvm, jars=jars, within=within)
        self.rest_url = self.props["listeners"].split(",")[0]

    def wait_ready(self, timeout: float = 180) -> None:
        """Wait until it is ready to be used.

        Raises:
            TimeoutError: that took longer than `timeout` seconds; quotes the log's end.
            RuntimeError: the process ended; quotes the log's end.
        """
        deadline = time.monotonic() + timeout
        while not self._is_ready():
            if self._running().poll() is not None:
                raise RuntimeError(f"Java Connect ended by itself:\n{self.log()[-4000:]}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"Java Connect is not ready after {timeout:g} s:\n{self.log()[-4000:]}")
            time.sleep(POLL_SECONDS)

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

    def _is_ready(self) -> bool:
        raise NotImplementedError

    def _arguments(self) -> list[str | Path]:
        return [self._write("worker.properties", self.props), *self._connector_files()]

    def _connector_files(self) -> list[Path]:
        return []

    def _defaults(self) -> dict[str, str]:
        plugins = ",".join(str(jar) for jar in resolve("java-connect") if _is_plugin(jar))
        return {"listeners": f"http://{HOST}:{free_port()}", "plugin.path": plugins}


class JavaStandalone(JavaWorker):
    """One `ConnectStandalone` worker with its connectors.

    Args:
        worker_props: see `JavaWorker`; `bootstrap.servers` and the converters are the caller's,
            `offset.storage.file.filename` gets a usable value when absent.
        connector_props: the properties of each connector, in the order of the command line.
        workdir: for the property files, the offsets file and the log.
        heap: see `JavaWorker`.
        jvm: see `JavaWorker`.
        jars: see `JavaWorker`.
    """

    main = "org.apache.kafka.connect.cli.ConnectStandalone"

    def __init__(
        self,
        worker_props: Mapping[str, str],
        connector_props: Sequence[Mapping[str, str]],
        workdir: Path,
        *,
        heap: str = "1g",
        jvm: tuple[str, ...] = FAST_START,
        jars: Sequence[Path] = (),
    ) -> None:
        self.offsets_file = Path(worker_props.get("offset.storage.file.filename", workdir / "java-connect.offsets"))
        props = {"offset.storage.file.filename": str(self.offsets_file)} | dict(worker_props)
        super().__init__(props, workdir, heap=heap, jvm=jvm, jars=jars)
        self._connectors = connector_props

    def stop(self, timeout: float = 10) -> None:
        """Stop the connectors, which flushes their offsets, then the process.

        Now and then 4.3.1's two shutdown hooks stop its web server at once and block each other, before
        the tasks are stopped. So the connectors are stopped over REST first, and a process that hangs for
        `timeout` seconds is killed.
        """
        if self._process is not None:
            self._stop_connectors(timeout)
        super().stop(timeout)

    def statuses(self) -> dict[str, Any]:
        """What `GET /connectors?expand=status` answers."""
        answer = requests.get(f"{self.rest_url}/connectors?expand=status", timeout=5)
        answer.raise_for_status()
        return dict(answer.json())

    def _connector_files(self) -> list[Path]:
        return [self._write(f"{props['name']}.properties", props) for props in self._connectors]

    def _is_ready(self) -> bool:
        """Whether every given connector has a status with at least one task, whatever its state."""
        try:
            statuses = self.statuses()
        except requests.RequestException:
            return False
        names = [props["name"] for props in self._connectors]
        return all(name in statuses and statuses[name]["status"]["tasks"] for name in names)

    def _stop_connectors(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        with suppress(requests.RequestException):  # a worker that answers no more has nothing left to stop
            for name in self.statuses():
                requests.put(f"{self.rest_url}/connectors/{quote(name, safe='')}/stop", timeout=timeout)
            while any(entry["status"]["tasks"] for entry in self.statuses().values()):
                if time.monotonic() > deadline:
                    return
                time.sleep(POLL_SECONDS)


def _is_plugin(jar: Path) -> bool:
    return jar.name.startswith(PLUGIN_JAR)


def _escaped(text: str) -> str:
    """Text for a property file, which Java reads as Latin-1 with Unicode escapes."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2]) for i in range(0, len(units), 2))
    return "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)
