"""Exactly-once source connectors (KIP-618) in groups of a worker of Java's and one of ours, whichever leads."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from connect_dagster.protocol.group_structs import WorkerMetadata
from tests.conformance.distributed_play import Cluster, at_once, java_cluster, our_cluster
from tests.conformance.mixed_group import SIDES, MixedGroup, Side, other
from tests.conformance.rest_script import Step, holds, source
from tests.conformance.topic_bytes_play import settle, shared_names, with_names
from tests.conformance.topic_bytes_script import ALTER, CREATE, DELETE, GONE, PAUSED, READ, RUNNING, STOP, STOPPED
from tests.conformance.topic_records import end_offsets, records
from tests.conftest import Broker
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    TopicReader,
    await_true,
    put,
)

pytestmark = pytest.mark.nightly

SUPPORT = "exactly_once_source_support"
PLAIN_LEADER = "without a transaction, although this worker has exactly.once.source.support=enabled"


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedGroup]:
    folder = tmp_path_factory.mktemp("exactly-once-mixed")
    prefix = f"{folder.name}-{time.time_ns()}-"
    group = MixedGroup(broker.bootstrap_servers, prefix, folder, **{SUPPORT: "enabled"})
    try:
        yield group
    finally:
        group.end()


@pytest.fixture
def mixed(workers: MixedGroup) -> Iterator[MixedGroup]:
    """The group without connectors."""
    yield workers
    workers.delete_all()


@pytest.fixture
def files(tmp_path: Path, topic_prefix: str) -> LineFiles:
    return LineFiles(tmp_path, topic_prefix, 4)


def create(mixed: MixedGroup, files: LineFiles) -> None:
    """Create the sources, and wait until two run on each worker."""
    mixed.create(files)
    mixed.await_balanced(files)


def committed(mixed: MixedGroup, files: LineFiles) -> Counter[str]:
    """How often a reader of committed records sees each value, once it has seen all lines."""
    with TopicReader(mixed.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)
        time.sleep(1.0)
        reader.read_to_end()
        return Counter(reader.values)


def assert_each_once(mixed: MixedGroup, files: LineFiles) -> None:
    seen = committed(mixed, files)
    assert seen.keys() == set(files.lines)
    assert {line: count for line, count in seen.items() if count > 1} == {}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("leader", SIDES)
def test_each_line_is_there_once_whichever_side_is_killed(mixed: MixedGroup, files: LineFiles, leader: Side) -> None:
    mixed.led_by(leader)
    create(mixed, files)
    assert_each_once(mixed, files)
    for victim in (leader, other(leader)):
        files.grow(3000)
        time.sleep(0.3)
        mixed.kill(victim)
        files.grow(200)
        mixed.await_running(files, other(victim))
        mixed.start(victim)
        mixed.await_running(files)
        assert_each_once(mixed, files)


@pytest.mark.parametrize("leader", SIDES)
def test_both_sides_agree_on_offsets_beside_markers(mixed: MixedGroup, files: LineFiles, leader: Side) -> None:
    """Assignments compare the members' offsets in the config topic; markers of transactions have offsets as well."""
    mixed.led_by(leader)
    create(mixed, files)
    mixed.restart(other(leader))
    mixed.await_running(files)
    configs = records(mixed.bootstrap_servers, [mixed.props["config.storage.topic"]])
    assert end_offsets(mixed.bootstrap_servers, [configs[-1].topic]) == {(configs[-1].topic, 0): configs[-1].offset + 2}

    def known() -> list[int]:
        members = mixed.described(mixed.group_id).members
        return [WorkerMetadata.decode(member.subscription).offset for member in members]

    await_true(lambda: known() == [configs[-1].offset + 1] * 2, lambda: (known(), configs[-1]))


@pytest.mark.parametrize("before", SIDES)
def test_an_aborted_offset_is_not_taken_over(mixed: MixedGroup, files: LineFiles, before: Side) -> None:
    """A killed worker leaves such offsets behind; who believed one would skip lines, or send them again."""
    mixed.only(before)
    files.grow(20)
    for name in files.names:
        assert put(mixed.url(before), name, files.config(name)).status == 201
    mixed.await_running(files, before)
    assert_each_once(mixed, files)
    topic = mixed.props["offset.storage.topic"]
    kept = {record.key: record for record in records(mixed.bootstrap_servers, [topic])}
    keys = [key for key in kept if key is not None and json.loads(key)[0] in files.names]
    assert len(keys) == len(files.names)
    zombie = Producer({"bootstrap.servers": mixed.bootstrap_servers, "transactional.id": f"{mixed.group_id}-zombie"})
    zombie.init_transactions(20)
    zombie.begin_transaction()
    for number, key in enumerate(keys):
        zombie.produce(topic, b'{"position":%d}' % (0 if number % 2 else 10_000), key, kept[key].partition)
    zombie.flush(20)
    mixed.kill(before)
    files.grow(5)
    zombie.abort_transaction(20)
    mixed.start(other(before))
    mixed.await_running(files, other(before))
    assert_each_once(mixed, files)


def test_both_sides_write_the_same_configs(broker: Broker, tmp_path: Path) -> None:
    """Records and their distances, markers included, of the same calls to a leader of Java's and one of ours."""
    names, more = shared_names(tmp_path), {SUPPORT: "enabled"}
    with (
        our_cluster(broker.bootstrap_servers, tmp_path, **more) as ours,
        java_cluster(broker.bootstrap_servers, tmp_path, **more) as java,
    ):
        sides = [with_names(side, names) for side in (java, ours)]
        theirs, found = at_once(*(partial(configs_of_calls, cluster) for cluster in sides))
    assert found == theirs
    assert Counter(key for _, key, _ in found)[b"tasks-fencing-c"] == 4


CALLS = (
    CREATE,
    RUNNING,
    READ,
    Step("put", "PUT /connectors/c/config", source(more="x")),
    Step("tasks", "GET /connectors/c/tasks", until=holds('"more":"x"')),
    RUNNING,
    Step("pause", "PUT /connectors/c/pause"),
    PAUSED,
    Step("resume", "PUT /connectors/c/resume"),
    RUNNING,
    Step("restart", "POST /connectors/c/restart?includeTasks=true"),
    RUNNING,
    STOP,
    STOPPED,
    ALTER,
    Step("resume", "PUT /connectors/c/resume"),
    Step("tasks", "GET /connectors/c/tasks", until=holds('"more":"x"')),
    RUNNING,
    Step("level", "PUT /admin/loggers/a.b?scope=cluster", {"level": "warn"}),
    DELETE,
    GONE,
)


def configs_of_calls(cluster: Cluster) -> list[tuple[int, bytes | None, str | None]]:
    """Return the records of the calls in the config topic: distance from its end before them, key and value."""
    topic, neutral = cluster.props["config.storage.topic"], cluster.side.neutral
    begin = settle(cluster)[topic, 0]
    cluster.side.play(CALLS)
    settle(cluster)
    return [
        (found.offset - begin, found.key, None if found.value is None else neutral(found.value.decode()))
        for found in records(cluster.props["bootstrap.servers"], [topic])
        if found.offset >= begin
    ]


@pytest.mark.timeout(900)
def test_a_group_under_load_changes_to_exactly_once_and_back(
    broker: Broker, topic_prefix: str, files: LineFiles, tmp_path: Path
) -> None:
    mixed = MixedGroup(broker.bootstrap_servers, topic_prefix, tmp_path / "workers", **{SUPPORT: "disabled"})
    try:
        for side in SIDES:
            mixed.start(side)
        create(mixed, files)
        with load(files):
            for support in ("preparing", "enabled"):
                change(mixed, files, support)
            began = len(files.lines)
            for side in SIDES:
                mixed.kill(side)
                mixed.await_running(files, other(side))
                mixed.start(side)
                mixed.await_running(files)
            ended = len(files.lines)
            with TopicReader(mixed.bootstrap_servers, files.topic) as reader:
                reader.await_values(files.lines[:ended])
            for support in ("preparing", "disabled"):
                change(mixed, files, support)
        seen = committed(mixed, files)
    finally:
        mixed.end()
    assert seen.keys() == set(files.lines)
    assert ended - began > 100
    assert {line: seen[line] for line in files.lines[began:ended] if seen[line] > 1} == {}
    assert PLAIN_LEADER not in mixed.ours.log()


def test_a_leader_of_javas_that_is_not_prepared_is_named(
    broker: Broker, topic_prefix: str, files: LineFiles, tmp_path: Path
) -> None:
    mixed = MixedGroup(broker.bootstrap_servers, topic_prefix, tmp_path / "workers", **{SUPPORT: "disabled"})
    try:
        mixed.led_by("java")
        create(mixed, files)
        mixed.restart("ours", **{SUPPORT: "enabled"})
        mixed.await_running(files)
        assert mixed.leader() == "java"
        assert committed(mixed, files).keys() == set(files.lines)
        logged = mixed.ours.log()
    finally:
        mixed.end()
    # The leader has answered our tasks' requests for rounds of fencing, and recorded them.
    assert logged.count(PLAIN_LEADER) == 1


def change(mixed: MixedGroup, files: LineFiles, support: str) -> None:
    """Restart one side after the other with another setting."""
    for side in SIDES:
        mixed.restart(side, **{SUPPORT: support})
        mixed.await_running(files)


@contextmanager
def load(files: LineFiles) -> Iterator[None]:
    """Append lines to all files until the block ends."""
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.1):
            files.grow(3)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()
