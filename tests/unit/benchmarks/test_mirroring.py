"""Waiting for records of a process, and what must be equal on both clusters; without brokers."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Message

from benchmarks.measure import Deadline, InvalidCellError, ProcessTree
from benchmarks.mirror.bench import Cluster, Effort, MirrorBench, Mirroring, SourceTopic
from benchmarks.mirror.records import Layout
from benchmarks.topics import Topics

LAYOUT = Layout(200, partitions=2)


class Ended:
    """A process, as far as it is looked at."""

    pid = os.getpid()

    def __init__(self, exit_code: int | None = None) -> None:
        self.exit_code = exit_code

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def log(self) -> str:
        raise NotImplementedError


class Seen:
    """Topics of a target, where each look finds what comes next."""

    def __init__(self, partitions: Sequence[Mapping[str, int]], counts: Sequence[int]) -> None:
        self._partitions = iter(partitions)
        self._counts = iter(counts)

    def partitions(self) -> Mapping[str, int]:
        return next(self._partitions)

    def count(self, name: str, partitions: int) -> int:
        assert (name, partitions) == ("a0.topic", 2)
        return next(self._counts)


class Kept:
    """Topics with records in memory."""

    def __init__(self, **topics: Sequence[Sequence[bytes]]) -> None:
        self._topics = topics
        self.reads: list[str] = []

    def end_offsets(self, name: str, partitions: int) -> list[int]:
        assert len(self._topics[name]) == partitions
        return [len(values) for values in self._topics[name]]

    def read(self, name: str, ends: Sequence[int]) -> Iterator[list[Message]]:
        self.reads.append(name)
        for number, values in enumerate(self._topics[name]):
            yield [Message(partition=number, value=value, timestamp=(1, 1)) for value in values[: ends[number]]]


def mirroring(topics: Any, exit_code: int | None = None) -> Mirroring:
    return Mirroring(Ended(exit_code), cast("Topics", topics), "a0.topic", 2)


def bench(source: Kept, target: Kept) -> MirrorBench:
    own = ProcessTree(os.getpid())
    first, second = [Cluster("localhost:1", cast("Topics", topics), own) for topics in (source, target)]
    return MirrorBench(Path(), first, second, Effort(1, 1, 1))


def test_the_topic_is_asked_for_its_records_once_it_has_all_partitions() -> None:
    topics = Seen([{}, {"a0.topic": 1}, {"a0.topic": 2}], [0, 0, 7, 12])
    assert mirroring(topics).await_records(10) == 12


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    with pytest.raises(InvalidCellError, match="the process ended with 3"):
        mirroring(Seen([{}], []), 3).await_records(1)


def test_no_record_for_too_long_is_an_error_that_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mirror.bench.Deadline", lambda _, aim: Deadline(0 if " 7 " in aim else 60, aim))
    with pytest.raises(InvalidCellError, match=r"another record after 7 of 9 is in a0\.topic"):
        mirroring(Seen([{"a0.topic": 2}], [3, 7, 7, 7])).await_records(9)


def test_equal_topics_pass_and_the_source_is_read_once() -> None:
    source, target = Kept(topic=[[b"1", b"2"], [b"3"]]), Kept(a0=[[b"1", b"2"], [b"3"]])
    made = bench(source, target)
    for _ in range(2):
        made.check(SourceTopic("topic", LAYOUT), "a0", 3)
    assert (source.reads, target.reads) == (["topic"], ["a0", "a0"])


@pytest.mark.parametrize(
    ("mirrored", "text"),
    [
        ([[b"1", b"2"], []], "a0 holds"),
        ([[b"1", b"2"], [b"3", b"3"]], "a0 holds"),
        ([[b"1"], [b"2", b"3"]], "a0 holds"),
        ([[b"2", b"1"], [b"3"]], "the records in a0 are not those in topic"),
    ],
    ids=["fewer", "more", "elsewhere", "in another order"],
)
def test_topics_that_differ_make_a_cell_void(mirrored: Sequence[Sequence[bytes]], text: str) -> None:
    with pytest.raises(InvalidCellError, match=text):
        bench(Kept(topic=[[b"1", b"2"], [b"3"]]), Kept(a0=mirrored)).check(SourceTopic("topic", LAYOUT), "a0", 3)
