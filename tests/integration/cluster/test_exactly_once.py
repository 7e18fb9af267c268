"""Source connectors that write their records and offsets in one transaction, in a group of two workers (KIP-618)."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import Broker
from tests.distributed_process import group_properties
from tests.integration.cluster.group_of_workers import (
    STRING_CONVERTER,
    LineFiles,
    Pair,
    TopicReader,
    as_text,
    await_true,
    put,
    settled_call,
    states_of,
    statuses,
)

GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
    "exactly_once_source_support": "enabled",
}
SIZE, COUNT = 5, 402


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("exactly-once")
    prefix = f"{folder.name}-{time.time_ns()}-"
    plugins = str(Path(__file__).parent / "plugins")
    props = group_properties(broker.bootstrap_servers, prefix, **GROUP, plugin_path=plugins)
    with Pair(props, folder) as pair:
        yield pair


@pytest.fixture
def pair(workers: Pair) -> Iterator[Pair]:
    """Two workers without connectors."""
    yield workers
    workers.delete_all()


@pytest.fixture
def files(tmp_path: Path, topic_prefix: str) -> LineFiles:
    return LineFiles(tmp_path, topic_prefix, 2)


def each_once(pair: Pair, files: LineFiles) -> bool:
    with TopicReader(pair.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)
        return Counter(reader.values) == Counter(files.lines)


def test_records_and_offsets_are_committed_together(pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    files.grow(200)
    assert each_once(pair, files)
    for name in files.names:
        answer = settled_call(pair.urls[0], "GET", f"/connectors/{name}/offsets")
        size = (files._file(name)).stat().st_size
        assert [one["offset"] for one in answer.json["offsets"]] == [{"position": size}]
    with TopicReader(pair.bootstrap_servers, pair.workers[0].props["config.storage.topic"]) as configs:
        configs.await_values(['{"task-count":1}'])
        fenced = {as_text(record.key()) for record in configs.records if as_text(record.value()) == '{"task-count":1}'}
        assert fenced >= {f"tasks-fencing-{name}" for name in files.names}


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_killed_worker_leaves_no_record_twice(pair: Pair, files: LineFiles, kills: int) -> None:
    pair.create(files)
    for _ in range(kills):
        victim, other = pair.leader_and_follower()
        files.grow(2000)
        time.sleep(0.2)
        victim.kill()
        files.grow(200)
        pair.await_running(files, other)
        victim.start()
        victim.wait_ready()
        pair.await_running(files)
    assert each_once(pair, files)


def test_a_leader_that_was_fenced_out_claims_its_privilege_again(pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    foreign = Producer(
        {"bootstrap.servers": pair.bootstrap_servers, "transactional.id": f"connect-cluster-{pair.group_id}"}
    )
    foreign.init_transactions(20)
    leader, _ = pair.leader_and_follower()
    config = files.config(files.names[0], **{"batch.max.rows": "100"})
    refused = put(leader.rest_url, files.names[0], config)
    assert (refused.status, refused.json["message"]) == (
        500,
        "Failed to write to config topic; this may be due to a transient error and the request can be safely retried",
    )
    assert put(leader.rest_url, files.names[0], config).status == 200
    pair.await_running(files)
    files.grow(5)
    assert each_once(pair, files)


def test_a_task_that_was_fenced_out_fails_and_goes_on_after_a_restart(pair: Pair, files: LineFiles) -> None:
    pair.create(files)
    name = files.names[0]
    foreign = Producer({"bootstrap.servers": pair.bootstrap_servers, "transactional.id": f"{pair.group_id}-{name}-0"})
    foreign.init_transactions(20)
    files.grow(5)
    await_true(lambda: "FAILED" in states_of(pair.urls[0], name), lambda: states_of(pair.urls[0], name))
    trace = settled_call(pair.urls[0], "GET", f"/connectors/{name}/status").json["tasks"][0]["trace"]
    assert "another task has taken its place" in trace
    assert settled_call(pair.urls[0], "POST", f"/connectors/{name}/restart?includeTasks=true").status == 202
    pair.await_running(files)
    assert each_once(pair, files)


def groups_config(topic: str, **more: str) -> dict[str, str]:
    """Return the configuration of a source that ends its transactions itself."""
    return {
        "connector.class": "groups.GroupsConnector",
        "topic": topic,
        "tasks.max": "1",
        "size": str(SIZE),
        "count": str(COUNT),
        "transaction.boundary": "connector",
        "key.converter": STRING_CONVERTER,
        "value.converter": STRING_CONVERTER,
        **more,
    }


def test_a_connector_ends_its_transactions(pair: Pair, topic_prefix: str) -> None:
    topic, name = f"{topic_prefix}groups", f"{topic_prefix}groups"
    assert put(pair.urls[0], name, groups_config(topic)).status == 201
    for _ in range(2):
        time.sleep(0.7)
        victim = next(one for one in pair.workers if one.rest_url.endswith(worker_of_task(pair, name)))
        victim.kill()
        victim.start()
        victim.wait_ready()
    # The last group is not whole: no transaction has ended with it.
    groups = range(COUNT // SIZE)
    committed = [str(n) for group in groups if group % 3 != 2 for n in range(group * SIZE, (group + 1) * SIZE)]
    with TopicReader(pair.bootstrap_servers, topic) as reader:
        reader.await_values(committed)
        assert reader.values == committed
    await_true(
        lambda: stored_offsets(pair, name) == [{"n": len(groups) * SIZE - 1}], lambda: stored_offsets(pair, name)
    )


def test_only_a_connector_that_can_ends_its_transactions(pair: Pair, files: LineFiles) -> None:
    config = files.config(files.names[0], **{"transaction.boundary": "connector"})
    answer = put(pair.urls[0], files.names[0], config)
    assert answer.status == 400
    assert "The connector does not support connector-defined transaction boundaries" in answer.json["message"]


def worker_of_task(pair: Pair, name: str) -> str:
    """Return the id of the worker that runs the task of a connector, once one does."""
    found: list[str] = []

    def runs() -> bool:
        status = settled_call(pair.urls[0], "GET", f"/connectors/{name}/status").json
        found[:] = [task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING"]
        return bool(found)

    await_true(runs, lambda: statuses(pair.urls[0]))
    return found[0]


def stored_offsets(pair: Pair, name: str) -> list[object]:
    """Return the offsets that a connector has committed."""
    answer = settled_call(pair.urls[0], "GET", f"/connectors/{name}/offsets")
    return [one["offset"] for one in answer.json["offsets"]]
