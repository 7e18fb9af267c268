"""Our worker and Java's in one group, either one leading; a cluster that moves from Java's worker to ours and back."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import State
from tests.conformance.mixed_group import JAVAS_OWN, SIDES, MixedGroup, Side, other
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess
from tests.integration import topics
from tests.integration.cluster.group_of_workers import (
    STRING_CONVERTER,
    LineFiles,
    Running,
    TopicReader,
    await_running,
    await_true,
    delete_all,
    put,
    statuses,
    worker_id,
)
from tests.rest_calls import Answer


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedGroup]:
    folder = tmp_path_factory.mktemp("mixed")
    group = MixedGroup(broker.bootstrap_servers, f"{folder.name}-{time.time_ns()}-", folder)
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
    return LineFiles(tmp_path, topic_prefix, 12)


def assert_each_runs_once(mixed: MixedGroup, files: LineFiles) -> None:
    """Lines that come while nothing changes are in the topic once; a source that runs twice would send them twice."""
    with TopicReader(mixed.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)
        fresh = files.grow()
        reader.await_values(fresh)
        time.sleep(1.0)
        reader.read_to_end()
        counts = Counter(value for value in reader.values if value in set(fresh))
    assert set(counts.values()) == {1}, counts


@pytest.mark.nightly
@pytest.mark.parametrize("leader", SIDES)
def test_twelve_connectors_are_balanced_and_outlive_each_side(
    mixed: MixedGroup, files: LineFiles, leader: Side
) -> None:
    mixed.led_by(leader)
    mixed.create(files)
    mixed.await_balanced(files)
    assert_each_runs_once(mixed, files)

    # The leader goes, so that the other one leads when it comes back.
    mixed.kill(leader)
    survivor = other(leader)
    grown = files.grow()
    mixed.await_running(files, survivor)
    assert mixed.leader() == survivor
    mixed.start(leader)
    mixed.await_balanced(files)
    assert mixed.leader() == survivor
    with TopicReader(mixed.bootstrap_servers, files.topic) as reader:
        reader.await_values(grown)
    assert_each_runs_once(mixed, files)


def test_a_sink_is_split_over_both_sides(mixed: MixedGroup, topic_prefix: str, tmp_path: Path) -> None:
    for side in SIDES:
        mixed.start(side)
    topic, name, file = f"{topic_prefix}in", f"{topic_prefix}sink", tmp_path / "out.txt"
    topics.create(mixed.bootstrap_servers, topic, 4)
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": topic,
        "file": str(file),
        "tasks.max": "4",
        "value.converter": STRING_CONVERTER,
    }
    assert put(mixed.url("java"), name, config).status == 201
    tasks = [f"{name}-{number}" for number in range(4)]
    told = await_running(mixed.urls(), [name], tasks, mixed.urls())
    assert Counter(told.tasks.values()) == {worker_id(url): 2 for url in mixed.urls()}

    assert_configs_are_known_where_we_run(mixed, name, told)

    await_sink_members(mixed, f"connect-{name}", 4)
    first = send(mixed.bootstrap_servers, topic, 0)
    await_lines(file, first)
    assert Counter(file.read_text().splitlines()) == Counter(first)

    mixed.kill("java")
    second = send(mixed.bootstrap_servers, topic, len(first))
    await_running(mixed.urls("ours"), [name], tasks, mixed.urls("ours"))
    await_lines(file, first + second)
    mixed.start("java")
    await_running(mixed.urls(), [name], tasks, mixed.urls())
    await_sink_members(mixed, f"connect-{name}", 4)
    mixed.kill("ours")
    third = send(mixed.bootstrap_servers, topic, len(first + second))
    await_running(mixed.urls("java"), [name], tasks, mixed.urls("java"))
    await_lines(file, first + second + third)
    assert set(file.read_text().splitlines()) == {*first, *second, *third}


def assert_configs_are_known_where_we_run(mixed: MixedGroup, name: str, told: Running) -> None:
    """Java's worker reports no version of the configuration that it runs, and does not know the question."""
    ours = worker_id(mixed.url("ours"))
    states = {side: KafkaConnectClient(mixed.url(side)).running_config(name) for side in SIDES}
    known = {f"{name}-{task.id}": task.current for task in states["ours"].tasks}
    assert known == {task: True if worker == ours else None for task, worker in told.tasks.items()}
    assert {task.current for task in states["java"].tasks} == {None}
    assert all(status.has_reached(State.RUNNING) for status in states.values())


def await_sink_members(mixed: MixedGroup, group: str, count: int) -> None:
    """Wait until so many consumers share the partitions of a sink."""

    def settled() -> bool:
        found = mixed.described(group)
        return found.state == "Stable" and len(found.members) == count

    await_true(settled, lambda: mixed.described(group))


def send(bootstrap_servers: str, topic: str, first: int) -> list[str]:
    """Send lines to all four partitions."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    lines = [f"line {first + number}" for number in range(40)]
    for number, line in enumerate(lines):
        producer.produce(topic, line, partition=number % 4)
    assert producer.flush(30) == 0
    return lines


def await_lines(file: Path, lines: list[str]) -> None:
    def missing() -> set[str]:
        return set(lines) - set(file.read_text().splitlines() if file.exists() else ())

    await_true(lambda: not missing(), lambda: f"{file} lacks {sorted(missing())[:5]}")


@pytest.mark.nightly
@pytest.mark.parametrize("leader", SIDES)
def test_everything_can_be_asked_of_either_side(
    mixed: MixedGroup, topic_prefix: str, tmp_path: Path, leader: Side
) -> None:
    """Requests go to the follower first; connectors run on both sides, so that both ask the leader to publish tasks."""
    mixed.led_by(leader)
    for number, side in enumerate((other(leader), leader)):
        files = LineFiles(tmp_path, f"{topic_prefix}{number}-", 2)
        lines = files.grow()
        play(mixed, files, side)
        with TopicReader(mixed.bootstrap_servers, files.topic) as reader:
            reader.await_values(lines)


def play(mixed: MixedGroup, files: LineFiles, side: Side) -> None:
    """Lead two connectors, one on each side, through their life by one worker's REST API."""

    def ask(method: str, target: str, body: object = None) -> Answer:
        return mixed.call(side, method, target, body)

    for name in files.names:
        assert ask("POST", "/connectors", {"name": name, "config": files.config(name)}).status == 201
    assert mixed.await_running(files).load == {worker_id(url): (1, 1) for url in mixed.urls()}
    for name in files.names:
        changed = files.config(name, **{"batch.size": "7"})
        assert ask("PUT", f"/connectors/{name}/config", changed).status == 200
        await_task_config(mixed, name, "batch.size", "7")
        assert ask("PATCH", f"/connectors/{name}/config", {"batch.size": "8"}).status == 200
        await_task_config(mixed, name, "batch.size", "8")
        mixed.await_running(files)
        assert ask("PUT", f"/connectors/{name}/pause").status == 202
        mixed.await_states(name, "PAUSED", "PAUSED")
        assert ask("PUT", f"/connectors/{name}/resume").status == 202
        mixed.await_states(name, "RUNNING", "RUNNING")
        assert ask("POST", f"/connectors/{name}/restart").status == 204
        assert ask("POST", f"/connectors/{name}/tasks/0/restart").status == 204
        mixed.await_states(name, "RUNNING", "RUNNING")
        assert ask("POST", f"/connectors/{name}/restart?includeTasks=true").status == 202
        mixed.await_states(name, "RUNNING", "RUNNING")
    stopped = files.names[1]
    await_true(lambda: offsets(ask, stopped) != [], lambda: offsets(ask, stopped))
    assert ask("PUT", f"/connectors/{stopped}/stop").status == 204
    mixed.await_states(stopped, "STOPPED")
    there = offsets(ask, stopped)
    beginning = [{**there[0], "offset": {"position": 0}}]
    assert ask("PATCH", f"/connectors/{stopped}/offsets", {"offsets": beginning}).status == 200
    assert offsets(ask, stopped) == beginning
    assert ask("DELETE", f"/connectors/{stopped}/offsets").status == 200
    # Java (Worker.sourceConnectorOffsets) lists the partitions it knows before it reads to the topic's end:
    # its first answer may still name one, without an offset.
    await_true(lambda: offsets(ask, stopped) == [], lambda: offsets(ask, stopped))
    assert ask("PUT", f"/connectors/{stopped}/resume").status == 202
    mixed.await_states(stopped, "RUNNING", "RUNNING")
    for name in files.names:
        assert ask("DELETE", f"/connectors/{name}").status == 204
    await_true(lambda: all(statuses(url) == {} for url in mixed.urls()), lambda: statuses(mixed.url(side)))


def offsets(ask: Callable[[str, str], Answer], name: str) -> list[dict[str, object]]:
    return list(ask("GET", f"/connectors/{name}/offsets").json["offsets"])


def await_task_config(mixed: MixedGroup, name: str, key: str, value: str) -> None:
    """Wait until both sides know a task's new configuration, which the connector's side has had the leader write."""

    def known(side: Side) -> object:
        answer = mixed.call(side, "GET", f"/connectors/{name}/tasks")
        # Java's answer is 500 while a rebalance is due.
        return answer.json[0]["config"].get(key) if answer.status == 200 and answer.json else None

    await_true(lambda: all(known(side) == value for side in SIDES), lambda: [known(side) for side in SIDES])


@pytest.mark.nightly
def test_a_cluster_moves_to_our_worker_and_back(mixed: MixedGroup, topic_prefix: str, tmp_path: Path) -> None:
    files = LineFiles(tmp_path, topic_prefix, 3)
    running, paused, stopped = files.names
    sink, out = f"{topic_prefix}sink", tmp_path / "out.txt"
    mixed.only("java")
    files.grow()
    for name in files.names:
        assert put(mixed.url("java"), name, files.config(name)).status == 201
    config = {
        "connector.class": "FileStreamSink",
        "topics": files.topic,
        "file": str(out),
        "value.converter": STRING_CONVERTER,
    }
    assert put(mixed.url("java"), sink, config).status == 201
    await_lines(out, files.lines)
    assert mixed.call("java", "PUT", f"/connectors/{paused}/pause").status == 202
    assert mixed.call("java", "PUT", f"/connectors/{stopped}/stop").status == 204

    moves: list[tuple[Side, Side]] = [("java", "ours"), ("ours", "java")]
    for leaving, coming in moves:
        await_moved_states(mixed, running, paused, stopped, sink)
        mixed.stop(leaving)
        grown = files.grow()
        mixed.start(coming)
        await_moved_states(mixed, running, paused, stopped, sink)
        await_lines(out, [line for line in grown if line.startswith(running)])
    time.sleep(1.0)
    # The paused and the stopped one go on where they were, on the side where they began.
    assert mixed.call("java", "PUT", f"/connectors/{paused}/resume").status == 202
    assert mixed.call("java", "PUT", f"/connectors/{stopped}/resume").status == 202
    await_lines(out, files.lines)
    assert Counter(out.read_text().splitlines()) == Counter(files.lines)


def await_moved_states(mixed: MixedGroup, running: str, paused: str, stopped: str, sink: str) -> None:
    mixed.await_states(running, "RUNNING", "RUNNING")
    mixed.await_states(paused, "PAUSED", "PAUSED")
    mixed.await_states(stopped, "STOPPED")
    mixed.await_states(sink, "RUNNING", "RUNNING")


@pytest.mark.nightly
def test_a_group_with_a_class_that_our_worker_lacks_is_not_joined_unless_it_is_told_to(
    mixed: MixedGroup, topic_prefix: str, tmp_path: Path
) -> None:
    mixed.only("java")
    name = f"{topic_prefix}verifiable"
    config = {"connector.class": JAVAS_OWN, "topic": f"{topic_prefix}t", "throughput": "5"}
    created = put(mixed.url("java"), name, config)
    assert created.status == 201, created.body.decode()
    mixed.await_states(name, "RUNNING", "RUNNING")

    refusing = DistributedProcess(mixed.ours.props, tmp_path / "refusing")
    refusing.start()
    try:
        assert refusing.wait_exit(120) == 1
    finally:
        refusing.stop()
    assert "This worker does not join the group, because it lacks plugins" in refusing.log()
    assert f"- {JAVAS_OWN} (connector.class of connector {name})" in refusing.log()
    mixed.await_states(name, "RUNNING", "RUNNING")

    with DistributedProcess({**mixed.ours.props, "missing.plugins": "join"}, tmp_path / "joining") as joining:
        mixed.kill("java")
        await_true(
            lambda: statuses(joining.rest_url).get(name, "").count("FAILED") == 2, lambda: statuses(joining.rest_url)
        )
        status = joining.call("GET", f"/connectors/{name}/status").json
        for part in (status["connector"], *status["tasks"]):
            assert part["worker_id"] == worker_id(joining.rest_url)
            assert (
                f"Failed to find any class that implements Connector and which name matches {JAVAS_OWN}"
                in part["trace"]
            )
        delete_all(joining.rest_url)
