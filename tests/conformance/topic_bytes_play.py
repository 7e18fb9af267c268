"""Plays a scenario to a cluster and tells what it wrote to its three topics, without what differs by nature."""

import json
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.conformance.distributed_play import LINES, Cluster
from tests.conformance.topic_bytes_script import DELETE, GONE, Scenario
from tests.conformance.topic_records import TopicRecord, end_offsets, records

KINDS = ("config", "offset", "status")
QUIET_SECONDS = 1.0
POLL_SECONDS = 0.25
SECONDS = 60.0

# Java's order of the keys inside is that of its map, and means nothing to a reader.
UNORDERED = re.compile(rb"(connector|task)-")
VARYING = (
    (re.compile(r'"generation":\d+'), '"generation":{number}'),
    (re.compile(r'"(discoverTimestamp|creation-timestamp)":\d{13}\b'), r'"\1":{instant}'),
    (re.compile(r'"key":"[\w+/]{43}="'), '"key":"{256 bits}"'),
    # Java looks the version up by the connector's name, which may be forgotten by then.
    (re.compile(r'({"state":"UNASSIGNED".*"version":)(null|"4.3.1")'), r"\1{or null}"),
    (re.compile(r'("trace":"(?:[^"\\]|\\[^n])*)\\n(?:[^"\\]|\\.)*"'), r'\1{frames}"'),
)

# The topics are waited for as well, until they are quiet.
SETTLED_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Written:
    """A record without what differs by nature.

    Attributes:
        partition: where it lies.
        key: byte for byte.
        value: its text, or an object where the order of keys means nothing; None for a tombstone.
    """

    partition: int
    key: bytes | None
    value: Any


def shared_names(folder: Path) -> dict[str, str]:
    """The names that decide about keys and partitions, alike for both clusters."""
    source = folder / "source.txt"
    source.write_text(LINES)
    run = uuid.uuid4().hex[:8]
    return {
        "source": str(source),
        "topic": f"bytes-{run}-t",
        "sink_topic": f"bytes-{run}-s",
        "bad_topic": f"bytes-{run}-b",
    }


def with_names(cluster: Cluster, names: dict[str, str]) -> Cluster:
    side = replace(cluster.side, names={**cluster.side.names, **names}, settled_seconds=SETTLED_SECONDS)
    return replace(cluster, side=side)


def written(cluster: Cluster, scenario: Scenario) -> dict[str, list[Written]]:
    """What the scenario's calls write, by kind of topic; the connector is gone afterwards."""
    cluster.side.play(scenario.before)
    ends = settle(cluster)
    cluster.side.play(scenario.calls)
    settle(cluster)
    read = records(cluster.props["bootstrap.servers"], _topics(cluster))
    new = [record for record in read if record.offset >= ends[record.topic, record.partition]]
    if scenario.calls[-1] is not GONE:
        cluster.side.play((DELETE, GONE))
    return {
        kind: [_written(cluster, record) for record in new if record.topic == topic]
        for kind, topic in zip(KINDS, _topics(cluster), strict=True)
    }


def by_key(found: Sequence[Written]) -> dict[tuple[int, bytes | None], list[Any]]:
    """Values by partition and key, each run of equal ones told once.

    A worker may write a topic's first use, and an offset, once more: it says the same again.
    """
    place = sorted({(record.partition, record.key or b"") for record in found})
    return {
        (partition, key): [
            value for value, _ in groupby(r.value for r in found if (r.partition, r.key) == (partition, key))
        ]
        for partition, key in place
    }


def settle(cluster: Cluster) -> dict[tuple[str, int], int]:
    """Wait until nothing was written to the topics for a while; answers where they end."""
    start = since = time.monotonic()
    ends = end_offsets(cluster.props["bootstrap.servers"], _topics(cluster))
    while time.monotonic() - since < QUIET_SECONDS:
        if time.monotonic() - start > SECONDS:
            raise TimeoutError(f"{cluster.props['group.id']} writes to its topics without end")
        time.sleep(POLL_SECONDS)
        found = end_offsets(cluster.props["bootstrap.servers"], _topics(cluster))
        if found != ends:
            ends, since = found, time.monotonic()
    return ends


def _topics(cluster: Cluster) -> list[str]:
    return [cluster.props[f"{kind}.storage.topic"] for kind in KINDS]


def _written(cluster: Cluster, record: TopicRecord) -> Written:
    return Written(record.partition, record.key, _value(cluster, record))


def _value(cluster: Cluster, record: TopicRecord) -> Any:
    if record.value is None:
        return None
    text = cluster.side.neutral(record.value.decode())
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return json.loads(text) if record.key and UNORDERED.match(record.key) else text
