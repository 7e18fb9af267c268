"""A worker of a group under attack by its REST clients: it answers an operator soon, keeps its place, and works on.

What each limit does is shown in `tests/unit/rest`; this is a real worker with a connector, and clients in two
processes beside it on the same cores.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from connect_dagster.kafka.groups import recorded_group
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.answer_times import AnswerTimes
from tests.integration.cluster.group_of_workers import LineFiles, TopicReader, await_running, await_true, put
from tests.integration.cluster.hostile_clients import ATTACKS

pytestmark = [pytest.mark.nightly, pytest.mark.alone]

PREFIX = "hostile-"
GROUP = {"session_timeout_ms": "10000", "heartbeat_interval_ms": "1000", "offset_flush_interval_ms": "300"}
ATTACK_SECONDS = 8.0
LONGEST_SECONDS = 1.0
LINE_SECONDS = 0.2
# Long enough for records that a source reads only now.
DELIVERY_SECONDS = 15.0
# Bodies may take twice 128 MB while they are read.
GROWTH_MEGABYTES = 300


class Attacked:
    """A worker with one connector, whose file grows all the time."""

    def __init__(self, worker: DistributedProcess, files: LineFiles, reader: TopicReader) -> None:
        self.worker = worker
        self.files = files
        self.reader = reader
        self.rss_at_start = self.megabytes
        self._ended = threading.Event()
        self._growing = threading.Thread(target=self._grow, daemon=True)

    def start(self) -> None:
        self._growing.start()

    def stop(self) -> None:
        self._ended.set()
        self._growing.join(10)

    @property
    def megabytes(self) -> int:
        """Memory of the worker, without its JVM."""
        return int(psutil.Process(self.worker.pid).memory_info().rss) >> 20

    @property
    def busy_seconds(self) -> float:
        """Processor time of the worker, without its JVM."""
        times = psutil.Process(self.worker.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def descriptors(self) -> int:
        """Open files and sockets of the worker."""
        return int(psutil.Process(self.worker.pid).num_fds())

    @property
    def membership(self) -> tuple[int, list[str]]:
        """Generation and members of the group, which differ after each rebalance."""
        group = recorded_group(self.reader_servers, f"{PREFIX}group")
        return group.generation, [member.member_id for member in group.members]

    @property
    def reader_servers(self) -> str:
        return self.worker.props["bootstrap.servers"]

    def _grow(self) -> None:
        while not self._ended.wait(LINE_SECONDS):
            self.files.grow(1)


@pytest.fixture(scope="module")
def attacked(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("hostile")
    files = LineFiles(folder, PREFIX, 1)
    props = group_properties(broker.bootstrap_servers, PREFIX, **GROUP)
    with (
        DistributedProcess(props, folder / "worker") as worker,
        TopicReader(broker.bootstrap_servers, files.topic) as reader,
    ):
        files.grow()
        assert put(worker.rest_url, files.names[0], files.config(files.names[0])).status == 201
        await_running([worker.rest_url], files.names, files.tasks, [worker.rest_url])
        reader.await_values(files.lines)
        made = Attacked(worker, files, reader)
        made.start()
        yield made
        made.stop()


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_operator_is_answered_and_the_work_goes_on(attacked: Attacked, attack: str) -> None:
    worker, files = attacked.worker, attacked.files
    before, descriptors, megabytes = attacked.membership, attacked.descriptors, attacked.megabytes
    logged = len(worker.log())
    lines, busy = len(files.lines), attacked.busy_seconds
    with AnswerTimes(worker.rest_url) as times:
        done = _attack(attack, worker.rest_url)
    attacked.reader.await_values(files.lines, DELIVERY_SECONDS)
    after = attacked.megabytes
    sys.stdout.write(
        f"\n{attack}: GET /: {times}; CPU {attacked.busy_seconds - busy:.1f} s; RSS {megabytes} -> {after} MB; "
        f"{len(files.lines) - lines} lines; {worker.log()[logged:].count(chr(10))} lines of log; "
        f"load {os.getloadavg()[0]:.1f}; clients: {done}\n"
    )
    times.check(LONGEST_SECONDS)
    assert attacked.membership == before, "the group has rebalanced"
    worker.wait_states(files.names[0], "RUNNING", "RUNNING")
    await_true(lambda: attacked.descriptors <= descriptors, lambda: (attacked.descriptors, descriptors), 30)
    assert after - attacked.rss_at_start < GROWTH_MEGABYTES


def _attack(name: str, url: str) -> list[str]:
    """Play an attack by two processes; return what each counted."""
    parts = urlsplit(url)
    words = [sys.executable, "-m", "tests.integration.cluster.hostile_clients", name, str(parts.hostname)]
    words += [str(parts.port), str(ATTACK_SECONDS)]
    root = Path(__file__).parents[3]
    began = time.monotonic()
    clients = [subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        counted = [client.communicate(timeout=ATTACK_SECONDS + 30)[0].strip() for client in clients]
    finally:
        for client in clients:
            client.kill()
    assert time.monotonic() - began >= ATTACK_SECONDS
    assert [client.returncode for client in clients] == [0, 0]
    return counted
