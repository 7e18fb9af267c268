"""A standalone cluster of Spark on this machine: a master and workers from PySpark's own jars, as processes."""

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyspark
import requests

from connect_dagster.embedded.child_process import end_leashed, start_leashed
from connect_dagster.embedded.java import find_java
from connect_dagster.embedded.ports import HOST, free_port

_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1
_EXECUTOR = "CoarseGrainedExecutorBackend"
_MEMORY = "1g"


class SparkCluster:
    """A context manager that starts a cluster and waits until all its workers are there.

    Args:
        folder: for logs and the files of executors.
        workers: number of workers, each with one core.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self._stack = ExitStack()
        self._ports = free_port(), free_port()
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """Return the value for ``spark.master``."""
        return f"spark://{HOST}:{self._ports[0]}"

    def executors(self) -> list[psutil.Process]:
        """Return the processes of executors."""
        families = (psutil.Process(worker.pid).children(recursive=True) for worker in self.workers if _lives(worker))
        return [one for family in families for one in family if _is_executor(one)]

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        port, web_port = self._ports
        master = ["--host", HOST, "--port", str(port), "--webui-port", str(web_port)]
        try:
            self._start("master", [f"{_DEPLOY}.master.Master", *master])
            for number in range(self._count):
                self.workers.append(self.start_worker(number))
            self._wait_for_workers()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start_worker(self, number: int) -> "subprocess.Popen[bytes]":
        """Start a worker, without waiting for it."""
        folder = self._folder / f"worker-{number}"
        own = ["--host", HOST, "--cores", "1", "--memory", _MEMORY, "--work-dir", str(folder), "--webui-port", "0"]
        return self._start(f"worker-{number}", [f"{_DEPLOY}.worker.Worker", *own, self.url])

    def kill_worker(self, number: int) -> None:
        """End a worker and its executors, and start another one in its place."""
        worker = self.workers[number]
        for process in psutil.Process(worker.pid).children(recursive=True):
            with suppress(psutil.Error):
                process.kill()
        worker.kill()
        worker.wait()
        self.workers[number] = self.start_worker(number)

    def log(self) -> str:
        """Return all logs, those of executors included."""
        return "\n".join(
            f"{file}:\n{file.read_text(errors='replace')}" for file in self._folder.rglob("*") if _is_log(file)
        )

    def _start(self, name: str, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        java = find_java().resolve().parents[1]
        own = {"JAVA_HOME": str(java), "SPARK_HOME": str(_HOME), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST}
        with (self._folder / f"{name}.log").open("ab") as log:
            process = start_leashed([_HOME / "bin" / "spark-class", *words], log=log, env={**os.environ, **own})
        self._stack.callback(end_leashed, process, 10)
        return process

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while (found := self._alive()) < self._count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{found} of {self._count} workers of Spark are there\n{self.log()[-4000:]}")
            time.sleep(_POLL_SECONDS)

    def _alive(self) -> int:
        try:
            return int(requests.get(f"http://{HOST}:{self._ports[1]}/json/", timeout=5).json()["aliveworkers"])
        except requests.RequestException:
            return 0


def _lives(process: "subprocess.Popen[bytes]") -> bool:
    return process.poll() is None


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return any(_EXECUTOR in word for word in process.cmdline())
    return False


def _is_log(file: Path) -> bool:
    return file.is_file() and (file.suffix == ".log" or file.name in ("stdout", "stderr"))
