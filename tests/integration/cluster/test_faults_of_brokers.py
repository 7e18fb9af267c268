"""Brokers that go and come back under a group of workers."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    Pair,
    TopicReader,
    await_true,
    settled_call,
)
from tests.rest_calls import call

pytestmark = pytest.mark.nightly

GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
}
GIVEN_UP = "to avoid running tasks while not being a member the group"
RECOVERY_SECONDS = 60.0


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker of this module alone."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker"), 0, heap="512m") as broker:
        yield broker


@pytest.fixture(scope="module")
def workers(own: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    props = group_properties(own.bootstrap_servers, "faults-", **GROUP)
    with Pair(props, tmp_path_factory.mktemp("workers")) as pair:
        yield pair


@pytest.fixture
def pair(own: EmbeddedBroker, workers: Pair) -> Iterator[Pair]:
    """Two workers without connectors."""
    yield workers
    if own.pid is None:
        own.start()
    workers.delete_all()


@pytest.fixture
def files(tmp_path: Path, topic_prefix: str) -> LineFiles:
    return LineFiles(tmp_path, topic_prefix, 6)


def test_a_broker_that_restarts_costs_no_line(own: EmbeddedBroker, pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    own.kill()
    files.grow()
    own.start()
    pair.await_running(files, seconds=RECOVERY_SECONDS)
    files.grow()
    with TopicReader(own.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)


def test_brokers_that_are_away_for_long_end_the_work_until_they_are_back(
    own: EmbeddedBroker, pair: Pair, files: LineFiles
) -> None:
    pair.create(files)
    before = [worker.log().count(GIVEN_UP) for worker in pair.workers]
    own.kill()
    await_true(
        lambda: all(worker.log().count(GIVEN_UP) > count for worker, count in zip(pair.workers, before, strict=True)),
        lambda: "both give up",
        20,
    )
    files.grow()
    busy = [busy_seconds(worker) for worker in pair.workers]
    with ThreadPoolExecutor() as pool:
        for answer in pool.map(lambda url: call(url, "GET", "/health"), pair.urls):
            assert answer.status == 500
            assert "ensuring membership in the cluster" in answer.body.decode()
    # It waits for the brokers, and does not run in circles.
    assert all(busy_seconds(worker) - before < 5.0 for worker, before in zip(pair.workers, busy, strict=True))
    own.start()
    pair.await_running(files, seconds=RECOVERY_SECONDS)
    for url in pair.urls:
        assert settled_call(url, "GET", "/health").status == 200
    files.grow()
    with TopicReader(own.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)


def busy_seconds(worker: DistributedProcess) -> float:
    """Processor time that a worker has used, without its JVM."""
    times = psutil.Process(worker.pid).cpu_times()
    return float(times.user + times.system)


def test_a_frozen_broker_is_survived(own: EmbeddedBroker, pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    own.pause()
    files.grow()
    time.sleep(10)
    own.resume()
    pair.await_running(files, seconds=RECOVERY_SECONDS)
    files.grow()
    with TopicReader(own.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)


def started_jvm(worker: DistributedProcess) -> psutil.Process:
    """Return the JVM of a worker that is starting."""
    found: list[psutil.Process] = []

    def is_there() -> bool:
        found[:] = [child for child in psutil.Process(worker.pid).children(recursive=True) if is_of_spark(child)]
        return bool(found)

    worker.wait_until(is_there, "start a JVM", 60)
    return found[0]


def is_of_spark(process: psutil.Process) -> bool:
    try:
        return process.name() == "java" and "-version" not in process.cmdline()
    except psutil.NoSuchProcess:  # one that has told its version
        return False


def test_a_worker_that_waits_for_brokers_at_its_start_can_be_stopped(own: EmbeddedBroker, tmp_path: Path) -> None:
    worker = DistributedProcess(group_properties(own.bootstrap_servers, "waiting-", **GROUP), tmp_path / "worker")
    worker.start()
    try:
        # The cluster's id is asked first; then Spark has to be up, and only then are the topics read.
        jvm = started_jvm(worker)
        jvm.suspend()
        worker.wait_log("REST server listening", 60)
        time.sleep(1)
        own.pause()
        jvm.resume()
        worker.wait_log("Herder starting", 120)
        assert call(worker.rest_url, "GET", "/health").status == 503
        assert worker.stop(timeout=30) == 0
    finally:
        worker.stop()
        own.resume()
