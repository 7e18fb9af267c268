"""The dedicated process runs the flows of its file."""

import itertools
import subprocess
import uuid
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import free_port
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import SHORT
from tests.integration.mirror.dedicated import COMMAND, DedicatedProcess


def mm2(source: Cluster, target: Cluster, tag: str, **more: str) -> dict[str, str]:
    """A file with two clusters whose aliases no other test has, and their replication both ways switched off."""
    internal = dict.fromkeys((f"{kind}.storage.replication.factor" for kind in ("config", "offset", "status")), "1")
    return {
        "clusters": f"A{tag},B{tag}",
        f"A{tag}.bootstrap.servers": source.bootstrap_servers,
        f"B{tag}.bootstrap.servers": target.bootstrap_servers,
        **SHORT,
        **internal,
        **{f"{alias}{tag}.offset.flush.interval.ms": "1000" for alias in "AB"},
        **more,
    }


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:8]


def test_lb_04_a_file_with_one_flow(source: Cluster, target: Cluster, tag: str, tmp_path: Path) -> None:
    topic = source.create(f"lb04-{tag}", 2)
    source.produce(topic, ({"value": str(number).encode(), "partition": number % 2} for number in range(200)))
    file = mm2(source, target, tag, **{f"A{tag}->B{tag}.enabled": "true", "topics": topic})
    with DedicatedProcess(file, tmp_path, [f"B{tag}"]) as process:
        target.read(f"A{tag}.{topic}", {0: 100, 1: 100})
        names = target.admin.list_topics(timeout=30).topics
        assert {f"mm2-{kind}.A{tag}.internal" for kind in ("configs", "offsets", "status")} <= names.keys()
        groups = {one.group_id for one in target.admin.list_consumer_groups().result(30).valid}
        assert f"A{tag}-mm2" not in groups, "a group of workers is no consumer group"
        assert f"A{tag}-mm2" in {one.id for one in target.admin.list_groups(timeout=30)}
        assert process.stop() == 0
    assert f"mm2-configs.B{tag}.internal" not in source.admin.list_topics(timeout=30).topics


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "usage: connect-mirror-maker"),
        (["--consumer.config", "c.properties", "--whitelist", ".*"], "IdentityReplicationPolicy"),
    ],
    ids=["none", "of MirrorMaker 1"],
)
def test_lb_13_arguments_that_are_not_for_this_command(arguments: list[str], text: str) -> None:
    ran = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert text in ran.stderr


@pytest.mark.parametrize(
    ("changes", "targets", "text"),
    [
        ({"A->A.enabled": "true"}, [], "for a flow from a cluster to itself"),
        ({}, ["C"], "which is not in clusters"),
        ({"A->B.enabled": "true", "A.bootstrap.servers": ""}, [], "A.bootstrap.servers"),
        ({"A->B.enabled": "true", "replication.policy.class": "no.Such"}, [], "no.Such"),
    ],
    ids=["to itself", "unknown alias", "no brokers", "no policy"],
)
def test_a_wrong_file_is_one_clear_error(
    source: Cluster, target: Cluster, tmp_path: Path, changes: dict[str, str], targets: list[str], text: str
) -> None:
    process = DedicatedProcess({**mm2(source, target, ""), **changes}, tmp_path, targets)
    process.start()
    assert process.wait_exit() == 2
    assert text in process.log()
    assert "Traceback" not in process.log()


def test_lb_08_both_ways_without_a_cycle(source: Cluster, target: Cluster, tag: str, tmp_path: Path) -> None:
    topic = f"lb08-{tag}"
    for cluster in (source, target):
        cluster.create(topic)
        cluster.produce(topic, ({"value": str(number).encode()} for number in range(100)))
    ways = {f"A{tag}->B{tag}.enabled": "true", f"B{tag}->A{tag}.enabled": "true", "topics": f".*{topic}"}
    with DedicatedProcess(mm2(source, target, tag, **ways), tmp_path):
        target.read(f"A{tag}.{topic}", {0: 100})
        source.read(f"B{tag}.{topic}", {0: 100})
        later = f"later-{topic}"
        source.create(later)
        eventually(lambda: target.partitions(f"A{tag}.{later}") == 1, "topics are looked for again")
        assert topics_of(source, topic) == {topic, f"B{tag}.{topic}", later}
        assert topics_of(target, topic) == {topic, f"A{tag}.{topic}", f"A{tag}.{later}"}
        assert target.ends(f"A{tag}.{topic}") == source.ends(f"B{tag}.{topic}") == {0: 100}


def topics_of(cluster: Cluster, ending: str) -> set[str]:
    return {one for one in cluster.admin.list_topics(timeout=30).topics if one.endswith(ending)}


@pytest.mark.nightly
@pytest.mark.parametrize("shape", ["all", "ring"])
def test_lb_08_three_clusters(
    source: Cluster, target: Cluster, own_broker: EmbeddedBroker, tag: str, tmp_path: Path, shape: str
) -> None:
    """Each cluster holds the topic of the two others, in a ring one of them by way of the other."""
    topic = f"lb08-{tag}"
    clusters = {"A": source, "B": target, "C": Cluster(own_broker.bootstrap_servers)}
    for cluster in clusters.values():
        cluster.create(topic)
        cluster.produce(topic, ({"value": str(number).encode()} for number in range(100)))
    ways = itertools.permutations("ABC", 2) if shape == "all" else [("A", "B"), ("B", "C"), ("C", "A")]
    topics = topic if shape == "all" else f".*{topic}"
    file = mm2(source, target, tag, topics=topics, clusters=f"A{tag},B{tag},C{tag}")
    file |= {f"C{tag}.bootstrap.servers": own_broker.bootstrap_servers}
    file |= {f"{one}{tag}->{other}{tag}.enabled": "true" for one, other in ways}
    before = {"A": "C", "B": "A", "C": "B"}
    with DedicatedProcess(file, tmp_path):
        for alias, cluster in clusters.items():
            others = sorted({"A", "B", "C"} - {alias})
            if shape == "all":
                expected = {f"{other}{tag}.{topic}" for other in others}
            else:
                first = before[alias]
                expected = {f"{first}{tag}.{topic}", f"{first}{tag}.{before[first]}{tag}.{topic}"}
            for one in expected:
                cluster.read(one, {0: 100})
            assert topics_of(cluster, topic) == {topic, *expected}
            assert all(cluster.ends(one) == {0: 100} for one in expected)


@pytest.mark.nightly
def test_processes_with_the_internal_rest_api_share_the_work(
    source: Cluster, target: Cluster, tag: str, tmp_path: Path
) -> None:
    """Also where the process that runs the connector does not lead: it hands the configurations of tasks over."""
    topic = source.create(f"shared-{tag}", 4)
    file = mm2(
        source,
        target,
        tag,
        **{
            f"A{tag}->B{tag}.enabled": "true",
            "topics": topic,
            "tasks.max": "4",
            "dedicated.mode.enable.internal.rest": "true",
            f"B{tag}.scheduled.rebalance.max.delay.ms": "0",
        },
    )
    one, other = (
        DedicatedProcess({**file, "listeners": f"http://127.0.0.1:{free_port()}"}, tmp_path / name, [f"B{tag}"])
        for name in ("one", "other")
    )
    with one, other:
        source.produce(topic, ({"value": b"1", "partition": number} for number in range(4)))
        target.read(f"A{tag}.{topic}", dict.fromkeys(range(4), 1))
        source.grow(topic, 6)
        source.produce(topic, ({"value": b"2", "partition": number} for number in (4, 5)))
        target.read(f"A{tag}.{topic}", {4: 1, 5: 1})
        one.stop()
        source.produce(topic, ({"value": b"3", "partition": number} for number in range(6)))
        target.read(f"A{tag}.{topic}", {**dict.fromkeys(range(4), 2), 4: 2, 5: 2})
        assert other.stop() == 0
