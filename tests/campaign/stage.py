"""The processes of one act: a broker, workers, a database, flows that never rest, a network, a small disk."""

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from tests.campaign.flows import PARTITIONS, FileFlow, Flow, JdbcFlow, PluginFlow
from tests.campaign.group import Group, Member, orphans, temporary_entries
from tests.campaign.schedule import Act
from tests.conformance.java_cluster import JavaDistributed
from tests.databases import MariaDB
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.network import CutOffNetwork

ROOT = os.geteuid() == 0 and shutil.which("ip") is not None
"""Whether networks and small disks can be made."""
MARK = "CONNECT_DAGSTER_CAMPAIGN"
# Each write is a batch of a source and one of a sink: more of them a second keep a machine with several groups busy.
RATE, WRITE_SECONDS = 200, 0.25
DISK_BYTES = 256 << 20
_ADMIN: dict[str, str | int | float] = {"reconnect.backoff.max.ms": 500, "log_level": 0}
ADMIN_SECONDS = 30.0
INTERNAL_TOPICS = tuple(f"campaign-{kind}s" for kind in ("config", "offset", "status"))
_PLUGINS = Path(__file__).with_name("plugins")
_MEMORY_FOLDER = Path("/dev/shm")
_GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "1000",
    "consumer_session_timeout_ms": "6000",
    "consumer_heartbeat_interval_ms": "1000",
    "consumer_metadata_max_age_ms": "2000",
    "producer_metadata_max_age_ms": "2000",
}
_BROKER = {
    # A topic that is away stays away until it is made.
    "auto.create.topics.enable": "false",
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
}
# Both must deal a sink's partitions alike.
_MIXED = {"consumer.partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}


class Stage:
    """Everything that runs in an act; a context manager.

    Args:
        folder: for files and logs.
        act: the act.
        java: whether all workers are Java's.
    """

    def __init__(self, folder: Path, act: Act, *, java: bool) -> None:
        self.folder = folder
        self.act = act
        self.flows: list[Flow] = []
        self.group = Group([])
        self.network: CutOffNetwork | None = None
        self.database: MariaDB | None = None
        self.disk = folder / "disk"
        self.changes = 0
        self._java = java
        self._temporary = folder / "temporary"
        self._stack = ExitStack()
        self._ending = threading.Event()
        self._mark = f"{MARK}={folder}"
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._temporary.mkdir(parents=True)
            self.disk.mkdir()
            os.environ[MARK] = str(self.folder)
            if ROOT:
                self._mount(stack)
            if self.act.network:
                self.network = stack.enter_context(
                    CutOffNetwork(f"cd{os.getpid() % 100_000}", f"10.233.{os.getpid() % 256}")
                )
            self.broker = stack.enter_context(self._broker())
            self.admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers, **_ADMIN})
            self.flows = self._made_flows(stack)
            self.group = Group([self._member(place) for place in range(self.act.workers)])
            stack.callback(self.group.stop)
            self.group.start()
            self._create_connectors()
            writer = threading.Thread(target=self._write, name="writer", daemon=True)
            writer.start()
            stack.callback(writer.join)
            stack.callback(self._ending.set)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def names(self) -> list[str]:
        """Return the names of all connectors."""
        return [name for flow in self.flows for name in (flow.source, flow.sink)]

    def flow(self, name: str) -> Flow:
        """Return a flow by its name."""
        return next(flow for flow in self.flows if flow.name == name)

    def look(self) -> None:
        """Record the arrivals of all flows.

        Raises:
            RuntimeError: the writer has failed.
        """
        if self._error is not None:
            raise RuntimeError(f"the writer ended: {self._error!r}") from self._error
        for flow in self.flows:
            flow.look()

    def restore(self) -> None:
        """Bring back everything that a fault which ended early has taken away."""
        if self.network is not None:
            self.network.heal()
        if self.broker.pid is None:
            self.broker.start()
        self.broker.resume()
        if self.database is not None and not self.database.runs:
            self.database.start()
        self.group.start_missing()

    def temporary(self) -> int:
        """Return the number of temporary files and folders of the workers of this act."""
        pids = [pid for member in self.group.members for pid in member.pids]
        shared = [entry for pid in pids for entry in temporary_entries(_MEMORY_FOLDER, f"*-{pid}-*")]
        return len(temporary_entries(self._temporary)) + len(shared)

    def orphans(self) -> int:
        """Return the number of processes that no part of the stage has any more."""
        known = [os.getpid(), *(member.process.pid for member in self.group.members if member.runs)]
        return len(orphans(self._mark, known))

    def _mount(self, stack: ExitStack) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", self.disk], check=True)
        stack.callback(lambda: subprocess.run(["umount", "--lazy", self.disk], check=False))

    def _broker(self) -> EmbeddedBroker:
        settings = dict(_BROKER)
        port = 0
        if self.network is not None:
            port, bridge, controller = free_port(), free_port(), free_port()
            clients = f"PLAINTEXT://{HOST}:{port},BRIDGE://{self.network.here}:{bridge}"
            settings |= {
                "listeners": f"{clients},CONTROLLER://{HOST}:{controller}",
                "advertised.listeners": clients,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BRIDGE:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.quorum.voters": f"1@{HOST}:{controller}",
            }
            self._far_servers = f"{self.network.here}:{bridge}"
        return EmbeddedBroker(self.folder / "broker", port, heap="512m", settings=settings, startup_seconds=180)

    def _made_flows(self, stack: ExitStack) -> list[Flow]:
        source_files = self.folder / "files"
        source_files.mkdir()
        makers: dict[str, Callable[[], Flow]] = {
            "file": lambda: FileFlow(source_files, self.disk),
            "jdbc": lambda: JdbcFlow(self._database(stack).new_database("campaign")),
            "plugin": lambda: PluginFlow(source_files, self.disk),
        }
        flows = [makers[name]() for name in self.act.flows]
        made = self.admin.create_topics([NewTopic(flow.topic, PARTITIONS, 1) for flow in flows])
        for future in made.values():
            future.result(ADMIN_SECONDS)
        for flow in flows:
            flow.follow(self.broker.bootstrap_servers)
            stack.callback(flow.close)
        return flows

    def _database(self, stack: ExitStack) -> MariaDB:
        # A short path, for the sake of its socket.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="campaign-", dir="/tmp")))
        self.database = stack.enter_context(MariaDB(folder))
        return self.database

    def _member(self, place: int) -> Member:
        props = group_properties(self.broker.bootstrap_servers, "campaign-", **_GROUP)
        within: list[str] = []
        if self.network is not None:
            # Workers on this side need addresses that the far side reaches.
            props["listeners"] = f"http://{self.network.here}:{free_port()}"
            if place == 0:
                props |= {
                    "bootstrap.servers": self._far_servers,
                    "listeners": f"http://{self.network.there}:{free_port()}",
                }
                within = self.network.command()
        folder = self.folder / f"worker-{place}"
        if self.act.mixed:
            props |= _MIXED
        if self._java or (self.act.mixed and place == self.act.workers - 1):
            return Member(JavaDistributed(props, folder, within=within), place)
        props["plugin.path"] = str(_PLUGINS)
        return Member(DistributedProcess(props, folder, within=["env", f"TMPDIR={self._temporary}", *within]), place)

    def _create_connectors(self) -> None:
        for flow in self.flows:
            for name, config in flow.configs().items():
                self.group.ask("PUT", f"/connectors/{name}/config", config)

    def _write(self) -> None:
        """Write to all flows at a steady rate until the act ends."""
        following = time.monotonic()
        try:
            while not self._ending.is_set():
                for flow in self.flows:
                    flow.write(int(RATE * WRITE_SECONDS))
                following = max(following + WRITE_SECONDS, time.monotonic() - 1)
                self._ending.wait(following - time.monotonic())
        except BaseException as error:
            self._error = error
