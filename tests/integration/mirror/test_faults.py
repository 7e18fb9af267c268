"""Flows whose clusters go away, whose topics are deleted, and whose process is killed: nothing is lost."""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow
from tests.integration.mirror.dedicated import DedicatedProcess
from tests.integration.mirror.test_dedicated import mm2
from tests.integration.mirror.writing import Writer, check_copy, check_syncs
from tests.integration.two_brokers import two_brokers

TOPIC, REMOTE, SYNCS = "orders", "A.orders", "mm2-offset-syncs.B.internal"
AWAY_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters of one test, with the topic of the source, and a file with a flow between them."""

    brokers: dict[str, EmbeddedBroker]
    file: dict[str, str]

    @property
    def source(self) -> Cluster:
        return Cluster(self.brokers["source"].bootstrap_servers)

    @property
    def target(self) -> Cluster:
        return Cluster(self.brokers["target"].bootstrap_servers)

    def arrived(self) -> int:
        """The number of records on the target."""
        return sum(self.target.ends(REMOTE).values())

    def check(self) -> None:
        """Check records and offset syncs."""
        check_copy(self.source, TOPIC, self.target, REMOTE)
        assert check_syncs(self.source, TOPIC, self.target, REMOTE, SYNCS) > 0


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with (
        EmbeddedBroker(tmp_path / "source", 0, heap="384m") as source,
        EmbeddedBroker(tmp_path / "target", 0, heap="384m") as target,
    ):
        clusters = Cluster(source.bootstrap_servers), Cluster(target.bootstrap_servers)
        clusters[0].create(TOPIC, 2)
        options = {"A->B.enabled": "true", "topics": TOPIC, "offset.lag.max": "10", "B.session.timeout.ms": "6000"}
        yield Pair({"source": source, "target": target}, {**mm2(*clusters, ""), **options})


@pytest.mark.nightly
@pytest.mark.timeout(400)
@pytest.mark.parametrize("away", [["source"], ["target"], ["source", "target"]], ids="-".join)
def test_a_flow_goes_on_when_its_clusters_are_back(pair: Pair, tmp_path: Path, away: list[str]) -> None:
    with DedicatedProcess(pair.file, tmp_path) as process:
        with Writer(pair.source, TOPIC) as writer:
            eventually(lambda: pair.arrived() > 200, "records arrive", 120)
            for name in away:
                pair.brokers[name].kill()
            time.sleep(AWAY_SECONDS)
            for name in away:
                pair.brokers[name].start()
            written = writer.count
            eventually(lambda: pair.arrived() > written + 200, "records arrive again", 180)
        pair.check()
        assert "WorkerSourceTask{id=MirrorSourceConnector-0} Task threw" not in process.log()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_long_read_waits_for_its_source(pair: Pair, tmp_path: Path) -> None:
    """A job over ranges fails after 70 s without brokers; the task reads them again."""
    count = 300_000
    pair.source.produce(TOPIC, ({"value": b"%0100d" % number, "partition": number % 2} for number in range(count)))
    with DedicatedProcess(pair.file, tmp_path) as process:
        eventually(lambda: pair.target.partitions(REMOTE) == 2 and pair.arrived() > 1_000, "records arrive", 120)
        pair.brokers["source"].kill()
        time.sleep(100)
        pair.brokers["source"].start()
        eventually(lambda: pair.arrived() >= count, "the others arrive", 300)
        pair.check()
        assert "WorkerSourceTask{id=MirrorSourceConnector-0} Task threw" not in process.log()


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_a_source_that_is_not_there_at_the_start_is_waited_for(pair: Pair, tmp_path: Path) -> None:
    pair.source.produce(TOPIC, [{"value": b"1"}])
    pair.brokers["source"].stop()
    file = {**pair.file, "admin.timeout.ms": "5000"}
    with DedicatedProcess(file, tmp_path) as process:
        process.wait_log("The flow B->A waits for its target")
        process.wait_log("MirrorSourceConnector")
        time.sleep(AWAY_SECONDS)
        pair.brokers["source"].start()
        process.wait_log("The target of the flow B->A responds")
        eventually(lambda: pair.target.partitions(REMOTE) == 2, "the topic is created", 120)
        eventually(lambda: pair.arrived() == 1, "the record arrives", 120)
        assert process.log().count("The flow B->A waits for its target") == 1


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_a_partition_whose_only_broker_is_away_does_not_hold_the_others(target: Cluster, tmp_path: Path) -> None:
    with two_brokers(tmp_path / "source") as brokers:
        tag, source = uuid.uuid4().hex[:8], Cluster(brokers.bootstrap_servers)
        topic = brokers.create(TOPIC)
        options = {f"A{tag}->B{tag}.enabled": "true", "topics": topic, "offset-syncs.topic.location": "target"}
        with DedicatedProcess({**mm2(source, target, tag), **options}, tmp_path, [f"B{tag}"]) as process:
            remote = f"A{tag}.{topic}"
            source.produce(topic, ({"value": b"%d" % number, "partition": number % 2} for number in range(10)))
            target.read(remote, {0: 5, 1: 5})
            brokers.second.kill()
            # More than the consumer fetches itself: they are read by ranges, which asks for the ends of logs.
            source.produce(topic, ({"value": b"%d" % number, "partition": 0} for number in range(5_000)))
            target.read(remote, {0: 5_005}, 120)
            brokers.second.start()
            source.produce(topic, [{"value": b"again", "partition": 1}])
            target.read(remote, {1: 6}, 120)
            assert "Task threw" not in process.log()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_broker_that_goes_away_under_load_does_not_hold_the_partitions_of_the_other(
    target: Cluster, tmp_path: Path
) -> None:
    """Batches with its records are under way then: the task goes back to what is delivered, and leaves them out."""
    count = 200_000
    with two_brokers(tmp_path / "source") as brokers:
        tag, source = uuid.uuid4().hex[:8], Cluster(brokers.bootstrap_servers)
        topic = brokers.create(TOPIC)
        source.produce(topic, ({"value": b"%0200d" % number, "partition": number % 2} for number in range(2 * count)))
        options = {f"A{tag}->B{tag}.enabled": "true", "topics": topic, "offset-syncs.topic.location": "target"}
        # Batches are small, so that many are left when the broker goes.
        options[f"A{tag}.consumer.max.poll.records"] = "500"
        with DedicatedProcess({**mm2(source, target, tag), **options}, tmp_path, [f"B{tag}"]) as process:
            remote = f"A{tag}.{topic}"
            eventually(lambda: target.ends(remote).get(1, 0) > 0, "records arrive", 120)
            brokers.second.kill()
            eventually(lambda: target.ends(remote)[0] >= count, "those of the broker that is left arrive", 240)
            brokers.second.start()
            check_copy(source, topic, target, remote)
            assert check_syncs(source, topic, target, remote, f"mm2-offset-syncs.A{tag}.internal", at=target) > 0
            assert "Task threw" not in process.log()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_topic_that_is_deleted_under_load_does_not_hold_others(flow: Flow, source: Cluster, target: Cluster) -> None:
    doomed, other = (source.create(f"{flow.alias}-{word}") for word in ("doomed", "other"))
    for topic in (doomed, other):
        source.produce(topic, ({"value": b"%0200d" % number} for number in range(300_000)))
    name = flow.start("Source", topics=f"{flow.alias}-.*", refresh_topics_enabled="false")
    eventually(lambda: target.ends(flow.remote(doomed)).get(0, 0) > 0, "records arrive", 120)
    source.delete(doomed)
    source.produce(other, [{"value": b"last"}])
    check_copy(source, other, target, flow.remote(other))
    assert flow.status(name)["tasks"][0]["state"] == "RUNNING"


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_flow_goes_on_with_another_leader(target: Cluster, tmp_path: Path) -> None:
    """Of a partition, whose first one is away, and then back: both brokers respond while it changes."""
    with two_brokers(tmp_path / "source") as brokers:
        tag, source = uuid.uuid4().hex[:8], Cluster(brokers.bootstrap_servers)
        topic = brokers.create(TOPIC, replicated=True)
        options = {f"A{tag}->B{tag}.enabled": "true", "topics": topic, "offset-syncs.topic.location": "target"}
        remote = f"A{tag}.{topic}"
        with DedicatedProcess({**mm2(source, target, tag), **options}, tmp_path, [f"B{tag}"]) as process:
            with Writer(source, topic, rate=1_000) as writer:

                def arrive(reason: str) -> None:
                    written = writer.count
                    eventually(lambda: sum(target.ends(remote).values()) > written + 2_000, f"records {reason}", 180)

                eventually(lambda: target.partitions(remote) == 2, "the topic is there", 120)
                arrive("of both leaders")
                brokers.second.kill()
                eventually(lambda: brokers.leaders(topic) == [1, 1], "the first broker leads")
                arrive("of the leader that is left")
                brokers.second.start()
                eventually(lambda: brokers.is_in_sync(topic), "the second has all records")
                brokers.elect(topic)
                eventually(lambda: brokers.leaders(topic) == [1, 2], "the second broker leads again")
                arrive("of the leader that is back")
            check_copy(source, topic, target, remote)
            assert check_syncs(source, topic, target, remote, f"mm2-offset-syncs.A{tag}.internal", at=target) > 0
            assert "Task threw" not in process.log()


def kill_and_start(pair: Pair, tmp_path: Path, kills: int) -> None:
    process = DedicatedProcess(pair.file, tmp_path)
    with Writer(pair.source, TOPIC, rate=1_000):
        for _ in range(kills):
            process.start()
            before = pair.arrived() if pair.target.partitions(REMOTE) else 0
            eventually(lambda: pair.target.partitions(REMOTE) == 2, "the topic is there", 120)
            eventually(lambda: pair.arrived() > before + 500, "records arrive", 120)  # noqa: B023
            process.kill()
        process.start()
    try:
        pair.check()
    finally:
        process.stop()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_process_that_is_killed_loses_nothing(pair: Pair, tmp_path: Path) -> None:
    kill_and_start(pair, tmp_path, 5)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_fifty_kills_lose_nothing(pair: Pair, tmp_path: Path) -> None:
    kill_and_start(pair, tmp_path, 50)


@pytest.mark.nightly
def test_a_topic_that_is_made_anew_is_read_from_its_start(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, ({"value": f"old {number}".encode()} for number in range(20)))
    name = flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, {0: 20})
    source.delete(topic)
    eventually(lambda: source.partitions(topic) == 0, "the topic is gone")
    time.sleep(3)
    source.create(topic)
    source.produce(topic, ({"value": f"new {number}".encode()} for number in range(5)))
    values = [one.value for one in target.read(remote, {0: 25}, 120)[0]]
    assert values[20:] == [f"new {number}".encode() for number in range(5)]
    assert flow.status(name)["connector"]["state"] == "RUNNING"


@pytest.mark.nightly
def test_a_topic_that_is_made_anew_at_once_is_read_from_its_start(flow: Flow, source: Cluster, target: Cluster) -> None:
    """The consumer finds that the log has no such offset; it is read quickly after that as well."""
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, ({"value": f"old {number}".encode()} for number in range(20)))
    flow.start("Source", topics=topic, refresh_topics_enabled="false")
    remote = flow.remote(topic)
    target.read(remote, {0: 20})
    source.delete(topic)
    eventually(lambda: source.partitions(topic) == 0, "the topic is gone")
    source.create(topic)
    for number in range(5):
        source.produce(topic, [{"value": f"new {number}".encode()}])
        values = [one.value for one in target.read(remote, {0: 21 + number}, 120)[0]]
        assert values[20:] == [f"new {number}".encode() for number in range(number + 1)]


@pytest.mark.nightly
def test_a_topic_that_is_deleted_on_the_target_is_made_again(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t", 2)
    source.produce(topic, [{"value": b"1", "partition": 1}])
    flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, {1: 1})
    target.delete(remote)
    eventually(lambda: target.ends(remote) == {0: 0, 1: 0}, "the topic is created again")
    source.produce(topic, [{"value": b"2", "partition": 1}])
    assert target.read(remote, {1: 1})[1][0].value == b"2"


@pytest.mark.nightly
def test_a_flow_goes_on_without_its_topic_of_syncs(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, [{"value": b"1"}])
    flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, {0: 1})
    source.delete(f"mm2-offset-syncs.target-of-{flow.alias}.internal")
    for number in range(2, 6):
        source.produce(topic, [{"value": str(number).encode()}])
        assert target.read(remote, {0: number})[0][-1].value == str(number).encode()
