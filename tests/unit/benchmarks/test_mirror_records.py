"""The records of the mirror benchmark, and when two topics hold the same ones."""

import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from benchmarks.mirror.bench import Effort
from benchmarks.mirror.records import Record, Shape, digests, records, stamp_of, stamped

TIME = (1, 1_700_000_000_000)


def message(record: Record, **changed: Any) -> Message:
    return Message(**{"timestamp": TIME, **record, **changed})


@pytest.mark.parametrize("shape", Shape)
def test_records_have_the_layout_of_their_shape(shape: Shape) -> None:
    layout = shape.layout
    made = list(records(layout, 5000))
    assert made == list(records(layout, 5000))
    assert {len(record["value"]) for record in made} == {layout.value_bytes}
    assert len({record["value"] for record in made}) == 5000
    assert {record["partition"] for record in made} == set(range(layout.partitions))
    assert all(("key" in record) == layout.keyed == (len(record.get("headers", [])) == 2) for record in made)


def test_topics_are_equal_when_their_partitions_are_whatever_the_order_between_them() -> None:
    made = [message(record) for record in records(Shape.PARTED.layout, 24)]
    other = sorted(made, key=lambda one: one.partition() or 0)
    assert digests([made], 12) == digests([other[:7], other[7:]], 12)
    assert digests([made], 12) != digests([made[::-1]], 12)


def test_whatever_a_record_holds_counts() -> None:
    (record,) = records(Shape.KEYED.layout, 1)
    given = digests([[message(record)]], 1)
    assert given == digests([[message(record)]], 1)
    others: list[dict[str, Any]] = [
        {"key": None},
        {"key": b""},
        {"value": None},
        {"value": record["value"][:-1]},
        {"headers": record["headers"][::-1]},
        {"headers": [("trace", None), ("shop", b"north")]},
        {"headers": None},
        {"timestamp": (1, 1_700_000_000_001)},
    ]
    assert len({given, *(digests([[message(record, **other)]], 1) for other in others)}) == len(others) + 1


def test_an_error_is_not_taken_for_a_record() -> None:
    with pytest.raises(KafkaException):
        digests([[Message(error=KafkaError(KafkaError._ALL_BROKERS_DOWN))]], 1)


def test_stamped_records_come_at_their_rate_with_number_and_time() -> None:
    began = time.monotonic_ns()
    found = [(stamp_of(record["value"]), len(record["value"])) for record in stamped(20, 200)]
    assert [number for (number, _), _ in found] == list(range(20))
    assert {size for _, size in found} == {200}
    assert all(sent - began >= number * 5_000_000 for (number, sent), _ in found)


def test_large_records_are_fewer() -> None:
    effort = Effort(records=2_000_000, warm_up=1_000_000, seconds=30)
    assert effort.parts(Shape.PLAIN.layout).total == 3_200_000
    assert effort.parts(Shape.LARGE.layout).total == 800_000
