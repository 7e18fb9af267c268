"""The worker as a Dagster resource: the files it runs with, and starting it."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import MetadataValue
from pydantic import Field

from connect_dagster.orchestration.interrupts import uninterrupted
from connect_dagster.orchestration.worker_process import WorkerProcess
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

ANSWER_TIMEOUT = 2.0
FAILED_START_GRACE = 10.0


class ConnectWorkerResource(dg.ConfigurableResource[Any]):
    """A standalone Connect worker that Dagster starts as a child process.

    Examples:
        .. code-block:: python

            ConnectWorkerResource(
                workspace=KafkaConnectWorkspace(),
                worker_properties="config/connect-standalone.properties",
                connector_files=["config/local-file-source.properties"],
            )
    """

    workspace: KafkaConnectWorkspace = Field(description="Where the worker answers once it runs.")
    worker_properties: str = Field(description="Worker configuration file, as connect-standalone takes it.")
    connector_files: list[str] = Field(default=[], description="Connectors the worker starts with: properties or JSON.")
    bootstrap_servers: str | None = Field(default=None, description="Takes the place of bootstrap.servers in the file.")
    listener: str | None = Field(default=None, description="Takes the place of listeners in the file.")
    command: list[str] = Field(
        default=[sys.executable, "-m", "connect_dagster.cli.standalone"],
        description="What is run, with the files as arguments; Java's connect-standalone.sh works too.",
    )

    def is_alive(self) -> bool:
        """Whether a worker answers at the address, asked once and for at most two seconds."""
        return self.workspace.get_client(timeout=ANSWER_TIMEOUT).is_alive()

    def start(self, timeout: float = 120.0) -> WorkerProcess:
        """Start the worker and wait until its REST API answers.

        Args:
            timeout: Bound for the wait, in seconds.

        Raises:
            Failure: Something else answers there, or the worker ended or did not answer in time.
        """
        if self.is_alive():
            raise dg.Failure(
                f"Another worker answers at {self.workspace.url} already; stop it or choose another listener."
            )
        with tempfile.TemporaryDirectory(prefix="connect-dagster-") as scratch:
            properties = self._effective_properties(Path(scratch))
            worker = WorkerProcess.spawn([*self.command, str(properties), *self.connector_files])
            try:
                self._await_answer(worker, timeout)
            except BaseException:
                with uninterrupted():
                    worker.stop(FAILED_START_GRACE)
                raise
        return worker

    def _await_answer(self, worker: WorkerProcess, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self.is_alive():
            if worker.wait(0.2):
                raise worker_failure(worker, "The worker ended before its REST API answered")
            if time.monotonic() > deadline:
                raise worker_failure(worker, f"The worker's REST API did not answer within {timeout:g} s")

    def _effective_properties(self, scratch: Path) -> Path:
        """The worker's file, or a copy with the values of this resource appended (the last one counts)."""
        replaced = {"bootstrap.servers": self.bootstrap_servers, "listeners": self.listener}
        lines = [f"{key}={value}" for key, value in replaced.items() if value]
        original = Path(self.worker_properties)
        if not lines:
            return original
        copy = scratch / original.name
        copy.write_text("\n".join([original.read_text(), *lines, ""]))
        return copy


def worker_failure(worker: WorkerProcess, what: str) -> dg.Failure:
    """Failure of a run whose worker is in trouble, with what is needed to see why."""
    return dg.Failure(
        f"{what}: {worker.exit_description()}",
        metadata={
            "pid": MetadataValue.int(worker.pid),
            "exit": MetadataValue.text(worker.exit_description()),
            "last_lines": MetadataValue.md(f"```\n{worker.last_lines()}\n```"),
        },
    )
