"""The dedicated process with transactions on the target (KIP-710, KIP-618): each record is there once."""

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer

from connect_dagster.embedded.ports import HOST, free_port
from tests.integration import topics
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.dedicated import DedicatedProcess
from tests.integration.mirror.test_dedicated import mm2, tag
from tests.integration.mirror.writing import Writer

__all__ = ["tag"]  # a fixture

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

KILLS = 3


def exactly_once(source: Cluster, target: Cluster, tag: str, topic: str) -> dict[str, str]:
    """A file with one flow."""
    return mm2(
        source,
        target,
        tag,
        topics=topic,
        **{
            f"A{tag}->B{tag}.enabled": "true",
            f"A{tag}.consumer.isolation.level": "read_committed",
            f"B{tag}.exactly.once.source.support": "enabled",
            f"B{tag}.session.timeout.ms": "6000",
            f"B{tag}.heartbeat.interval.ms": "500",
        },
    )


def committed(cluster: Cluster, topic: str) -> Counter[bytes | None]:
    return Counter(one.value() for one in topics.read_committed(cluster.bootstrap_servers, topic))


def await_copies(target: Cluster, remote: str, count: int) -> None:
    """Wait until more records than these are committed."""
    eventually(
        lambda: target.partitions(remote) > 0 and committed(target, remote).total() > count, f"{count} arrive", 120
    )


def assert_each_once(source: Cluster, topic: str, target: Cluster, remote: str) -> None:
    written = committed(source, topic)
    assert set(written.values()) == {1}
    eventually(lambda: not written.keys() - committed(target, remote).keys(), "all records arrive", 120)
    found = committed(target, remote)
    assert found == written, {value: count for value, count in found.items() if count > 1}


def test_a_process_that_is_killed_writes_no_record_twice(
    source: Cluster, target: Cluster, tag: str, tmp_path: Path
) -> None:
    topic = source.create(f"once-{tag}", 2)
    remote = f"A{tag}.{topic}"
    process = DedicatedProcess(exactly_once(source, target, tag, topic), tmp_path, [f"B{tag}"])
    process.start()
    with Writer(source, topic) as writer:
        for _ in range(KILLS):
            process.wait_log("Kafka MirrorMaker started")
            await_copies(target, remote, writer.count)
            process.kill()
            process.start()
    try:
        assert_each_once(source, topic, target, remote)
        assert process.stop() == 0
    finally:
        if process.exit_code is None:
            process.kill()


def test_aborted_records_of_the_source_stay_there(source: Cluster, target: Cluster, tag: str, tmp_path: Path) -> None:
    topic = source.create(f"aborted-{tag}")
    producer = Producer({"bootstrap.servers": source.bootstrap_servers, "transactional.id": f"source-{tag}"})
    producer.init_transactions(30)
    for value, keeps in ((b"1", True), (b"aborted", False), (b"2", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        if keeps:
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)
    with DedicatedProcess(exactly_once(source, target, tag, topic), tmp_path, [f"B{tag}"]):
        remote = f"A{tag}.{topic}"
        eventually(lambda: target.partitions(remote) == 1, "the topic is created", 120)
        eventually(lambda: sum(committed(target, remote).values()) >= 2, "the records arrive", 60)
        assert committed(target, remote) == {b"1": 1, b"2": 1}


def test_two_processes_share_the_tasks(source: Cluster, target: Cluster, tag: str, tmp_path: Path) -> None:
    """As Kafka's ``DedicatedMirrorIntegrationTest``: a task asks the leader in the other process for its fencing."""
    topic = source.create(f"shared-{tag}", 4)
    remote = f"A{tag}.{topic}"
    file = exactly_once(source, target, tag, topic) | {"tasks.max": "4", "dedicated.mode.enable.internal.rest": "true"}
    names = ("first", "second")
    with ExitStack() as running:
        processes = {
            name: DedicatedProcess(file | {"listeners": f"http://{HOST}:{free_port()}"}, tmp_path / name, [f"B{tag}"])
            for name in names
        }
        for process in processes.values():
            running.enter_context(process)
        with Writer(source, topic) as writer:
            await_copies(target, remote, writer.count)
            processes["first"].kill()
            time.sleep(1)
            processes["first"].start()
            await_copies(target, remote, writer.count)
        assert_each_once(source, topic, target, remote)
