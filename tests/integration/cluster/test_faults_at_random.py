"""Two workers that are asked and frozen at random: whatever the order, all comes to what was asked last."""

import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.distributed_process import group_properties
from tests.integration.cluster.group_of_workers import LineFiles, Pair, TopicReader, put, settled_call

SECONDS = 60.0
CONNECTORS, USERS = 12, 4
# Some shorter than the session, some longer.
FREEZES = (1.0, 3.0, 8.0, 12.0)
GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "500",
}
CALLS = (
    ("PUT", "/pause"),
    ("PUT", "/resume"),
    ("PUT", "/stop"),
    ("POST", "/restart"),
    ("POST", "/restart?includeTasks=true"),
    ("DELETE", ""),
)
# 404: another call of the same user has deleted it; 409: the group formed all the time.
UNDERSTOOD = {200, 201, 202, 204, 404, 409}


@pytest.mark.soak
@pytest.mark.parametrize("protocol", ["sessioned", "compatible", "eager"])
def test_changes_and_freezes_in_any_order(broker: Broker, topic_prefix: str, tmp_path: Path, protocol: str) -> None:
    props = group_properties(broker.bootstrap_servers, topic_prefix, **GROUP, connect_protocol=protocol)
    files = LineFiles(tmp_path, topic_prefix, CONNECTORS)
    with Pair(props, tmp_path) as pair, ThreadPoolExecutor() as users:
        files.grow()
        until = time.monotonic() + SECONDS
        share = CONNECTORS // USERS
        using = [
            users.submit(change, pair, files, files.names[user * share : (user + 1) * share], user, until)
            for user in range(USERS)
        ]
        freeze(pair, until - max(FREEZES))
        assert {status for user in using for status in user.result()} <= UNDERSTOOD

        for number, name in enumerate(files.names):
            assert put(pair.urls[number % 2], name, files.config(name)).status in (200, 201)
            assert settled_call(pair.urls[number % 2], "PUT", f"/connectors/{name}/resume").status == 202
        assert set(pair.await_running(files).load.values()) == {(6, 6)}
        with TopicReader(broker.bootstrap_servers, files.topic) as reader:
            reader.await_values(files.lines)
            fresh = files.grow()
            reader.await_values(fresh)
            time.sleep(1.0)
            reader.read_to_end()
            assert set(Counter(value for value in reader.values if value in set(fresh)).values()) == {1}


def change(pair: Pair, files: LineFiles, names: list[str], seed: int, until: float) -> set[int]:
    """Ask for changes of some connectors, through either worker, until it is time; answers the statuses."""
    chance, statuses = random.Random(seed), set()
    while time.monotonic() < until:
        name, url = chance.choice(names), chance.choice(pair.urls)
        if chance.random() < 0.4:
            batch = {"batch.size": str(chance.randint(1, 999))}
            statuses.add(put(url, name, files.config(name, **batch)).status)
        else:
            method, below = chance.choice(CALLS)
            statuses.add(settled_call(url, method, f"/connectors/{name}{below}").status)
    return statuses


def freeze(pair: Pair, until: float) -> None:
    """Freeze one worker after the other for a while, until it is time."""
    chance = random.Random(0)
    while time.monotonic() < until:
        time.sleep(chance.uniform(2, 6))
        worker = chance.choice(pair.workers)
        os.kill(worker.pid, signal.SIGSTOP)
        time.sleep(chance.choice(FREEZES))
        os.kill(worker.pid, signal.SIGCONT)
