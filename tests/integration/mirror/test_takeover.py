"""Java's MirrorMaker and ours take turns on the same topics while records are written."""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connect_dagster.connectors.mirror.client import MirrorClient
from connect_dagster.embedded.jars import resolve
from tests.conformance.java_cluster import JavaDistributed
from tests.conformance.java_mirror_maker import JavaMirrorMaker
from tests.distributed_process import DistributedProcess
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow, mirror_properties
from tests.integration.mirror.dedicated import DedicatedProcess
from tests.integration.mirror.test_dedicated import mm2
from tests.integration.mirror.writing import Writer, check_copy, check_syncs

pytestmark = pytest.mark.nightly
TURN_SECONDS = 8.0


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:8]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_dedicated_processes_take_turns(
    source: Cluster, target: Cluster, tag: str, tmp_path: Path, killed: bool
) -> None:
    topic, group = source.create(f"turns-{tag}", 2), f"group-{tag}"
    flow = {f"A{tag}->B{tag}.enabled": "true", "topics": topic, "groups": group, "offset.lag.max": "10"}
    file = mm2(source, target, tag, **flow, **{f"B{tag}.session.timeout.ms": "6000"})
    remote = f"A{tag}.{topic}"
    client = MirrorClient({"bootstrap.servers": target.bootstrap_servers})

    def translated() -> int:
        offsets = client.remote_consumer_offsets(f"A{tag}", group.__eq__).get(group, {})
        return max((one.offset for one in offsets.values()), default=0)

    with Writer(source, topic) as writer:
        for turn, kind in enumerate([JavaMirrorMaker, DedicatedProcess, JavaMirrorMaker, DedicatedProcess]):
            process = kind(file, tmp_path / f"{turn}")
            process.start()
            try:
                before, checkpoint = sum(target.ends(remote).values()) if turn else 0, translated() if turn else 0
                eventually(lambda: target.partitions(remote) == 2, "the topic is there", 120)
                eventually(lambda: sum(target.ends(remote).values()) > before + 400, f"{kind.__name__} mirrors", 120)  # noqa: B023
                source.commit(group, {(topic, 0): writer.count // 2 - 200})
                eventually(lambda: translated() > checkpoint, f"{kind.__name__} translates")  # noqa: B023
            finally:
                if killed:
                    process.kill()
                else:
                    process.stop(30)
        ending = DedicatedProcess(file, tmp_path / "end")
        ending.start()
    try:
        repeated = check_copy(source, topic, target, remote)
    finally:
        ending.stop()
    assert killed or repeated == 0
    assert check_syncs(source, topic, target, remote, f"mm2-offset-syncs.B{tag}.internal") > 0
    assert written_configs(target, f"mm2-configs.A{tag}.internal", b"connector-") == 3, "none is written again"


def written_configs(cluster: Cluster, topic: str, begin: bytes) -> int:
    """The number of records of a config topic whose keys begin so."""
    records = cluster.read_all(topic)[0]
    return sum(one.key is not None and one.key.startswith(begin) for one in records)


Start = Callable[[], JavaDistributed | DistributedProcess]


@pytest.fixture
def sides(target: Cluster, tag: str, tmp_path: Path) -> Iterator[dict[str, JavaDistributed | DistributedProcess]]:
    """A worker of Java and one of ours in one group, not started."""
    props = mirror_properties(
        target.bootstrap_servers,
        session_timeout_ms="6000",
        scheduled_rebalance_max_delay_ms="2000",
        config_storage_topic=f"configs-{tag}",
    )
    made: dict[str, JavaDistributed | DistributedProcess] = {
        "java": JavaDistributed(props, tmp_path / "java", jars=resolve("java-mirror")),
        "ours": DistributedProcess(props, tmp_path / "ours"),
    }
    yield made
    for worker in made.values():
        worker.stop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("leader", "killed"), [("java", True), ("ours", True), ("java", False)], ids=["java", "ours", "java-stopped"]
)
def test_workers_of_one_group_share_a_flow(
    source: Cluster,
    target: Cluster,
    sides: dict[str, JavaDistributed | DistributedProcess],
    tag: str,
    leader: str,
    killed: bool,
) -> None:
    first, second = sides[leader], sides["ours" if leader == "java" else "java"]
    ours = sides["ours"]
    assert isinstance(ours, DistributedProcess)
    flow = Flow(f"s{tag}", source, target, ours)
    topic = source.create(f"{flow.alias}-t", 4)
    for word in ("orders", "payments", "invoices", "refunds", "customers"):
        source.create(f"{flow.alias}-{word}", 2)
    for worker in (first, second):
        worker.start()
        worker.wait_ready()
    group, client = f"group-{tag}", MirrorClient({"bootstrap.servers": target.bootstrap_servers})

    def translated() -> int:
        offsets = client.remote_consumer_offsets(flow.alias, group.__eq__).get(group, {})
        return max((one.offset for one in offsets.values()), default=0)

    with Writer(source, topic) as writer:

        def translates(reason: str) -> None:
            before = translated() if target.partitions(f"{flow.alias}.checkpoints.internal") else 0
            source.commit(group, {(topic, 0): max(1, writer.count // 4 - 50)})
            eventually(lambda: translated() > before, f"offsets are translated {reason}", 120)

        name = flow.start("Source", topics=f"{flow.alias}-.*", tasks_max="4", offset_lag_max="10")
        flow.start("Heartbeat")
        eventually(lambda: len(places(flow, name)) == 2, "both workers have tasks", 120)
        source.commit(group, {(topic, 0): 1})
        flow.start("Checkpoint", topics=f"{flow.alias}-.*", groups=group)
        time.sleep(TURN_SECONDS)
        translates("by the first")
        configured = written_configs(target, f"configs-{tag}", b"task-")
        for worker in (first, second):
            if killed:
                worker.kill()
            else:
                worker.stop()
            time.sleep(TURN_SECONDS)
            translates("by the one that is left")
            worker.start()
            worker.wait_ready()
            time.sleep(TURN_SECONDS)
        eventually(lambda: len(places(flow, name)) == 2, "both workers have tasks again", 120)
        assert written_configs(target, f"configs-{tag}", b"task-") == configured, "no leader configures tasks anew"
    check_copy(source, topic, target, flow.remote(topic))
    syncs = f"mm2-offset-syncs.target-of-{flow.alias}.internal"
    assert check_syncs(source, topic, target, flow.remote(topic), syncs) > 0


def places(flow: Flow, name: str) -> set[str]:
    """The workers with tasks that run."""
    tasks = flow.status(name).get("tasks", ())
    return {task["worker_id"] for task in tasks if task["state"] == "RUNNING"}
