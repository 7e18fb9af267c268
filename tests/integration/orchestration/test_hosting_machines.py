"""Workers of one group on two machines: each has a code server, which starts the runs of its code location."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRunStatus

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.ports import HOST, free_port
from tests.integration.cluster.network import CutOffNetwork
from tests.integration.orchestration.hosted_project import HostedProject
from tests.shipped_project import ROOT, wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]

MODULE = "tests.integration.orchestration.hosted_machine"
CODE_PORT, REST_PORT = 4266, 8083
START_SECONDS = 180


class Machine:
    """A network namespace with a code server in it, whose worker listens at the namespace's address."""

    def __init__(self, name: str, network: CutOffNetwork) -> None:
        self.name = name
        self.network = network
        self.url = f"http://{network.there}:{REST_PORT}"
        self.client = KafkaConnectClient(self.url, timeout=5.0)

    def serve(self, folder: Path, servers: str, prefix: str) -> "subprocess.Popen[bytes]":
        """Start the code server."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DAGSTER_HOME": str(folder / "dagster"),
            "MACHINE_NAME": self.name,
            "MACHINE_URL": self.url,
            "MACHINE_SERVERS": servers,
            "MACHINE_PREFIX": prefix,
            "MACHINE_HAS_GROUP": "1" if self.name == "first" else "0",
        }
        program = Path(sys.executable).with_name("dagster")
        where = ("-h", self.network.there, "-p", str(CODE_PORT))
        command = self.network.command(program, "api", "grpc", *where, "-m", MODULE, "--location-name", self.name)
        with (folder / f"{self.name}.log").open("wb") as log:
            return start_leashed(command, log=log, env=environment, cwd=folder)

    def responds(self) -> bool:
        """Return whether its worker responds; no process elsewhere can have the address."""
        try:
            self.client.connectors()
        except KafkaConnectError:
            return False
        return True


class TwoMachines(HostedProject):
    """A Dagster on this side, whose code locations are served by machines."""

    def __init__(self, folder: Path, machines: Sequence[Machine]) -> None:
        super().__init__(folder, MODULE, {})
        lines = (
            f"  - grpc_server: {{host: {one.network.there}, port: {CODE_PORT}, location_name: {one.name}}}\n"
            for one in machines
        )
        self._workspace.write_text("load_from:\n" + "".join(lines))
        # Of two processes that make the tables of one SQLite file, one fails.
        with DagsterInstance.from_config(str(self._home)):
            pass

    def workers_of(self, machine: Machine) -> list[int]:
        """Ids of the processes that are workers of a machine."""
        inside = machine.network.processes()
        return [one.pid for one in self.processes() if one.pid in inside and one.command.startswith("ConnectDistr")]


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    net = f"10.232.{os.getpid() % 256}"
    with CutOffNetwork("cdone", net) as one, CutOffNetwork("cdtwo", net, beside=one) as two:
        yield [Machine("first", one), Machine("second", two)]


@pytest.fixture
def servers(machines: list[Machine], tmp_path: Path) -> Iterator[str]:
    """Address of a broker for both machines."""
    port, bridge, controller = free_port(), free_port(), free_port()
    here = machines[0].network.here
    clients = f"PLAINTEXT://{HOST}:{port},BRIDGE://{here}:{bridge}"
    settings = {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BRIDGE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
    }
    with EmbeddedBroker(tmp_path / "broker", port, heap="512m", settings=settings):
        yield f"{here}:{bridge}"


def test_runs_go_to_the_machine_of_their_code_location(machines: list[Machine], servers: str, tmp_path: Path) -> None:
    folder, prefix = tmp_path / "project", f"machines-{uuid.uuid4().hex[:8]}-"
    project = TwoMachines(folder, machines)
    with ExitStack() as stack:
        for machine in machines:
            code = machine.serve(folder, servers, prefix)
            stack.callback(code.wait, 30)
            stack.callback(code.terminate)
        with project:
            for machine in machines:
                wait_until(machine.responds, f"respond from {machine.name}", START_SECONDS)
            first, second = machines
            for name in ("a", "b"):
                (folder / f"{name}.txt").write_text("line\n")
                config = {
                    "connector.class": "FileStreamSource",
                    "file": str(folder / f"{name}.txt"),
                    "topic": f"{prefix}t",
                }
                whole = {"name": name, **config}
                wait_until(lambda whole=whole: created(first.client, whole), "create a connector", START_SECONDS)  # type: ignore[misc]
            wait_until(lambda: shared(machines) == [2, 2], "share the work", START_SECONDS)

            lost = project.newest_run("second")
            assert lost is not None
            (worker,) = project.workers_of(second)
            os.kill(worker, signal.SIGKILL)
            project.await_status(lost, DagsterRunStatus.FAILURE)
            wait_until(lambda: project.newest_run("second") != lost, "start another run", START_SECONDS)
            wait_until(second.responds, "respond again", START_SECONDS)
            assert len(project.workers_of(second)) == 1
            assert first.responds()


def shared(machines: Sequence[Machine]) -> list[int]:
    """The number of running connectors and tasks on each machine."""
    try:
        statuses = [connector.status for connector in machines[0].client.connectors().values()]
    except KafkaConnectError:  # while the group forms
        return []
    parts = [part for status in statuses for part in (status.connector, *status.tasks) if part.state is State.RUNNING]
    return [sum(part.worker_id == f"{one.network.there}:{REST_PORT}" for part in parts) for one in machines]


def created(client: KafkaConnectClient, config: Mapping[str, str]) -> bool:
    """Return whether a connector was created; a rebalance may refuse it for longer than the client retries."""
    try:
        client.create(config, "RUNNING")
    except KafkaConnectError:
        return False
    return True
