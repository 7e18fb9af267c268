"""The common environment of the cells: two clusters, topics to mirror, a process that mirrors one."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks.contestants import Contestant, Process, started
from benchmarks.measure import Deadline, InvalidCellError, ProcessTree
from benchmarks.mirror.process import flow_properties, mirror_maker
from benchmarks.mirror.records import Layout, Shape, digests, records
from benchmarks.topics import Topics
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.embedded.broker import EmbeddedBroker

_BROKER_HEAP = "2g"
_POLL_SECONDS = 0.02
# A process that starts needs the most; one that mirrors has new records many times a second.
_STALLED_SECONDS = 120.0
_REST = 10


@dataclass(frozen=True, slots=True)
class Parts:
    """The numbers of a topic's records in their order, by what is measured meanwhile.

    Attributes:
        cold: those that make a process warm.
        warm: those that a warm process mirrors while the clock runs.
        rest: those that keep it busy when the clock stops.
    """

    cold: int
    warm: int
    rest: int

    @property
    def total(self) -> int:
        """Return the number of all of them."""
        return self.cold + self.warm + self.rest


@dataclass(frozen=True, slots=True)
class Effort:
    """Amounts for each figure.

    Attributes:
        records: of a bulk cell that are measured in a warm process.
        warm_up: records after which a process counts as warm.
        seconds: how long latencies are measured at each rate.
    """

    records: int
    warm_up: int
    seconds: int

    def parts(self, layout: Layout) -> Parts:
        """Return the records of a topic."""
        cold, warm = (int(number * layout.share) for number in (self.warm_up, self.records))
        return Parts(cold, warm, warm // _REST)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of one broker.

    Attributes:
        bootstrap: its address.
        topics: its topics.
        processes: the broker.
    """

    bootstrap: str
    topics: Topics
    processes: ProcessTree

    def drop(self, alias: str) -> None:
        """Delete the topics that have this alias in their names."""
        if names := [name for name in self.topics.partitions() if alias in name.split(".")]:
            self.topics.delete(names)


@contextmanager
def new_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a cluster with its data in a folder."""
    with (
        EmbeddedBroker(folder, 0, heap=_BROKER_HEAP, jvm=()) as broker,
        closing(Topics(broker.bootstrap_servers)) as topics,
    ):
        assert broker.pid is not None, "the broker has ended"
        yield Cluster(broker.bootstrap_servers, topics, ProcessTree(broker.pid))


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A topic of the source."""

    name: str
    layout: Layout


class Mirroring:
    """A running process that mirrors one topic.

    Args:
        process: the process.
        topics: of the target.
        topic: the name there.
        partitions: of the topic.
    """

    def __init__(self, process: Process, topics: Topics, topic: str, partitions: int) -> None:
        self.processes = ProcessTree(process.pid)
        self.topic = topic
        self._process = process
        self._topics = topics
        self._partitions = partitions
        self._created = False

    def await_records(self, number: int) -> int:
        """Wait until the target has this number of records or more; returns its number.

        Raises:
            InvalidCellError: the process has ended, or no record came for two minutes.
        """
        seen, deadline = 0, self._stalled(0, number)
        while (found := self._count()) < number:
            if found > seen:
                seen, deadline = found, self._stalled(found, number)
            deadline.check()
            if self._process.exit_code is not None:
                raise InvalidCellError(f"the process ended with {self._process.exit_code}")
            time.sleep(_POLL_SECONDS)
        return found

    def _count(self) -> int:
        self._created = self._created or self._topics.partitions().get(self.topic) == self._partitions
        return self._topics.count(self.topic, self._partitions) if self._created else 0

    def _stalled(self, found: int, number: int) -> Deadline:
        return Deadline(_STALLED_SECONDS, f"another record after {found} of {number} is in {self.topic}")


@dataclass(frozen=True, slots=True)
class MirrorBench:
    """The environment of the cells.

    Attributes:
        folder: for files of processes; removed after the run.
        source: the cluster that is mirrored.
        target: the cluster that it is mirrored to.
        effort: the amounts.
    """

    folder: Path
    source: Cluster
    target: Cluster
    effort: Effort
    _numbers: Iterator[int] = field(default_factory=count)
    _filled: dict[tuple[Shape, int], SourceTopic] = field(default_factory=dict)
    _digests: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def filled_topic(self, shape: Shape, number: int) -> SourceTopic:
        """Return a topic with ``number`` records, written on first use; all contestants share it."""
        if (shape, number) not in self._filled:
            self._filled[shape, number] = self._written(shape.layout, number)
        return self._filled[shape, number]

    @contextmanager
    def new_topic(self, shape: Shape, number: int) -> Iterator[SourceTopic]:
        """Create a topic with ``number`` records for the duration of the context."""
        topic = self._written(shape.layout, number)
        try:
            yield topic
        finally:
            self.source.topics.delete([topic.name])

    @contextmanager
    def mirroring(self, contestant: Contestant, topic: SourceTopic) -> Iterator[Mirroring]:
        """Start a fresh process that mirrors a topic, under aliases that no other process had.

        Raises:
            InvalidCellError: something went wrong meanwhile; quotes the end of its log.
        """
        number = next(self._numbers)
        flow = Flow(f"a{number}", f"b{number}")
        brokers = {flow.source: self.source.bootstrap, flow.target: self.target.bootstrap}
        props = flow_properties(contestant, flow, brokers, topic.name, topic.layout.tasks)
        process = mirror_maker(contestant, flow, props, self.folder / f"process-{number}")
        try:
            with started(contestant, process):
                yield Mirroring(process, self.target.topics, f"{flow.source}.{topic.name}", topic.layout.partitions)
        finally:
            self.target.drop(flow.source)
            self.source.drop(flow.target)

    def check(self, topic: SourceTopic, mirrored: str, number: int) -> None:
        """Compare a topic of the target with its source, record by record.

        Raises:
            InvalidCellError: it does not have exactly the same ``number`` records in the same order.
        """
        partitions = topic.layout.partitions
        given = self.source.topics.end_offsets(topic.name, partitions)
        found = self.target.topics.end_offsets(mirrored, partitions)
        if sum(given) != number or found != given:
            raise InvalidCellError(f"{mirrored} holds {found} records, {topic.name} {given}, expected are {number}")
        if (topic.name, number) not in self._digests:
            self._digests[topic.name, number] = digests(self.source.topics.read(topic.name, given), partitions)
        if digests(self.target.topics.read(mirrored, found), partitions) != self._digests[topic.name, number]:
            raise InvalidCellError(f"the records in {mirrored} are not those in {topic.name}")

    def _written(self, layout: Layout, number: int) -> SourceTopic:
        topic = SourceTopic(f"mirrored-{next(self._numbers)}", layout)
        self.source.topics.create([topic.name], layout.partitions)
        self.source.topics.write(topic.name, records(layout, number))
        return topic
