"""A worker that is cut off from the brokers: it ends its work and writes nothing, another takes over, it comes back."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    TopicReader,
    as_text,
    await_running,
    put,
    status_reports,
    worker_id,
)
from tests.integration.cluster.network import CutOffNetwork

pytestmark = pytest.mark.nightly

SESSION_SECONDS, DELAY_SECONDS = 6.0, 2.0
GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
}
STOPPED = "Finished stopping tasks in preparation for rebalance"


@pytest.fixture
def network() -> Iterator[CutOffNetwork]:
    with CutOffNetwork("cdtest", "10.231.7") as made:
        yield made


@pytest.fixture
def broker_of_both_sides(network: CutOffNetwork, tmp_path: Path) -> Iterator[tuple[EmbeddedBroker, str]]:
    """A broker for this side and the far one, and its address there."""
    port, bridge, controller = free_port(), free_port(), free_port()
    clients = f"PLAINTEXT://{HOST}:{port},BRIDGE://{network.here}:{bridge}"
    settings = {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BRIDGE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
    }
    with EmbeddedBroker(tmp_path / "broker", port, heap="512m", settings=settings) as broker:
        yield broker, f"{network.here}:{bridge}"


def test_a_worker_that_is_cut_off_makes_room_and_comes_back(
    network: CutOffNetwork, broker_of_both_sides: tuple[EmbeddedBroker, str], tmp_path: Path
) -> None:
    broker, far_address = broker_of_both_sides
    props = group_properties(broker.bootstrap_servers, "cut-", **GROUP)
    near_props = {**props, "listeners": f"http://{network.here}:{free_port()}"}
    far_props = {**props, "bootstrap.servers": far_address, "listeners": f"http://{network.there}:{free_port()}"}
    files = LineFiles(tmp_path, "cut-", 6)
    with ExitStack() as stack:
        near = DistributedProcess(near_props, tmp_path / "near")
        far = DistributedProcess(far_props, tmp_path / "far", within=network.command())
        for worker in (near, far):
            worker.start()
            stack.callback(worker.stop)
        near.wait_ready()
        far.wait_ready()
        urls = [near.rest_url, far.rest_url]
        lines, configs, reports, offsets = (
            stack.enter_context(TopicReader(broker.bootstrap_servers, topic))
            for topic in (files.topic, *(props[f"{kind}.storage.topic"] for kind in ("config", "status", "offset")))
        )
        files.grow()
        for url, name in zip(urls * 3, files.names, strict=True):
            assert put(url, name, files.config(name)).status == 201
        await_running(urls, files.names, files.tasks, urls)
        lines.await_values(files.lines)

        network.cut()
        cut_at, stops = time.time(), far.log().count(STOPPED)
        files.grow(50)
        far.wait_until(lambda: far.log().count(STOPPED) > stops, "stop its tasks", SESSION_SECONDS + 5)
        near_alone = urls[:1]
        await_running(near_alone, files.names, files.tasks, near_alone, SESSION_SECONDS + DELAY_SECONDS + 10)
        lines.await_values(files.lines)
        taken_over = max(value["generation"] for _, value, at in status_reports(reports.read_to_end()) if at > cut_at)
        written = len(configs.read_to_end())

        network.heal()
        told = await_running(urls, files.names, files.tasks, urls)
        assert set(told.load.values()) == {(3, 3)}
        files.grow()
        lines.await_values(files.lines)
        by_far = [
            value["generation"]
            for _, value, at in status_reports(reports.read_to_end())
            if at > cut_at + 1 and value["worker_id"] == worker_id(far.rest_url)
        ]
        assert min(by_far) > taken_over
        assert len(configs.read_to_end()) == written
        furthest: dict[str, int] = {}
        for record in offsets.read_to_end():
            key, position = as_text(record.key()), json.loads(as_text(record.value()))["position"]
            assert position >= furthest.get(key, 0)
            furthest[key] = position
