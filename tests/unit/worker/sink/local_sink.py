"""A sink task with a group, a log and plans in memory.

Values say what their records do: ``bad…`` cannot be read by the converter, ``poison…`` fails the Spark job that reads
it, ``other…`` has another schema than the records before it, ``lost`` is not in the log any more when it is read,
``large…`` fails a batch of more than ``FITTING`` records, ``MARKER`` is the end of a transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException
from pyspark.errors import PySparkException

from connect_dagster.errors import DataError
from connect_dagster.expressions.offset_ranges import OffsetRange
from connect_dagster.kafka.fetched_records import FetchedRecords
from connect_dagster.kafka.log_offsets import LogRange
from connect_dagster.kafka.offset_reset import OffsetReset, Reset
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import SinkRecord, TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA
from connect_dagster.protocol.states import State, TargetState
from connect_dagster.worker.bytes_bound import BatchTooLargeError, Measured
from connect_dagster.worker.errors.failures import VALUE_CONVERTER, FailedRecord, Failure, RawRecord
from connect_dagster.worker.errors.policy import DeadLetterSettings, ErrorPolicy
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.tasks import SinkTaskMetrics
from connect_dagster.worker.sink.batch_size import MOST_RECORDS
from connect_dagster.worker.sink.consumer import RebalanceListener
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.pipeline import OTHER_SCHEMA, UNREADABLE
from connect_dagster.worker.sink.stream import MicroBatch, SinkStream
from connect_dagster.worker.sink.task import SinkSettings, WorkerSinkTask
from tests.unit.worker.local_worker import (
    PLUGINS,
    TASK,
    WINDOWS,
    Clock,
    DeadLetters,
    LocalSpark,
    States,
    Steps,
    closing_stage,
    reporter,
)

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
JSON = "x.Json"

NONE = ErrorPolicy()
REPORTING = ErrorPolicy(dead_letters=DeadLetterSettings("dead"))
TOLERANT = ErrorPolicy(tolerate=True, dead_letters=DeadLetterSettings("dead"))
RETRYING = ErrorPolicy(retry_timeout_ms=1000, retry_delay_max_ms=60_000)
CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException: "
UNRECOVERABLE = f"{CONNECT_EXCEPTION}Exiting WorkerSinkTask due to unrecoverable exception."
EXCEEDED = f"{CONNECT_EXCEPTION}Tolerance exceeded in error handler"
RUN = [State.RUNNING, State.UNASSIGNED]
FAILED = [State.RUNNING, State.FAILED]
READ_TIMEOUT = "org.apache.spark.sql.kafka010.consumer.X: java.util.concurrent.TimeoutException: Cannot fetch record"
LOST_READ = "X: Some data may have been lost because they are not available in Kafka any more;"
RETRIABLE_JOB = "connect_dagster.errors.RetriableError: the registry is away"

MARKER = "end of a transaction"
MOST_BYTES = 1_000_000
FITTING = 4
SIZES = {"large": MOST_BYTES // FITTING}

Log = dict[TopicPartition, list[str]]


def refused(code: int = KafkaError.NOT_COORDINATOR) -> KafkaException:
    """A commit that the group refuses."""
    return KafkaException(KafkaError(code))


def spark_failure(text: str) -> PySparkException:
    """What PySpark raises for a job that fails."""
    return PySparkException(f"Job aborted: {text}\n")


@dataclass(slots=True)
class Group:
    """A consumer group with one member: the task under test."""

    clock: Clock
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    commits: list[dict[TopicPartition, int]] = field(default_factory=list)
    answers: list[Callable[[], None]] = field(default_factory=list)
    refusals: list[Exception] = field(default_factory=list)
    silent: bool = False
    watched: dict[TopicPartition, int] = field(default_factory=dict)
    has_record: bool = False
    fetches: bool = True
    closed: bool = False
    abandoned: bool = False
    listener: RebalanceListener | None = None
    steps: Steps | None = None
    log: Log = field(default_factory=dict)
    removed: dict[TopicPartition, int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=lambda: {"t": "first"})
    known_ids: dict[str, str] = field(default_factory=dict)
    policy: OffsetReset = field(default_factory=lambda: OffsetReset("earliest", lambda *_: None))
    away: int = 0
    longest_poll: float = 0.0

    # What a test does

    def recreate(self, partition: TopicPartition, *values: str) -> None:
        """Delete the topic of a partition and create it with these values; the brokers drop its offsets."""
        self.log[partition] = list(values)
        self.ids[partition.topic] = "again"
        self.committed.pop(partition, None)

    def assign(self, *partitions: TopicPartition) -> None:
        assert self.listener is not None
        self.listener.assigned(list(partitions))

    def revoke(self, *partitions: TopicPartition) -> None:
        assert self.listener is not None
        self.listener.revoked(list(partitions))

    def lose(self, *partitions: TopicPartition) -> None:
        assert self.listener is not None
        self.listener.lost(list(partitions))

    # The consumer

    def poll(self, seconds: float = 0) -> bool:
        self.clock.now += seconds
        self.longest_poll = seconds
        answers, self.answers = self.answers, []
        for answer in answers:
            answer()
        assert self.steps is not None
        self.steps.next()
        return self.has_record or any(self._rows(*one) for one in self.watched.items())

    def take_fetched(self, most_records: int) -> FetchedRecords | None:
        rows = [row for one in self.watched.items() for row in self._rows(*one)]
        is_gone = any(offset < self.removed.get(one, 0) for one, offset in self.watched.items())
        if not self.fetches or is_gone or not 0 < len(rows) <= most_records:
            return None
        ends = {row.partition: row.offset + 1 for row in rows}
        starts = {row.partition: row.offset for row in reversed(rows)}
        self.watched.update(ends)
        return FetchedRecords(cast("Any", rows), starts, ends)

    def _rows(self, partition: TopicPartition, first: int) -> list["Row"]:
        values = self.log.get(partition, [])
        return [Row(partition, at, values[at]) for at in range(first, len(values)) if values[at] != MARKER]

    def watch(self, offsets: Mapping[TopicPartition, int], until: Mapping[TopicPartition, int] | None = None) -> bool:
        self.watched = dict(sorted(offsets.items(), key=str))
        return True

    def unwatch(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.watched.pop(partition, None)

    def committed_or_reset(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        self.known_ids.update(self.ids)
        return {
            partition: self.policy.begin(partition, self.committed.get(partition), self._range(partition))
            for partition in partitions
        }

    def topic_ids(self) -> Mapping[str, str]:
        return dict(self.known_ids)

    def recreated(self, topics: Iterable[str]) -> set[str]:
        return {topic for topic in topics if self.known_ids[topic] != self.ids[topic]}

    def resets(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, Reset] | None:
        if self.away:
            self.away -= 1
            return None
        ranges = {partition: self._range(partition) for partition in positions}
        recreated = self.recreated({partition.topic for partition in positions})
        found = self.policy.resets(positions, ranges, recreated)
        self.known_ids.update(self.ids)
        return found

    def _range(self, partition: TopicPartition) -> LogRange:
        return LogRange(self.removed.get(partition, 0), len(self.log.get(partition, [])))

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {} if self.away else {one: len(self.log.get(one, [])) for one in partitions}

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]) -> None:
        self.commits.append(dict(offsets))
        if self.silent:
            return
        error = self.refusals.pop(0) if self.refusals else None
        if error is None:
            self.committed.update(offsets)
        self.answers.append(lambda: done(error))

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.commits.append(dict(offsets))
        if self.refusals:
            raise self.refusals.pop(0)
        self.committed.update(offsets)

    def close(self) -> None:
        self.closed = True

    def abandon(self) -> None:
        self.abandoned = True


@dataclass(slots=True)
class Reader:
    """Reads ranges of the log, of which those that are gone are skipped, or fail with the policy ``none``."""

    log: Log
    removed: dict[TopicPartition, int]
    fails_on_loss: bool
    counted: Measured = field(default_factory=lambda: Measured(0, 0))

    def renew_consumers(self) -> None:
        """Do nothing: no record is fetched ahead."""

    def read_counted(self, ranges: list[OffsetRange]) -> Any:
        rows = [row for one in sorted(ranges, key=lambda one: str(one.partition)) for row in self._rows(one)]
        size = sum(SIZES.get(row.value[:5], 10) for row in rows)
        self.counted = Measured(self.counted.bytes + size, self.counted.records + len(rows))
        return rows

    def read(self, ranges: list[OffsetRange]) -> Any:
        return [row for one in ranges for row in self._rows(one)]

    def _rows(self, one: OffsetRange) -> list["Row"]:
        first = max(one.start, self.removed.get(one.partition, 0))
        if first > one.start and self.fails_on_loss:
            return [Row(one.partition, one.start, "lost")]
        values = self.log[one.partition]
        return [Row(one.partition, at, values[at]) for at in range(first, one.end) if values[at] != MARKER]


@dataclass(frozen=True, slots=True)
class Started:
    """A stream that the task has made."""

    started_at: dict[TopicPartition, int]
    most_records: int
    new_consumers: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A record of the log."""

    partition: TopicPartition
    offset: int
    value: str

    @property
    def raw(self) -> RawRecord:
        return RawRecord(
            self.partition.topic, None, self.value.encode(), partition=self.partition.partition, offset=self.offset
        )

    def failed(self, error: Exception) -> FailedRecord:
        return FailedRecord(Failure.of(VALUE_CONVERTER, JSON, error), self.raw, error)


@dataclass(frozen=True, slots=True)
class LocalFrame:
    """A frame whose plan runs when its records are asked for."""

    rows: Sequence[Row]
    expects: bool
    strict: bool

    def records(self) -> list[SinkRecord]:
        for row in self.rows:
            if self.expects and row.value.startswith("other"):
                raise spark_failure(OTHER_SCHEMA)
            if self.strict and row.value.startswith("bad"):
                raise spark_failure(f"{UNREADABLE}: no JSON")
            if row.value == "lost":
                raise spark_failure(LOST_READ)
            if row.value.startswith("large") and len(self.rows) > FITTING:
                raise spark_failure(str(BatchTooLargeError(Measured(MOST_BYTES * 2, len(self.rows)))))
            if row.value.startswith("poison"):
                raise spark_failure(f"poison: {row.value}")
        return [
            SinkRecord(
                row.partition.topic,
                row.partition.partition,
                row.offset,
                None,
                row.value,
                None,
                STRING_SCHEMA,
                None,
            )
            for row in self.rows
            if not row.value.startswith("bad")
        ]


@dataclass(slots=True)
class Plans:
    """Plans of a batch of rows."""

    planner: "Planner"
    rows: list[Row]
    arrived: int | None = None
    is_expected: bool = True

    @property
    def tolerates(self) -> bool:
        return self.planner.tolerates

    @property
    def may_have_failed(self) -> bool:
        return self.tolerates and any(row.value.startswith("bad") for row in self.rows)

    def expected(self) -> SinkBatch | None:
        if not (self.is_expected and self.planner.knows_schema):
            return None
        return self._batch(expects=True)

    @contextmanager
    def searched(self) -> Iterator[SinkBatch]:
        self.is_expected = False
        self.planner.searches += 1
        self.planner.knows_schema = True
        yield self._batch(expects=False)

    def failed_records(self, *, first: bool = False) -> list[FailedRecord]:
        found = [row.failed(DataError("no JSON")) for row in self.rows if row.value.startswith("bad")]
        return found[:1] if first else found

    def drop_poison_records(self) -> list[FailedRecord]:
        failed: list[FailedRecord] = []

        def attempt(rows: list[Row]) -> list[Row]:
            LocalFrame(rows, expects=False, strict=False).records()
            return rows

        def rejected(rows: list[Row], error: Exception) -> list[Row]:
            failed.append(rows[0].failed(error))
            return []

        def halves(rows: list[Row]) -> list[list[Row]]:
            middle = len(rows) // 2
            return [rows[:middle], rows[middle:]] if middle else []

        try:
            attempt(self.rows)
        except PySparkException:
            self.rows = [row for part in Bisection(self.rows, attempt, halves, rejected) for row in part]
        return failed

    def raw_records_at(self, offsets: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], Sequence[RawRecord]]:
        return {(row.partition.partition, row.offset): [row.raw] for row in self.rows}

    def _batch(self, *, expects: bool) -> SinkBatch:
        frame = LocalFrame(self.rows, expects, strict=not self.tolerates)
        return SinkBatch((cast("SinkFrame", frame),))


@dataclass(slots=True)
class Planner:
    """The plans of a task, and the schema that it has seen."""

    tolerates: bool
    knows_schema: bool = False
    searches: int = 0
    tolerance: ToleranceOperator | None = None
    closed: bool = False

    def under(self, tolerance: ToleranceOperator) -> "Planner":
        self.tolerance = tolerance
        return self

    def close(self) -> None:
        self.closed = True

    def plans(self, batch: MicroBatch) -> Plans:
        return Plans(self, list(cast("Any", batch.df)))

    def raw_record(self, record: SinkRecord) -> RawRecord:
        return RawRecord(record.topic, None, f"encoded {record.value}".encode(), offset=record.offset)


class RecordingTask(SinkTask):
    """Journals its calls; ``on`` gives the behaviour of each further call of a name, then all is well."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.on: dict[str, list[Callable[..., Any]]] = {}

    def start(self, config: Mapping[str, str]) -> None:
        self._called("start")

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._called("open", list(partitions))

    def put(self, batch: SinkBatch) -> None:
        self._called("put", [record.value for record in batch.records()], argument=batch)

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return cast(
            "Mapping[TopicPartition, int]", self._called("pre_commit", dict(offsets), argument=offsets) or offsets
        )

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._called("close", list(partitions))

    def stop(self) -> None:
        self._called("stop")

    def _called(self, name: str, *shown: object, argument: Any = None) -> object:
        self.calls.append((name, *shown))
        behaviour = self.on.get(name)
        if not behaviour:
            return None
        return behaviour.pop(0)(argument)


def raises(error: BaseException) -> Callable[..., Any]:
    """The behaviour of a call that raises."""

    def behaviour(_: object) -> None:
        raise error

    return behaviour


def well(_: object) -> None:
    """The behaviour of a call that does nothing."""


class LocalSink:
    """A sink task, and all that is around it."""

    def __init__(self, policy: ErrorPolicy | None = None, *, max_interval: float = 60.0, timeout: float = 5.0) -> None:
        self.policy = policy or ErrorPolicy()
        self.clock = Clock()
        self.log: Log = {FIRST: [], SECOND: []}
        self.group = Group(self.clock, log=self.log)
        self.streams: list[Started] = []
        self.planner = Planner(self.policy.tolerate)
        self.closed: list[str] = []
        self.stage = closing_stage(self.closed)
        self.plugin = RecordingTask()
        self.spark = LocalSpark()
        self.states = States()
        self.topics: list[set[str]] = []
        self.queue = DeadLetters()
        self.metrics = SinkTaskMetrics(TASK, WINDOWS, PLUGINS, self.clock.monotonic)
        self.task = WorkerSinkTask(
            TASK,
            self.plugin,
            self.spark.as_session,
            self.states,
            TargetState.STARTED,
            config={},
            configs=lambda: {"password": "new"},
            settings=SinkSettings(MOST_RECORDS, max_interval, timeout, MOST_BYTES),
            planner=self.planner,
            transforms=[self.stage],
            open_consumer=self._open_consumer,
            open_stream=self._open_stream,
            on_topics=self.topics.append,
            metrics=self.metrics,
            reporter=reporter(self.policy, self.metrics.errors, self.queue),
            clock=self.clock,
        )

    def run(self, script: Callable[[], Iterator[None]]) -> None:
        """Run the task until the script has ended, and it with it."""
        self.group.steps = Steps(script(), self.task.stop)
        self.task.start()
        assert self.task.await_stop(60)

    @property
    def context(self) -> Any:
        return self.plugin.context

    @property
    def puts(self) -> list[list[str]]:
        return [call[1] for call in self.plugin.calls if call[0] == "put"]

    def calls(self, *names: str) -> list[tuple[Any, ...]]:
        return [call for call in self.plugin.calls if call[0] in names]

    def counts(self) -> dict[str, int]:
        values = self.metrics.errors.read().values
        return {name: int(value) for name, value in values.items() if value and name != "last-error-timestamp"}

    def _open_consumer(self, listener: RebalanceListener) -> Group:
        self.group.listener = listener
        return self.group

    def _open_stream(self, start: Mapping[TopicPartition, int], most_records: int, new_consumers: bool) -> SinkStream:
        self.streams.append(Started(dict(start), most_records, new_consumers))
        reader = Reader(self.log, self.group.removed, self.group.policy._policy == "none")
        return SinkStream(cast("CountingReader", reader), start, most_records, new_consumers)


def put_values(sink: LocalSink, *values: str) -> Callable[[], Iterator[None]]:
    """Assign a partition with these values, and let the task run until they are put or it fails."""

    def script() -> Iterator[None]:
        sink.log[FIRST] += values
        sink.group.assign(FIRST)
        for _ in range(8):
            yield

    return script


def until_put(sink: LocalSink, count: int) -> Iterator[None]:
    """Let the task run until its puts have this many values in all."""
    while sum(map(len, sink.puts)) < count:
        yield


def asleep(sink: LocalSink) -> Iterator[None]:
    """Let the task run until it has put what is there and watches for more."""
    yield from until_put(sink, sum(map(len, sink.log.values())))
    while not sink.group.watched:
        yield
