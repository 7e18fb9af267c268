"""A live `dagster dev` that hosts real workers, and all processes of both: for tests that end them in every way."""

import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.scheduler.instigation import TickStatus
from dagster_graphql import DagsterGraphQLClient

from connect_dagster.client.types import State
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.orchestration import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.dagster_dev import DagsterDev
from connect_dagster.orchestration.workers.job import WORKER_ID_TAG, WORKER_JOB
from tests.integration.worker_process import COMMON_DEFAULTS, QUICK_JVM, write_properties
from tests.shipped_project import ROOT, wait_until

WORKER_ID = "hosted"
CONNECTOR = "hosted-source"
UNFINISHED = (DagsterRunStatus.QUEUED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the project."""

    pid: int
    session: int
    command: str


class HostedProject:
    """A Dagster that hosts workers; a context manager that leaves no process behind.

    Args:
        folder: For all of its files.
        module: What Dagster loads.
        environment: Variables that the module reads.
    """

    def __init__(self, folder: Path, module: str, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._home = folder / "dagster"
        self._home.mkdir(parents=True)
        shutil.copy(ROOT / "dagster.yaml", self._home)
        self._environment = {**environment, "PYTHONPATH": str(ROOT)}
        self._workspace = folder / "workspace.yaml"
        self._workspace.write_text(
            f"load_from:\n  - python_module:\n      module_name: {module}\n      working_directory: {ROOT}\n"
        )

    def __enter__(self) -> Self:
        with ExitStack() as stack:  # one that did not come up in time would load the machine from here on
            stack.callback(self._end)
            self.start_dagster()
            self.instance = stack.enter_context(DagsterInstance.from_config(str(self._home)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end(self) -> None:
        self.dagster.stop()
        for process in self.processes():
            os.kill(process.pid, signal.SIGKILL)

    def start_dagster(self) -> None:
        """Start `dagster dev`, the first one or one after the other."""
        self.dagster = DagsterDev(self._home, self._workspace, free_port(), self._environment)
        self.dagster.start()
        self.dagster.wait_ready()

    def newest_run(self, worker_id: str) -> str | None:
        """Id of the newest run that hosts a worker; None while there is none."""
        found = self.instance.get_run_records(RunsFilter(tags={WORKER_ID_TAG: worker_id}), limit=1)
        return found[0].dagster_run.run_id if found else None

    def unfinished_runs(self) -> list[str]:
        """Ids of the runs that are not over."""
        records = self.instance.get_run_records()
        return [record.dagster_run.run_id for record in records if record.dagster_run.status in UNFINISHED]

    def status(self, run_id: str) -> DagsterRunStatus:
        """What a run is now."""
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def await_status(self, run_id: str, status: DagsterRunStatus, seconds: float = 90) -> None:
        """Wait until a run has a status."""
        wait_until(lambda: self.status(run_id) is status, f"see {status}, which is {self.status(run_id)}", seconds)

    def observed(self, worker_id: str) -> dict[str, Any]:
        """Metadata of the last observation that its run made of a worker; empty without one."""
        return next((told for told in self.observations(worker_id) if "worker_running" in told), {})

    def observations(self, worker_id: str) -> list[dict[str, Any]]:
        """Metadata of all observations of a worker's asset, the newest first."""
        records = self.instance.fetch_observations(worker_key(worker_id), limit=100).records
        found = [record.asset_observation for record in records]
        return [{name: entry.value for name, entry in one.metadata.items()} for one in found if one is not None]

    def last_skip(self) -> str:
        """Why the keep-alive sensor launched nothing at its last tick; empty when it did, or has not looked yet."""
        for state in self.instance.all_instigator_state():
            if state.instigator_name == f"{WORKER_JOB}__keepalive_sensor":
                ticks = self.instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=5)
                over = [tick for tick in ticks if tick.status is not TickStatus.STARTED]
                return (over[0].skip_reason or "") if over else ""
        return ""

    def ui(self) -> DagsterGraphQLClient:
        """What the UI's buttons call."""
        host, _, port = self.dagster.url.removeprefix("http://").partition(":")
        return DagsterGraphQLClient(host, port_number=int(port))

    # Processes

    def processes(self) -> list[Process]:
        """All processes of Dagster, of the worker, and of what they started."""
        found = list(_all_processes())
        mine = {process.pid for process in found if str(self.folder) in _told(process)}
        sessions = {process.session for process in found if process.pid in mine}
        return [process for process in found if process.session in sessions and process.pid != os.getpid()]

    def await_no_process(self, seconds: float = 40) -> None:
        """Wait until none of them runs."""
        deadline = time.monotonic() + seconds
        while left := self.processes():
            assert time.monotonic() < deadline, f"left behind: {left}"
            time.sleep(0.2)


class StandaloneProject(HostedProject):
    """A Dagster that hosts one standalone worker with one connector.

    Args:
        folder: For all of its files.
        bootstrap_servers: The broker.
        prefix: Of the topic's name.
    """

    def __init__(self, folder: Path, bootstrap_servers: str, prefix: str) -> None:
        self.worker_properties = folder / "worker.properties"
        url = f"http://{HOST}:{free_port()}"
        self.client = KafkaConnectClient(url, timeout=5.0)
        worker = {
            **COMMON_DEFAULTS,
            **QUICK_JVM,
            "bootstrap.servers": bootstrap_servers,
            "listeners": url,
            "offset.storage.file.filename": str(folder / "offsets"),
        }
        source = {
            "name": CONNECTOR,
            "connector.class": "FileStreamSource",
            "file": str(folder / "lines.txt"),
            "topic": f"{prefix}lines",
        }
        environment = {
            "HOSTED_WORKER_URL": url,
            "HOSTED_WORKER_PROPERTIES": str(write_properties(self.worker_properties, worker)),
            "HOSTED_CONNECTOR": str(write_properties(folder / "source.properties", source)),
        }
        (folder / "lines.txt").write_text("one line\n")
        super().__init__(folder, "tests.integration.orchestration.hosted_worker", environment)

    def await_new_life(self, *former: str) -> str:
        """Wait until the connector runs in a run that is none of the former ones; answers the run's id."""
        wait_until(lambda: self.newest_run(WORKER_ID) not in (None, *former), "see a new run", 60)
        run_id = self.newest_run(WORKER_ID)
        assert run_id is not None
        wait_until(
            lambda: self._runs() and self.observed(WORKER_ID).get("worker_running") == 1, "see the worker run", 90
        )
        return run_id

    def workers(self) -> list[Process]:
        """Processes that are workers; there shall be one at most."""
        return [process for process in self.processes() if process.command.startswith("ConnectStandalone")]

    def run_process(self) -> Process:
        """The process of the run that hosts the worker, which is the worker's parent."""
        (worker,) = self.workers()
        parent = int(_stat(worker.pid)[1])
        return next(process for process in self.processes() if process.pid == parent)

    def _runs(self) -> bool:
        try:
            return self.client.status(CONNECTOR).has_reached(State.RUNNING)
        except KafkaConnectError:
            return False


def _all_processes() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            pid = int(folder.name)
            state, _, _, session, *_ = _stat(pid)
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        if state != "Z":
            yield Process(pid, int(session), command)


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _told(process: Process) -> str:
    """Command line and environment, of which one names the project's folder."""
    try:
        return process.command + Path(f"/proc/{process.pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return process.command
