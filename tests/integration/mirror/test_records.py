"""Records arrive on the target as they are on the source."""

import random
from collections.abc import Iterator
from typing import Any

from tests.integration.mirror.clusters import Cluster
from tests.integration.mirror.conftest import Flow

PARTITIONS = 6
NOW = 1_790_000_000_000


def any_records(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(1)
    for number in range(count):
        yield {
            "key": (None, b"", f"key {number}".encode())[number % 3],
            "value": (None, b"", bytes(chance.randbytes(chance.randrange(200))))[min(number % 50, 2)],
            "partition": chance.randrange(PARTITIONS),
            "timestamp": NOW + chance.randrange(-(10**9), 10**6),
            "headers": _headers(number),
        }


def _headers(number: int) -> list[tuple[str, bytes | None]]:
    match number % 5:
        case 0:
            return [("number", str(number).encode()), ("number", None), ("", b"")]
        case 1:
            return [(f"ä{number}", b"\x00\xff")]
        case _:
            return []


def test_lb_01_each_record_is_on_the_target_as_it_was(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create("lb01", PARTITIONS)
    source.produce(topic, any_records(100_000))
    flow.start("Source", topics=topic, tasks_max="2")
    ends = source.ends(topic)
    expected = source.read(topic, ends)
    found = target.read(flow.remote(topic), ends)
    for number in ends:
        assert [one.content for one in found[number]] == [one.content for one in expected[number]]
    assert target.ends(flow.remote(topic)) == ends
