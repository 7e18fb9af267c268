"""Records and logs that are not like most others: transactions, gaps, times of brokers, many headers."""

from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow
from tests.integration.mirror.writing import check_syncs

pytestmark = pytest.mark.nightly

NOW = 1_790_000_000_000
COMMITTED = {"source_consumer_isolation_level": "read_committed"}


def transactional(cluster: Cluster, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(60)
    return producer


def write(producer: Producer, topic: str, *values: str) -> None:
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value.encode(), partition=0)
    assert producer.flush(60) == 0


def values(cluster: Cluster, topic: str, count: int) -> list[str]:
    return [(one.value or b"").decode() for one in cluster.read(topic, {0: count})[0]]


def syncs_of(flow: Flow) -> str:
    return f"mm2-offset-syncs.target-of-{flow.alias}.internal"


@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
def test_large_records_and_many_headers(flow: Flow, source: Cluster, target: Cluster, few: bool) -> None:
    topic = source.create(f"{flow.alias}-large", max_message_bytes="2000000")
    headers = [(f"h{number % 10}", str(number).encode()) for number in range(1_000)]
    records: list[dict[str, Any]] = [
        {"value": b"x" * 900_000, "timestamp": NOW},
        {"key": b"k" * 100_000, "value": None, "timestamp": NOW},
        {"value": b"headers", "headers": headers, "timestamp": NOW},
    ]
    more = [] if few else [{"value": str(number).encode(), "timestamp": NOW} for number in range(1_000)]
    source.produce(topic, [*records, *more])
    flow.start("Source", topics=topic)
    count = len(records) + len(more)
    found = target.read(flow.remote(topic), {0: count})[0]
    assert [one.content for one in found] == [one.content for one in source.read(topic, {0: count})[0]]


@pytest.mark.parametrize("side", ["source", "target"])
def test_times_of_brokers(flow: Flow, source: Cluster, target: Cluster, side: str) -> None:
    """A record has on the target the time that it has on the source, unless the target has its own times."""
    by_broker = {"message_timestamp_type": "LogAppendTime"}
    topic = source.create(f"{flow.alias}-times", 1, **(by_broker if side == "source" else {}))
    remote = flow.remote(topic)
    if side == "target":
        target.create(remote, 1, **by_broker)
    source.produce(topic, [{"value": b"1", "timestamp": NOW}])
    flow.start("Source", topics=topic)
    (copy,), (record,) = target.read(remote, {0: 1})[0], source.read(topic, {0: 1})[0]
    assert (copy.timestamp[1] == record.timestamp[1]) == (side == "source")
    assert (record.timestamp[1] == NOW) == (side == "target")


@pytest.mark.parametrize("count", [3, 1_000], ids=["few", "many"])
def test_transactions_of_the_source(flow: Flow, source: Cluster, target: Cluster, count: int) -> None:
    """By default all records go over, as with Java's consumer; offsets of markers are gaps."""
    topic = source.create(f"{flow.alias}-all")
    producer = transactional(source, flow.alias)
    kept, dropped = ([f"{word} {number}" for number in range(count)] for word in ("kept", "dropped"))
    write(producer, topic, *kept)
    producer.commit_transaction(60)
    write(producer, topic, *dropped)
    producer.abort_transaction(60)
    flow.start("Source", topics=topic, offset_lag_max="0")
    remote = flow.remote(topic)
    assert values(target, remote, 2 * count) == [*kept, *dropped]
    source.produce(topic, [{"value": b"plain"}])
    assert values(target, remote, 2 * count + 1)[-1] == "plain"
    eventually(lambda: source.ends(syncs_of(flow)).get(0, 0) > 1, "offset syncs are written")
    assert check_syncs(source, topic, target, remote, syncs_of(flow)) > 0


@pytest.mark.parametrize("count", [3, 1_000], ids=["few", "many"])
def test_committed_records_of_the_source(flow: Flow, source: Cluster, target: Cluster, count: int) -> None:
    topic = source.create(f"{flow.alias}-committed")
    producer, other = (transactional(source, f"{flow.alias}-{number}") for number in range(2))
    kept, dropped, waiting = ([f"{word} {number}" for number in range(count)] for word in ("kept", "dropped", "open"))
    write(producer, topic, *kept)
    producer.commit_transaction(60)
    write(producer, topic, *dropped)
    producer.abort_transaction(60)
    write(other, topic, *waiting)
    source.produce(topic, [{"value": b"plain"}])
    flow.start("Source", topics=topic, offset_lag_max="0", **COMMITTED)
    remote = flow.remote(topic)
    assert values(target, remote, count) == kept
    assert target.ends(remote) == {0: count}, "what follows an open transaction waits for its end"
    other.commit_transaction(60)
    assert values(target, remote, 2 * count + 1) == [*kept, *waiting, "plain"]
    eventually(lambda: source.ends(syncs_of(flow)).get(0, 0) > 1, "offset syncs are written")
    assert check_syncs(source, topic, target, remote, syncs_of(flow)) > 0


def test_a_position_in_an_open_transaction_is_waited_at(flow: Flow, source: Cluster, target: Cluster) -> None:
    """It is behind the committed records, and in its log all the same."""
    topic = source.create(f"{flow.alias}-open")
    source.produce(topic, [{"value": b"first"}])
    producer = transactional(source, flow.alias)
    write(producer, topic, *(str(number) for number in range(10)))
    name = flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    assert values(target, remote, 11) == ["first", *(str(number) for number in range(10))]
    path = f"/connectors/{name}"
    eventually(lambda: bool(flow.worker.call("GET", f"{path}/offsets").json["offsets"]), "offsets are committed")
    config = flow.worker.call("GET", path).json["config"]
    flow.worker.call("PUT", f"{path}/config", {**config, "source.consumer.isolation.level": "read_committed"})
    eventually(lambda: flow.status(name)["tasks"][0]["state"] == "RUNNING", "the task runs again")
    producer.commit_transaction(60)
    source.produce(topic, [{"value": b"last"}])
    assert values(target, remote, 12) == ["first", *(str(number) for number in range(10)), "last"]
    assert target.ends(remote) == {0: 12}, "nothing is read again"


def test_a_log_whose_first_records_are_removed(flow: Flow, source: Cluster, target: Cluster) -> None:
    """Of many partitions each, so that a fetch from an offset that is gone would be seen."""
    topic = source.create(f"{flow.alias}-removed", 30)
    source.produce(topic, ({"value": b"old", "partition": number % 30} for number in range(300)))
    source.remove_before(topic, dict.fromkeys(range(30), 8))
    flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, dict.fromkeys(range(30), 2))
    for batch in range(3):
        source.produce(topic, ({"value": b"new", "partition": number} for number in range(30)))
        target.read(remote, dict.fromkeys(range(30), 3 + batch))


def test_records_before_the_start_are_left_out_with_latest(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-latest")
    source.produce(topic, ({"value": b"old"} for _ in range(1_000)))
    flow.start("Source", topics=topic, source_consumer_auto_offset_reset="latest")
    remote = flow.remote(topic)
    eventually(lambda: "Replicating 1 topic-partitions" in flow.worker.log(), "the task has started")

    def arrives() -> bool:
        source.produce(topic, [{"value": b"new"}])
        return target.ends(remote).get(0, 0) > 0

    eventually(arrives, "a record of later arrives")
    assert set(values(target, remote, target.ends(remote)[0])) == {"new"}
