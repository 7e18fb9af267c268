"""What fails inside a group: workers that are killed or frozen, connectors and tasks that block or raise.

The others take over, or go on; nobody writes what is not his any more. Without brokers, and for more cases, the same is
shown by `tests/unit/herder/distributed/test_herder.py`.
"""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.distributed_process import group_properties
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    Pair,
    TopicReader,
    as_text,
    await_true,
    put,
    settled_call,
    states_of,
    status_reports,
    statuses,
    took_less_than,
    worker_id,
)
from tests.integration.herder.conftest import PLUGINS, ObedientConnector

pytestmark = pytest.mark.nightly

SESSION_SECONDS, DELAY_SECONDS = 6.0, 2.0
GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
}
# How long a frozen worker may go on once it wakes.
ZOMBIE_SECONDS = 5.0
STOPPED = "Finished stopping tasks in preparation for rebalance"
# What is not held up answers far faster than a stuck connector is given up.
QUICK_SECONDS = 4.0


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("faults")
    prefix = f"{folder.name}-{time.time_ns()}-"
    props = group_properties(broker.bootstrap_servers, prefix, **GROUP, plugin_path=str(PLUGINS))
    with Pair(props, folder) as pair:
        yield pair


@pytest.fixture
def pair(workers: Pair) -> Iterator[Pair]:
    """Two workers without connectors."""
    yield workers
    workers.delete_all()


@pytest.fixture
def files(tmp_path: Path, topic_prefix: str) -> LineFiles:
    return LineFiles(tmp_path, topic_prefix, 6)


def test_a_killed_leader_is_replaced_and_comes_back(pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    victim, other = pair.leader_and_follower()
    victim.kill()
    files.grow()
    pair.await_running(files, other, seconds=SESSION_SECONDS + DELAY_SECONDS + 10)
    with TopicReader(pair.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)
    victim.start()
    victim.wait_ready()
    told = pair.await_running(files)
    assert set(told.load.values()) == {(3, 3)}


def test_a_leader_that_was_frozen_leaves_its_successor_alone(pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    frozen, other = pair.leader_and_follower()
    with (
        TopicReader(pair.bootstrap_servers, files.topic) as lines,
        TopicReader(pair.bootstrap_servers, frozen.props["config.storage.topic"]) as configs,
        TopicReader(pair.bootstrap_servers, frozen.props["status.storage.topic"]) as reports,
        TopicReader(pair.bootstrap_servers, frozen.props["offset.storage.topic"]) as offsets,
    ):
        lines.await_values(files.lines)
        # It has polled these, and committed none of them, when it freezes.
        files.grow(200)
        os.kill(frozen.pid, signal.SIGSTOP)
        frozen_at = time.time()
        pair.await_running(files, other, seconds=SESSION_SECONDS + DELAY_SECONDS + 10)
        lines.await_values(files.lines)
        later = set(files.grow(300))
        lines.await_values(files.lines)
        time.sleep(1.0)
        taken_over = max(
            value["generation"] for _, value, at in status_reports(reports.read_to_end()) if at > frozen_at
        )
        written = len(configs.read_to_end())
        stops = frozen.log().count(STOPPED)

        os.kill(frozen.pid, signal.SIGCONT)
        woken_at = time.monotonic()
        # Asked before it has heard of anything, and after.
        for name in files.names:
            assert frozen.call("PUT", f"/connectors/{name}/resume").status in (202, 409)
        frozen.wait_until(lambda: frozen.log().count(STOPPED) > stops, "stop its tasks", ZOMBIE_SECONDS)
        assert time.monotonic() - woken_at < ZOMBIE_SECONDS
        told = pair.await_running(files)
        assert set(told.load.values()) == {(3, 3)}

        by_zombie = [
            (key, value)
            for key, value, at in status_reports(reports.read_to_end())
            if at > frozen_at + 1 and value["worker_id"] == worker_id(frozen.rest_url)
        ]
        assert by_zombie
        assert min(value["generation"] for _, value in by_zombie) > taken_over
        # Nothing but what it was asked for.
        changed = [as_text(record.key()) for record in configs.read_to_end()[written:]]
        assert all(key.startswith("target-state-") for key in changed), changed
        assert_monotonic(offsets)
        lines.read_to_end()
        assert not set(files.lines) - set(lines.values)
        # Failed: the frozen worker sent what was written meanwhile, before it knew that it was no member any more.
        again = Counter(value for value in lines.values if value in later)
        assert max(again.values()) == 1, f"{again.total() - len(again)} of {len(again)} lines came twice"


def assert_monotonic(offsets: TopicReader) -> None:
    """No offset of a file was ever overwritten by an earlier one."""
    furthest: dict[str, int] = {}
    for record in offsets.read_to_end():
        key, position = as_text(record.key()), json.loads(as_text(record.value()))["position"]
        assert position >= furthest.get(key, 0), (key, position, furthest[key])
        furthest[key] = position


@pytest.fixture
def obedient(pair: Pair, topic_prefix: str, tmp_path: Path) -> Iterator[ObedientConnector]:
    """A connector that obeys orders, asked for through the worker that does not lead."""
    folder = tmp_path / "orders"
    folder.mkdir()
    yield ObedientConnector(pair.leader_and_follower()[1], f"{topic_prefix}obedient", folder)
    for order in folder.glob("block-*"):
        order.unlink()


def test_a_connector_that_blocks_holds_up_nobody(pair: Pair, obedient: ObedientConnector, files: LineFiles) -> None:
    obedient.order("block-start")
    assert obedient.put().status == 201
    obedient.wait_journal("connector start")
    others = files.names[:2]
    files.grow()
    with took_less_than(QUICK_SECONDS):
        for name in others:
            assert put(pair.urls[0], name, files.config(name)).status == 201
        for url in pair.urls:
            assert settled_call(url, "GET", f"/connectors/{obedient.name}").json["tasks"] == []
            assert settled_call(url, "GET", "/health").status == 200
        await_true(lambda: all(states_of(pair.urls[0], name) == ["RUNNING"] * 2 for name in others), lambda: others)
        for url, name in zip(pair.urls, others, strict=True):
            assert settled_call(url, "PUT", f"/connectors/{name}/pause").status == 202
        await_true(lambda: all(states_of(pair.urls[0], name) == ["PAUSED"] * 2 for name in others), lambda: others)
    assert obedient.call("DELETE").status == 204
    await_true(lambda: statuses(pair.urls[0]).keys() == set(others), lambda: statuses(pair.urls[0]))
    abandoned = f"Connector '{obedient.name}' failed to properly shut down, has become unresponsive"
    await_true(lambda: any(abandoned in worker.log() for worker in pair.workers), lambda: abandoned)

    obedient.revoke("block-start")
    obedient.wait_journal("connector stop")
    time.sleep(0.5)
    with TopicReader(pair.bootstrap_servers, obedient.worker.props["config.storage.topic"]) as configs:
        keys = [as_text(record.key()) for record in configs.read_to_end()]
    assert not [key for key in keys if key.startswith((f"task-{obedient.name}-", f"commit-{obedient.name}"))]
    assert obedient.put(task_count="2", tasks_max="2").status == 201
    obedient.wait_states("RUNNING", "RUNNING", "RUNNING")
