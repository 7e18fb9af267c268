"""The three topics of a group beside Java's: the same calls to both workers, their records compared byte by byte."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from tests.conformance.distributed_play import Cluster, at_once, java_cluster, our_cluster
from tests.conformance.topic_bytes_play import KINDS, Written, by_key, shared_names, with_names, written
from tests.conformance.topic_bytes_script import SCENARIOS
from tests.conftest import Broker

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def sides(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    folder = tmp_path_factory.mktemp("topic-bytes")
    names = shared_names(folder)
    feed(broker.bootstrap_servers, names)
    with our_cluster(broker.bootstrap_servers, folder) as ours, java_cluster(broker.bootstrap_servers, folder) as java:
        yield with_names(java, names), with_names(ours, names)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_topics_hold_what_javas_hold(sides: tuple[Cluster, Cluster], scenario: str) -> None:
    java, ours = at_once(*(partial(written, cluster, SCENARIOS[scenario]) for cluster in sides))
    differences = [line for kind in KINDS for line in compared(kind, java[kind], ours[kind])]
    assert not differences, "\n".join(differences)


def test_topics_are_made_as_java_makes_them(sides: tuple[Cluster, Cluster]) -> None:
    java, ours = ({kind: _settings(cluster, kind) for kind in KINDS} for cluster in sides)
    assert ours == java


def feed(bootstrap_servers: str, names: dict[str, str]) -> None:
    """A record for sinks to read, and one that no converter understands."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    producer.produce(names["sink_topic"], json.dumps({"schema": None, "payload": "a line"}))
    producer.produce(names["bad_topic"], "no JSON")
    producer.flush()


def compared(kind: str, java: list[Written], ours: list[Written]) -> Iterator[str]:
    """Where the records of a topic differ, as lines to be read."""
    if kind == "config" and [record.key for record in java] != [record.key for record in ours]:
        yield f"config topic, order of keys:\n  java {[r.key for r in java]}\n  ours {[r.key for r in ours]}"
    left, right = by_key(java), by_key(ours)
    if kind == "offset":
        left, right = ({place: without_earlier(values) for place, values in side.items()} for side in (left, right))
    for place in sorted(left.keys() | right.keys(), key=str):
        if left.get(place) != right.get(place):
            yield f"{kind} topic, partition {place[0]}, key {place[1]!r}:"
            yield from (f"  java {value!r}" for value in left.get(place, ["nothing"]))
            yield from (f"  ours {value!r}" for value in right.get(place, ["nothing"]))


def without_earlier(values: list[Any]) -> list[Any]:
    """Values of a key without offsets that another one follows: the number of flushes is a matter of time."""
    return [value for value, following in pairwise([*values, None]) if value is None or following is None]


def _settings(cluster: Cluster, kind: str) -> tuple[int, dict[str, str]]:
    """Number of partitions, and the settings of the topic itself."""
    admin = AdminClient({"bootstrap.servers": cluster.props["bootstrap.servers"]})
    topic = cluster.props[f"{kind}.storage.topic"]
    partitions = len(admin.list_topics(topic, timeout=10).topics[topic].partitions)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(10)
    return partitions, {name: entry.value for name, entry in entries.items() if not entry.is_default}
