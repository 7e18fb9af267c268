"""The three connectors under a group of workers, operated as any others."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from connect_dagster.kafka_version import KAFKA_VERSION
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow, mirror_properties
from tests.rest_calls import Answer

pytestmark = pytest.mark.nightly

KINDS = ("Checkpoint", "Heartbeat", "Source")


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[DistributedProcess]]:
    """Two workers of one group on the target."""
    props = mirror_properties(broker.bootstrap_servers, scheduled_rebalance_max_delay_ms="0")
    with (
        DistributedProcess(props, tmp_path_factory.mktemp("worker")) as first,
        DistributedProcess(props, tmp_path_factory.mktemp("worker")) as second,
    ):
        yield [first, second]


@pytest.fixture
def flow(source: Cluster, target: Cluster, workers: list[DistributedProcess]) -> Iterator[Flow]:
    made = Flow(f"s{uuid.uuid4().hex[:8]}", source, target, workers[0])
    yield made
    made.end()


def states(flow: Flow, name: str) -> list[str]:
    status = flow.status(name)
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def offset_of(flow: Flow, name: str) -> dict[int, int]:
    found = flow.worker.call("GET", f"/connectors/{name}/offsets").json["offsets"]
    return {one["partition"]["partition"]: one["offset"]["offset"] for one in found}


def alter(flow: Flow, name: str, partition: dict[str, Any], offset: int) -> Answer:
    body = {"offsets": [{"partition": partition, "offset": {"offset": offset}}]}
    return flow.worker.call("PATCH", f"/connectors/{name}/offsets", body)


def test_lb_03_a_flow_is_a_connector_like_any_other(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t", 4)
    source.produce(topic, ({"value": b"1", "partition": number} for number in range(4)))
    name = flow.start("Source", topics=topic, tasks_max="4")
    remote = flow.remote(topic)
    target.read(remote, dict.fromkeys(range(4), 1))
    eventually(lambda: states(flow, name) == ["RUNNING"] * 5, "connector and tasks run")
    tasks = flow.status(name)["tasks"]
    assert len({task["worker_id"] for task in tasks}) == 2, "both workers have tasks"
    eventually(lambda: offset_of(flow, name) == dict.fromkeys(range(4), 0), "offsets are committed")

    call = flow.worker.call
    assert call("PUT", f"/connectors/{name}/pause").status == 202
    eventually(lambda: states(flow, name) == ["PAUSED"] * 5, "all is paused")
    source.produce(topic, [{"value": b"2", "partition": 0}])
    assert call("PUT", f"/connectors/{name}/resume").status == 202
    assert target.read(remote, {0: 2})[0][1].value == b"2"
    answer = call("POST", f"/connectors/{name}/restart?includeTasks=true")
    assert answer.status == 202, answer.json
    eventually(lambda: states(flow, name) == ["RUNNING"] * 5, "all runs again")
    source.produce(topic, [{"value": b"3", "partition": 0}])
    assert target.read(remote, {0: 3})[0][2].value == b"3"


def test_offsets_are_changed_and_reset(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, ({"value": str(number).encode()} for number in range(10)))
    name = flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, {0: 10})
    eventually(lambda: offset_of(flow, name) == {0: 9}, "the last offset is committed")
    call = flow.worker.call
    assert call("PUT", f"/connectors/{name}/stop").status == 204
    eventually(lambda: states(flow, name) == ["STOPPED"], "it is stopped")
    partition = {"cluster": flow.alias, "partition": 0, "topic": topic}
    wrong = call("PATCH", f"/connectors/{name}/offsets", {"offsets": [{"partition": {}, "offset": {"offset": 1}}]})
    assert (wrong.status, wrong.message) == (500, "Source partition {} is missing the 'cluster' key, which is required")
    moved = call(
        "PATCH", f"/connectors/{name}/offsets", {"offsets": [{"partition": partition, "offset": {"offset": 6}}]}
    )
    assert moved.status == 200, moved.json
    assert call("PUT", f"/connectors/{name}/resume").status == 202
    again = target.read(remote, {0: 13})[0][10:]
    assert [one.value for one in again] == [b"7", b"8", b"9"]


def test_lb_03_workers_name_the_three_connectors(workers: list[DistributedProcess]) -> None:
    plugins: list[dict[str, Any]] = workers[0].call("GET", "/connector-plugins").json
    mirrors = {one["class"].rpartition(".")[2]: one for one in plugins if ".Mirror" in one["class"]}
    assert sorted(mirrors) == [f"Mirror{kind}Connector" for kind in KINDS]
    assert {(one["type"], one["version"]) for one in mirrors.values()} == {("source", KAFKA_VERSION)}
