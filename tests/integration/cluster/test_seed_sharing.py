"""Workers of a group share connectors and tasks: two of one group, of which one dies, and one of another group.

The second worker's session is long, so that a test decides when the brokers notice its death.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from connect_dagster.client.operations import Wait, await_states
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.plugin.connector_file import DesiredState
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import (
    STRING_CONVERTER,
    TopicReader,
    await_running,
    settled_call,
    worker_id,
)
from tests.integration.cluster.seed_workers import PLUGINS, create, started
from tests.integration.topics import create as create_topic
from tests.rest_calls import Answer

pytestmark = pytest.mark.nightly

SESSION_SECONDS, DELAY_SECONDS = 6, 5
RECORDS = 10


@dataclass(frozen=True, slots=True)
class Shared:
    """Two workers of one group, one of another."""

    broker: Broker
    folder: Path
    props: dict[str, str]
    pair: tuple[DistributedProcess, DistributedProcess]
    alone: DistributedProcess

    @property
    def urls(self) -> list[str]:
        return [worker.rest_url for worker in self.pair]

    def config(self, name: str, tasks: int, topic: str = "") -> dict[str, str]:
        """The configuration of a connector that counts."""
        return {
            "connector.class": "CountingConnector",
            "tasks.max": str(tasks),
            "journal": str(self.journal(name)),
            "topic": topic,
            "value.converter": STRING_CONVERTER,
        }

    def journal(self, name: str) -> Path:
        return self.folder / f"{name}.journal"

    @contextmanager
    def counting(self, name: str, tasks: int, topic: str = "") -> Iterator[list[str]]:
        """Have a connector for a while; yields its tasks."""
        body = {"name": name, "config": self.config(name, tasks, topic)}
        assert settled_call(self.urls[0], "POST", "/connectors", body).status == 201
        try:
            yield [f"{name}-{number}" for number in range(tasks)]
        finally:
            self.delete(name)

    def delete(self, name: str) -> None:
        """Delete a connector, through a worker that lives."""
        url = next(worker.rest_url for worker in self.pair if worker.exit_code is None)
        assert settled_call(url, "DELETE", f"/connectors/{name}").status == 204


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    prefix, folder = f"sharing-{uuid4().hex[:8]}-", tmp_path_factory.mktemp("sharing")
    more = {
        "session_timeout_ms": str(SESSION_SECONDS * 1000),
        "heartbeat_interval_ms": "2000",
        "scheduled_rebalance_max_delay_ms": str(DELAY_SECONDS * 1000),
        "plugin_path": str(PLUGINS),
    }
    props = group_properties(broker.bootstrap_servers, prefix, **more)
    pair = (
        DistributedProcess(props, folder / "first"),
        DistributedProcess({**props, "session.timeout.ms": "120000"}, folder / "second"),
    )
    alone = DistributedProcess(group_properties(broker.bootstrap_servers, f"{prefix}other-", **more), folder / "alone")
    with started(*pair, alone):
        yield Shared(broker, folder, props, pair, alone)


@pytest.fixture
def shared(workers: Shared) -> Shared:
    """All of them alive, whatever a test before did to them."""
    for worker in workers.pair:
        if worker.exit_code is not None:
            worker.start()
    for worker in workers.pair:
        worker.wait_ready()
    return workers


def test_s2_12_who_has_the_same_group_shares_and_nobody_else(shared: Shared) -> None:
    with shared.counting("four", 4) as tasks:
        told = await_running(shared.urls, ["four"], tasks, shared.urls)
        assert Counter(told.tasks.values()) == {worker_id(url): 2 for url in shared.urls}
        assert [worker.call("GET", "/connectors").json for worker in shared.pair] == [["four"], ["four"]]
        assert shared.alone.call("GET", "/connectors").json == []


def test_a_new_configuration_runs_once_any_worker_says_so(shared: Shared) -> None:
    """All parts were RUNNING right after the change: those of the former configuration."""
    with shared.counting("changed", 4) as tasks:
        await_running(shared.urls, ["changed"], tasks, shared.urls)
        for asked, other in (shared.pair, shared.pair[::-1]):
            journal = shared.journal(f"changed-{asked.rest_url[-5:]}")
            changed = {**shared.config("changed", 4), "journal": str(journal)}
            assert settled_call(asked.rest_url, "PUT", "/connectors/changed/config", changed).status == 200
            client = KafkaConnectClient(other.rest_url)
            assert await_states(client, {"changed": DesiredState.RUNNING}, Wait(60.0)) == {}
            assert sorted(journal.read_text().splitlines()) == [f"start {number}" for number in range(4)]


def test_s2_13_a_killed_workers_tasks_go_on_elsewhere(shared: Shared) -> None:
    dying, staying = shared.pair
    topic = f"{shared.props['group.id']}-counted"
    create_topic(shared.broker.bootstrap_servers, topic, 1)
    with shared.counting("counted", 4, topic) as tasks, TopicReader(shared.broker.bootstrap_servers, topic) as reader:
        await_running(shared.urls, ["counted"], tasks, shared.urls)
        reader.await_values({f"{number}:{RECORDS}" for number in range(4)})
        dying.kill()
        began = time.monotonic()
        await_running([staying.rest_url], ["counted"], tasks, [staying.rest_url])
        took = time.monotonic() - began
        reached = _counted(reader)
        reader.await_values({f"{task}:{max(numbers) + RECORDS}" for task, numbers in reached.items()})
        for numbers in _counted(reader).values():
            assert sorted(numbers) == list(range(max(numbers) + 1))
    assert took < SESSION_SECONDS + DELAY_SECONDS + 5


def test_s2_15_connectors_are_created_through_any_worker(shared: Shared) -> None:
    names = [f"posted-{number}" for number in range(6)]
    quiet, busy = names[:2], names[2:]
    try:
        for worker, name in zip(shared.pair, quiet, strict=True):
            answer = create(worker, name, shared.config(name, 1))
            assert (answer.status, answer.headers["location"]) == (201, f"{worker.rest_url}/connectors/{name}")
        # Each of these has the group form anew, while the others come in.
        with ThreadPoolExecutor(len(busy)) as pool:
            outcomes = list(pool.map(lambda name: _posted(shared, name), busy))
        for name, (answer, took) in zip(busy, outcomes, strict=True):
            assert took < 90
            assert answer.status in (201, 409)
            if answer.status == 409:
                assert answer.message.startswith("Cannot complete request momentarily due to ")
                body = {"name": name, "config": shared.config(name, 1)}
                assert settled_call(shared.urls[1], "POST", "/connectors", body).status == 201
        await_running(shared.urls, names, [f"{name}-0" for name in names], shared.urls)
    finally:
        for name in names:
            shared.delete(name)


def _counted(reader: TopicReader) -> dict[str, set[int]]:
    """What each task has counted so far."""
    reader.read_to_end()
    found: dict[str, set[int]] = defaultdict(set)
    for value in reader.values:
        task, _, number = value.partition(":")
        found[task].add(int(number))
    return found


def _posted(shared: Shared, name: str) -> tuple[Answer, float]:
    began = time.monotonic()
    answer = create(shared.pair[int(name[-1]) % 2], name, shared.config(name, 1))
    return answer, time.monotonic() - began
