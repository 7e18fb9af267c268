"""Exactly-once sources as Kafka's ``ExactlyOnceSourceIntegrationTest`` has them: boundaries, new tasks, own topics."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.cluster.group_of_workers import (
    STRING_CONVERTER,
    Pair,
    TopicReader,
    as_text,
    await_true,
    delete_all,
    put,
    settled_call,
    states_of,
)
from tests.integration.cluster.seed_workers import PLUGINS

pytestmark = pytest.mark.nightly

GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
    "exactly_once_source_support": "enabled",
    "plugin_path": str(PLUGINS),
}
FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
_INTERVAL_SECONDS = 2.0
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Counting:
    """A connector whose tasks count, see ``plugins/counting.py``.

    Attributes:
        name: its name.
        topic: of its records.
        journal: file for its calls.
    """

    name: str
    topic: str
    journal: Path

    def config(self, tasks: int = 1, more: Mapping[str, str] = NOTHING) -> dict[str, str]:
        """Its configuration."""
        return {
            "connector.class": "CountingConnector",
            "tasks.max": str(tasks),
            "journal": str(self.journal),
            "topic": self.topic,
            "value.converter": STRING_CONVERTER,
            **more,
        }

    def calls(self, what: str) -> int:
        """How often its tasks were started or stopped."""
        return self.journal.read_text().count(what)

    def has_started(self, times: int) -> bool:
        """Return whether its tasks were started a number of times."""
        return self.calls("start") >= times

    def offsets(self, bootstrap_servers: str, topic: str) -> list[tuple[int, float]]:
        """Its committed offsets in a topic, each with the time of its record in seconds."""
        records = topics.read_committed(bootstrap_servers, topic)
        return [
            (json.loads(record.value() or b"")["n"], record.timestamp()[1] / 1000)
            for record in records
            if json.loads(record.key() or b"")[0] == self.name
        ]

    def values(self, bootstrap_servers: str) -> list[str]:
        """Its committed records."""
        return [as_text(record.value()) for record in topics.read_committed(bootstrap_servers, self.topic)]


@pytest.fixture(scope="module")
def workers(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("connectors")
    props = group_properties(broker.bootstrap_servers, f"{folder.name}-{time.time_ns()}-", **GROUP)
    with Pair(props, folder) as pair:
        yield pair


@pytest.fixture
def pair(workers: Pair) -> Iterator[Pair]:
    """Two workers without connectors."""
    yield workers
    workers.delete_all()


@pytest.fixture
def counting(tmp_path: Path, topic_prefix: str) -> Counting:
    return Counting(f"{topic_prefix}counting", f"{topic_prefix}numbers", tmp_path / "journal")


def offsets_topic(pair: Pair) -> str:
    return pair.workers[0].props["offset.storage.topic"]


def await_values(bootstrap_servers: str, counting: Counting, *values: str) -> None:
    with TopicReader(bootstrap_servers, counting.topic) as reader:
        reader.await_values(values)


def await_states(url: str, counting: Counting, *states: str) -> None:
    await_true(lambda: states_of(url, counting.name) == list(states), lambda: states_of(url, counting.name))


def delete(url: str, counting: Counting) -> None:
    """Delete the connector, and wait until its tasks have written their last."""
    assert settled_call(url, "DELETE", f"/connectors/{counting.name}").status == 204
    await_true(lambda: counting.calls("start") == counting.calls("stop"), lambda: counting.journal.read_text())
    delete_all(url)


def test_each_poll_is_a_transaction_by_default(pair: Pair, counting: Counting) -> None:
    assert put(pair.urls[0], counting.name, counting.config()).status == 201
    await_values(pair.bootstrap_servers, counting, "0:20")
    numbers = [number for number, _ in counting.offsets(pair.bootstrap_servers, offsets_topic(pair))]
    assert numbers[:20] == list(range(20))


def test_an_interval_is_a_transaction(pair: Pair, counting: Counting) -> None:
    interval = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "2000"}
    assert put(pair.urls[0], counting.name, counting.config(more=interval)).status == 201
    await_values(pair.bootstrap_servers, counting, "0:60")
    committed = counting.offsets(pair.bootstrap_servers, offsets_topic(pair))
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(committed)]
    assert len(gaps) >= 2
    assert min(gaps) >= _INTERVAL_SECONDS - 0.1
    assert [number for number, _ in committed] == sorted({number for number, _ in committed})
    # What a consumer sees ends where an interval has ended.
    values = counting.values(pair.bootstrap_servers)
    assert values == [f"0:{number}" for number in range(len(values))]
    ends = [number + 1 for number, _ in counting.offsets(pair.bootstrap_servers, offsets_topic(pair))]
    assert len(values) in ends


@contextmanager
def foreign_producers(pair: Pair, counting: Counting, count: int) -> Iterator[list[Producer]]:
    """Producers with the transactional ids of tasks, as tasks would have them that run on elsewhere."""
    ids = [f"{pair.group_id}-{counting.name}-{number}" for number in range(count)]
    found = [Producer({"bootstrap.servers": pair.bootstrap_servers, "transactional.id": id}) for id in ids]
    for producer in found:
        producer.init_transactions(30)
    yield found


def is_fenced_out(producer: Producer, topic: str) -> bool:
    """Try to commit a record of a producer; answers whether it was fenced out."""
    try:
        producer.begin_transaction()
        producer.produce(topic, b"from elsewhere")
        producer.commit_transaction(30)
    except KafkaException as error:
        return error.args[0].code() in FENCED
    return False


def test_former_tasks_are_fenced_out_at_each_number_of_tasks(pair: Pair, counting: Counting) -> None:
    topics.create(pair.bootstrap_servers, counting.topic, 3)
    assert put(pair.urls[0], counting.name, counting.config(3)).status == 201
    await_states(pair.urls[0], counting, *["RUNNING"] * 4)
    for former, count in ((3, 5), (5, 1), (1, 5), (5, 3)):
        with foreign_producers(pair, counting, former) as producers:
            started = counting.calls("start") + count
            assert put(pair.urls[1], counting.name, counting.config(count)).status == 200
            # Former tasks, which are not yet stopped, may show the same states.
            await_true(partial(counting.has_started, started), counting.journal.read_text)
            await_states(pair.urls[0], counting, *["RUNNING"] * (count + 1))
            assert all(is_fenced_out(producer, counting.topic) for producer in producers), (former, count)
    before = len(counting.values(pair.bootstrap_servers))
    await_true(lambda: len(counting.values(pair.bootstrap_servers)) > before + 10, lambda: before)
    delete(pair.urls[0], counting)
    values = counting.values(pair.bootstrap_servers)
    tasks = {value.partition(":")[0] for value in values}
    assert tasks == {str(number) for number in range(5)}
    for task in tasks:
        numbers = sorted(int(value.partition(":")[2]) for value in values if value.startswith(f"{task}:"))
        assert numbers == list(range(len(numbers))), task


def test_records_for_its_own_offsets_topic_fail_the_task(pair: Pair, counting: Counting) -> None:
    interval = {"transaction.boundary": "interval", "offsets.storage.topic": counting.topic}
    assert put(pair.urls[0], counting.name, counting.config(more=interval)).status == 201
    await_states(pair.urls[0], counting, "RUNNING", "FAILED")
    status = settled_call(pair.urls[0], "GET", f"/connectors/{counting.name}/status").json
    expected = "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
    assert expected in status["tasks"][0]["trace"]
    assert counting.values(pair.bootstrap_servers) == []


def test_a_separate_topic_goes_on_from_the_offsets_of_the_group(pair: Pair, counting: Counting) -> None:
    assert put(pair.urls[0], counting.name, counting.config()).status == 201
    await_values(pair.bootstrap_servers, counting, "0:5")
    own = f"{counting.name}-offsets"
    assert put(pair.urls[0], counting.name, counting.config(more={"offsets.storage.topic": own})).status == 200
    await_true(lambda: own in topics.names(pair.bootstrap_servers), lambda: own)
    await_true(lambda: len(counting.offsets(pair.bootstrap_servers, own)) > 10, lambda: own)
    delete(pair.urls[0], counting)
    values = counting.values(pair.bootstrap_servers)
    assert values == [f"0:{number}" for number in range(len(values))]
    separate = [number for number, _ in counting.offsets(pair.bootstrap_servers, own)]
    assert separate == list(range(separate[0], len(values)))
    assert separate[0] >= 6
    # The group's topic has a copy.
    copied = [number for number, _ in counting.offsets(pair.bootstrap_servers, offsets_topic(pair))]
    assert copied == list(range(len(values)))


def test_offsets_are_where_the_records_are(
    broker: Broker, own_broker: EmbeddedBroker, counting: Counting, tmp_path: Path, topic_prefix: str
) -> None:
    """A connector writes to another cluster, with its offsets there; later without transactions."""
    props = group_properties(broker.bootstrap_servers, topic_prefix, **GROUP)
    target, own = own_broker.bootstrap_servers, f"{counting.name}-offsets"
    overrides = {f"{client}.override.bootstrap.servers": target for client in ("producer", "consumer", "admin")}
    with DistributedProcess(props, tmp_path / "worker") as worker:
        config = counting.config(more={"offsets.storage.topic": own, **overrides})
        assert put(worker.rest_url, counting.name, config).status == 201
        await_values(target, counting, "0:20")
    values = counting.values(target)
    assert values == [f"0:{number}" for number in range(len(values))]
    assert [number for number, _ in counting.offsets(target, own)] == list(range(len(values)))
    copied = [number for number, _ in counting.offsets(broker.bootstrap_servers, props["offset.storage.topic"])]
    assert copied == list(range(len(values)))
    with DistributedProcess({**props, "exactly.once.source.support": "disabled"}, tmp_path / "disabled") as worker:
        await_values(target, counting, f"0:{len(values) + 10}")
        delete(worker.rest_url, counting)
    later = counting.values(target)
    last, _ = counting.offsets(target, own)[-1]
    assert last >= len(values)
    assert later[: last + 1] == [f"0:{number}" for number in range(last + 1)]
