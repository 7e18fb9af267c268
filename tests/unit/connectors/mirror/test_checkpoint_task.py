"""The task that translates offsets, with clusters that are lists of records."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from connect_dagster.connectors.mirror.checkpoint import log_reader
from connect_dagster.connectors.mirror.checkpoint.log_reader import LogReader
from connect_dagster.connectors.mirror.checkpoint.task import MirrorCheckpointTask
from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, GroupOffset
from connect_dagster.connectors.mirror.filters import TopicFilter
from connect_dagster.connectors.mirror.records import Checkpoint, OffsetSync
from connect_dagster.kafka import clients
from connect_dagster.plugin import records
from connect_dagster.testing.contexts import source_context

ORDERS, REMOTE = records.TopicPartition("orders", 0), records.TopicPartition("eu.orders", 0)
SYNCS, CHECKPOINTS = "mm2-offset-syncs.us.internal", "eu.checkpoints.internal"
EOF, MISSING = KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART
GROUP_REFUSED, TOPIC_REFUSED = KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED


@dataclass(frozen=True, slots=True)
class Message:
    """A record, or an error."""

    content: tuple[bytes | None, bytes | None] | int
    at: int = 0

    def key(self) -> bytes | None:
        assert isinstance(self.content, tuple)
        return self.content[0]

    def value(self) -> bytes | None:
        assert isinstance(self.content, tuple)
        return self.content[1]

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return KafkaError(self.content) if isinstance(self.content, int) else None


def sync(upstream: int, downstream: int) -> Message:
    one = OffsetSync(ORDERS, upstream, downstream)
    return Message((one.key, one.value))


@dataclass
class Topics:
    """Batches of messages of each topic; a topic without any is at its end. The brokers tell the ends of some."""

    batches: dict[str, list[list[Message]]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)


class FakeConsumer:
    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._topic = ""
        self._rest: list[Message] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._topic = partitions[0].topic

    def poll(self, _: float) -> Message | None:
        batches = self._topics.batches.setdefault(self._topic, [[Message(EOF)]])
        if not batches:
            time.sleep(0.001)
            return None
        first, *self._rest = batches.pop(0)
        return first

    def consume(self, *_: Any) -> list[Message]:
        rest, self._rest = self._rest, []
        return rest

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        ends = self._topics.ends
        return [TopicPartition(one.topic, one.partition, ends.get(one.topic, OFFSET_INVALID)) for one in partitions]

    def close(self) -> None:
        self._topics.closed.append(self._topic)


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    made = Topics()
    monkeypatch.setattr(clients, "consumer", lambda *_: FakeConsumer(made))
    return made


class Admin(ForwardingAdmin):
    """A cluster whose groups have these offsets; those of some may not be read."""

    offsets: ClassVar[dict[str, dict[records.TopicPartition, GroupOffset]]] = {}
    refused: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, settings: Mapping[str, str]) -> None: ...

    def group_offsets(
        self, groups: Iterable[str]
    ) -> tuple[dict[str, dict[records.TopicPartition, GroupOffset]], Errors]:
        errors = dict.fromkeys({*groups} & self.refused, KafkaException(KafkaError(GROUP_REFUSED)))
        return {group: self.offsets.get(group, {}) for group in groups if group not in errors}, errors

    def close(self) -> None: ...


class Filter(TopicFilter):
    """A filter that fails for one topic as long as it is told to."""

    fails_for: ClassVar[str] = ""

    def should_replicate_topic(self, topic: str) -> bool:
        if topic == self.fails_for:
            raise RuntimeError("no service")
        return True


CONFIG = {
    "name": "checkpoint",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "task.assigned.groups": "billing,audit",
    "emit.checkpoints.interval.seconds": "0",
    "forwarding.admin.class": f"{__name__}.Admin",
    "topic.filter.class": f"{__name__}.Filter",
}


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch, topics: Topics) -> Iterator[MirrorCheckpointTask]:
    offsets = {"billing": {ORDERS: GroupOffset(100)}, "audit": {records.TopicPartition("other", 0): GroupOffset(7)}}
    monkeypatch.setattr(Admin, "offsets", offsets)
    monkeypatch.setattr(Filter, "fails_for", "")
    made = MirrorCheckpointTask()
    made.context = source_context()
    yield made
    made.stop()


def emitted(task: MirrorCheckpointTask) -> list[Checkpoint]:
    table = task.poll()
    if table is None:
        return []
    pairs = zip(table.table.column("key").to_pylist(), table.table.column("value").to_pylist(), strict=True)
    return [found for key, value in pairs if (found := Checkpoint.decode(key, value)) is not None]


def soon(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 10
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return value


def test_an_offset_is_translated_once_and_the_consumers_are_closed(task: MirrorCheckpointTask, topics: Topics) -> None:
    topics.batches[SYNCS] = [[sync(100, 90), Message(EOF)]]
    task.start(CONFIG)
    assert soon(lambda: emitted(task)) == [Checkpoint("billing", REMOTE, 100, 90)]
    assert topics.closed == [CHECKPOINTS], "checkpoints are read at the start only"
    assert emitted(task) == []
    task.stop()
    assert topics.closed == [CHECKPOINTS, SYNCS]


def test_a_failure_is_no_end_and_leaves_no_checkpoint_out(
    task: MirrorCheckpointTask, topics: Topics, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Filter, "fails_for", "other")
    topics.batches[SYNCS] = [[sync(100, 90), Message(EOF)]]
    task.start(CONFIG)
    with caplog.at_level(logging.WARNING):
        soon(lambda: emitted(task) or "Failure polling consumer state for checkpoints." in caplog.messages)
    monkeypatch.setattr(Filter, "fails_for", "")
    assert emitted(task) == [Checkpoint("billing", REMOTE, 100, 90)]


def test_groups_whose_offsets_may_not_be_read_are_left_out(
    task: MirrorCheckpointTask, topics: Topics, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Admin, "refused", frozenset({"g3", "g7"}))
    monkeypatch.setattr(Admin, "offsets", {f"g{number}": {ORDERS: GroupOffset(100)} for number in range(10)})
    topics.batches[SYNCS] = [[sync(100, 90), Message(EOF)]]
    task.start({**CONFIG, "task.assigned.groups": ",".join(Admin.offsets)})
    assert [one.group for one in soon(lambda: emitted(task))] == ["g0", "g1", "g2", "g4", "g5", "g6", "g8", "g9"]
    assert any(one.startswith("Error querying offsets for consumer group g3, g7 on") for one in caplog.messages)


def test_without_a_topic_of_checkpoints_later_syncs_translate(
    task: MirrorCheckpointTask, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    topics.batches[CHECKPOINTS] = [[Message(MISSING)]]
    topics.batches[SYNCS] = [[sync(50, 40), sync(100, 90), Message(EOF)]]
    task.start(CONFIG)
    assert soon(lambda: emitted(task)) == [Checkpoint("billing", REMOTE, 100, 90)]
    assert f"Cannot read checkpoints topic {CHECKPOINTS}" in caplog.text


def test_a_sync_that_is_none_is_passed_over(task: MirrorCheckpointTask, topics: Topics) -> None:
    topics.batches[SYNCS] = [[Message((b"key", b"value")), sync(100, 90), Message(EOF)]]
    task.start(CONFIG)
    assert soon(lambda: emitted(task)) == [Checkpoint("billing", REMOTE, 100, 90)]


def read(topics: Topics, *batches: list[Message], waits: bool = True) -> list[bytes | None]:
    """Return the keys of a topic that is read to its end."""
    topics.batches["t"] = list(batches)
    keys: list[bytes | None] = []
    reader = LogReader({}, "t", lambda key, _: keys.append(key), waits_for_topic=waits)
    try:
        assert reader.read_to_end()
    finally:
        reader.close()
        reader.close()
        assert topics.closed == ["t"]
    return keys


ONE, TWO, END = Message((b"1", None)), Message((b"2", None)), Message(EOF)


@pytest.mark.parametrize(
    "batches",
    [
        [[ONE, TWO, END]],
        [[ONE], [END, TWO], [END]],
        [[Message(GROUP_REFUSED)], [ONE, Message(GROUP_REFUSED), TWO, END]],
        [[Message(MISSING)], [Message(KafkaError._ALL_BROKERS_DOWN), ONE], [TWO, END]],
    ],
    ids=["at once", "the end moves on", "a group without rights", "away and missing"],
)
def test_a_topic_is_read_to_its_end(topics: Topics, batches: list[list[Message]]) -> None:
    assert read(topics, *batches) == [b"1", b"2"]


def test_a_topic_that_is_written_without_a_pause_has_been_read(topics: Topics) -> None:
    """The client would report its end at a pause."""
    topics.ends["t"] = 2
    flow = [[Message((b"%d" % number, None), number)] for number in range(4)]
    assert read(topics, *flow) == [b"0", b"1"]
    assert len(topics.batches["t"]) == 2


@pytest.mark.parametrize(("error", "waits"), [(TOPIC_REFUSED, True), (MISSING, False)])
def test_a_topic_that_cannot_be_read(topics: Topics, error: int, waits: bool) -> None:
    with pytest.raises(KafkaException):
        read(topics, [Message(error)], waits=waits)


def test_records_behind_an_error_are_not_lost(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "_RETRY_SECONDS", 0.01)
    topics.batches["t"] = [[END]]
    keys: list[bytes | None] = []
    both = threading.Event()

    def take(key: bytes | None, _: bytes | None) -> None:
        keys.append(key)
        if len(keys) == 2:
            both.set()

    reader = LogReader({}, "t", take)
    assert reader.read_to_end()
    topics.batches["t"].append([Message(TOPIC_REFUSED), ONE, TWO])
    reader.follow()
    assert both.wait(10)
    reader.stop()
    reader.close()
    assert topics.closed == ["t"]


def test_each_outage_is_named_once(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    away = [Message(KafkaError._ALL_BROKERS_DOWN)]
    with caplog.at_level(logging.WARNING):
        assert read(topics, away, away, [ONE], away, away, [END]) == [b"1"]
    assert len([one for one in caplog.messages if "cannot be read now" in one]) == 2
