"""Test the files of workers that are killed, or rebalance their partitions, while they write.

Each record is in one file, and files are as the options ask.
"""

import datetime as dt
import random
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import Broker
from tests.integration.object_store.file_batches import lines
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import STRING
from tests.integration.worker_process import WorkerProcess, write_properties

MIDNIGHT = round(dt.datetime(2026, 3, 1, tzinfo=dt.UTC).timestamp() * 1000)
HOUR = 3_600_000
PARTITIONS = 2
FLUSH_SIZE = 250


class Day:
    """The records of a day in a topic, numbered, as many in each part of the day."""

    def __init__(self, bootstrap: str, topic: str, count: int, parts: int) -> None:
        # Others change the order of records that a broker refuses at first, as those of a new topic.
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._topic, self._count, self._parts = topic, count, parts
        self.partition_values: list[list[tuple[int, int]]] = [[] for _ in range(PARTITIONS)]

    def produce(self, part: int) -> None:
        """Produce the records of a part of the day."""
        for number in range(part * self._count // self._parts, (part + 1) * self._count // self._parts):
            self._send(number, MIDNIGHT + number * 24 * HOUR // self._count, number % PARTITIONS)
        assert self._producer.flush(30) == 0

    def end(self) -> None:
        """Produce a record of the next day, which ends the files of the last hour."""
        for partition in range(PARTITIONS):
            self._send(self._count + partition, MIDNIGHT + 25 * HOUR, partition)
            self.partition_values[partition].pop()
        assert self._producer.flush(30) == 0

    def _send(self, number: int, time: int, partition: int) -> None:
        self._producer.produce(self._topic, str(number).encode(), partition=partition, timestamp=time)
        self.partition_values[partition].append((number, time))

    def files(self) -> dict[str, list[dict[str, str]]]:
        """Return the files that the options ask for: of an hour, with a bounded number of records."""
        found: dict[str, list[dict[str, str]]] = {}
        for partition, values in enumerate(self.partition_values):
            name, hour = "", -1
            for offset, (number, time) in enumerate(values):
                this_hour = (time - MIDNIGHT) // HOUR
                if this_hour != hour or len(found[name]) == FLUSH_SIZE:
                    hour = this_hour
                    directory = f"{self._topic}/year=2026/month=03/day=01/hour={hour:02}"
                    name = f"{directory}/{self._topic}+{partition}+{offset:010}.json"
                    found[name] = []
                found[name].append({"value": str(number)})
        return found


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink of files, which any number of workers run in one consumer group."""

    broker: Broker
    topic: str
    workdir: Path

    @property
    def name(self) -> str:
        return f"{self.topic}-sink"

    @property
    def folder(self) -> Path:
        return self.workdir / "files"

    def worker(self, place: str = "worker") -> WorkerProcess:
        """Return a standalone worker that runs the sink, to be started, with a folder for itself."""
        config = {
            "name": self.name,
            "connector.class": "SparkSink",
            "topics": self.topic,
            "format": "json",
            "options.path": str(self.folder),
            "flush.size": str(FLUSH_SIZE),
            "rotate.interval.ms": str(HOUR),
            "partitioner.class": "hourly",
            "consumer.override.max.poll.records": "600",
            # The next worker waits for the end of the killed one's session.
            "consumer.override.session.timeout.ms": "6000",
        }
        connector = write_properties(self.workdir / f"{place}.properties", config)
        props = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "key.converter": STRING,
            "value.converter": STRING,
            "connector.client.config.override.policy": "All",
            "consumer.auto.offset.reset": "earliest",
        }
        return WorkerProcess(props, [connector], self.workdir / place)

    def await_all(self, worker: WorkerProcess, day: Day) -> None:
        """Wait until a worker has written the files of a day, and committed the offsets of all records."""
        worker.wait_until(lambda: len(self.names()) >= len(day.files()), "write all files", 180)
        ends = {partition: len(values) for partition, values in enumerate(day.partition_values)}
        Topics(self.broker.bootstrap_servers).await_committed(f"connect-{self.name}", self.topic, ends, 60)

    def names(self) -> Sequence[Path]:
        """Return the complete files."""
        return list(self.folder.rglob("*+*+*.json"))

    def hidden(self) -> Sequence[Path]:
        """Return the files that somebody was writing."""
        return [path for path in self.folder.rglob(".*.tmp") if path.is_file()]


def run(broker: Broker, topic: str, workdir: Path, *, kills: int, count: int) -> None:
    """Produce a day in parts, and kill the worker after a file or more of each; then compare all files."""
    Topics(broker.bootstrap_servers).create(topic, PARTITIONS)
    day, draw = Day(broker.bootstrap_servers, topic, count, kills + 1), random.Random(kills)
    sink = Sink(broker, topic, workdir)
    for part in range(kills):
        day.produce(part)
        before = set(sink.names())
        with sink.worker() as worker:
            _wait_for_files(worker, sink, before, draw.randrange(1, 4))
            worker.kill()
    day.produce(kills)
    day.end()
    with sink.worker() as worker:
        sink.await_all(worker, day)
    assert len(sink.hidden()) <= kills
    for path in sink.hidden():
        path.unlink()
    assert lines(sink.folder) == day.files()


def _wait_for_files(worker: WorkerProcess, sink: Sink, before: Set[Path], more: int) -> None:
    worker.wait_until(lambda: len(set(sink.names()) - before) >= more, "write further files", 120)


@pytest.mark.timeout(400)
def test_a_worker_that_is_killed_once(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    run(broker, f"{topic_prefix}t", tmp_path, kills=1, count=12_000)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_day_of_records_and_twenty_kills(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    run(broker, f"{topic_prefix}t", tmp_path, kills=20, count=100_000)


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_partitions_that_go_to_another_live_worker_and_back(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    """Both workers' tasks are in one group, which takes a partition from one of them while it has an open file."""
    topic, turns = f"{topic_prefix}t", 4
    Topics(broker.bootstrap_servers).create(topic, PARTITIONS)
    day = Day(broker.bootstrap_servers, topic, 40_000, 2 * turns)
    sink = Sink(broker, topic, tmp_path)
    with sink.worker() as worker:
        for turn in range(turns):
            before = set(sink.names())
            day.produce(2 * turn)
            with sink.worker(f"other-{turn}") as other:
                other.wait_log(f"Assigned {topic}-")
                day.produce(2 * turn + 1)
                _wait_for_files(worker, sink, before, 20)
        day.end()
        sink.await_all(worker, day)
    assert lines(sink.folder) == day.files()
