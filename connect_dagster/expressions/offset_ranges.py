"""DataFrames over ranges of offsets, made of the parts of Spark's Kafka source.

``spark.read.format("kafka")`` opens an admin client for each plan, to ask for offsets that a task knows. The parts
below it read a given range and nothing else (Spark: ``KafkaBatchInputPartition``, ``DataSourceRDD``). They are private
to Spark: where one is missing, the public source reads the same records.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame, SparkSession

from connect_dagster.expressions.java_calls import scala_object, writable_field
from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.expressions.java_errors import is_spark_gone, java_texts
from connect_dagster.expressions.reader_frames import frame_of_readers
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_KAFKA = "kafka."
_READERS = Path(__file__).with_name("KafkaRangeReaders.java")
_INPUT, _READERS_OF_SPARK = "KafkaBatchInputPartition", "KafkaBatchReaderFactory"
_POLL_TIMEOUT, _FAIL_ON_LOSS, _HEADERS = "kafkaConsumer.pollTimeoutMs", "failOnDataLoss", "includeHeaders"
# Below this, a second Spark task costs more than it saves.
LEAST_TO_SPLIT = 10_000
TASKS = 2

READERS = ("org.apache.spark.sql.kafka010.consumer.", "connect.dagster.KafkaRangeReader.")
"""In the stacks of errors of a read: Spark's consumers, or the project's readers, which poll them."""
_OF_KAFKA = re.compile(
    r"org\.apache\.kafka\.common\.(?:KafkaException|errors\.\w+)"
    # Spark's own: no record came within kafkaConsumer.pollTimeoutMs.
    r"|java\.util\.concurrent\.TimeoutException: Cannot fetch record"
)
_NOT_CONSTRUCTED, _NO_ADDRESS = "Failed to construct kafka consumer", "No resolvable bootstrap urls"


class OffsetRange(NamedTuple):
    """Offsets of one partition, from ``start`` up to ``end``, which is not among them."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """Return the count of offsets, with those that have no record (compacted, or of a transaction's end)."""
        return self.end - self.start


class OffsetRangeReader:
    """Reads ranges of offsets of the partitions of one task.

    Args:
        spark: the worker's session.
        options: of Spark's Kafka source, without partitions and offsets.
    """

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._options = options
        self._parts: _SourceParts | None = None
        self._way: Callable[[Sequence[OffsetRange]], DataFrame] | None = None

    @property
    def kind(self) -> tuple[str, ...]:
        """Return a value that is equal for readers whose slots can be exchanged."""
        return tuple(self._options[name] for name in (_POLL_TIMEOUT, _FAIL_ON_LOSS, _HEADERS))

    def renew_consumers(self) -> None:
        """Forget what was fetched ahead, as the logs may have other records at these offsets."""
        if self._parts is not None:
            self._parts.renew_consumers()

    def slot(self, ranges: Sequence[OffsetRange]) -> RangeSlot | None:
        """Return a DataFrame over these ranges, or others of the same layout.

        Returns:
            ``None`` where this Spark has other parts, so that each plan has to be made for its ranges.
        """
        parts = self._known_parts(ranges)
        try:
            return None if parts is None else RangeSlot(parts, ranges)
        except Py4JError as error:
            if is_spark_gone(error):
                raise
            log.info("Ranges of offsets are planned for each batch: %s", error)
            return None

    def take_over(self, slot: RangeSlot, ranges: Sequence[OffsetRange]) -> bool:
        """Read ranges of this task by the slot of a reader that has ended, of the same kind.

        Args:
            slot: of another reader; has as many ranges for each Spark task.
            ranges: the first ones.

        Returns:
            Whether this Spark allows it.
        """
        parts = self._known_parts(ranges)
        try:
            if parts is not None:
                slot.move(parts, ranges)
        except Py4JError as error:
            if is_spark_gone(error):
                raise
            log.info("A query over ranges of offsets is planned again: %s", error)
            return False
        return parts is not None

    def _known_parts(self, ranges: Sequence[OffsetRange]) -> _SourceParts | None:
        if self._way is None:
            self._way = self._way_of_this_spark(ranges)
        return self._parts

    def read(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        """Return the records of ranges in the columns of Spark's Kafka source; nothing is read yet.

        Args:
            ranges: one of each partition at most; small ones share a Spark task.
        """
        if self._way is None:
            self._way = self._way_of_this_spark(ranges)
        return self._way(ranges)

    def _way_of_this_spark(self, ranges: Sequence[OffsetRange]) -> Callable[[Sequence[OffsetRange]], DataFrame]:
        try:
            parts = _SourceParts(self._spark, self._options)
            parts.read(ranges)
        except (Py4JError, TypeError, AttributeError) as error:
            if is_spark_gone(error):
                raise
            log.info("Spark's Kafka source has other parts than in Spark 4.1, it is read as a whole: %s", error)
            return self.read_publicly
        self._parts = parts
        return parts.read

    def read_publicly(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        """Return what :meth:`read` returns, by Spark's public source, which asks the brokers for each plan."""
        assigned: dict[str, list[int]] = {}
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for one in ranges:
            topic, number = one.partition.topic, one.partition.partition
            assigned.setdefault(topic, []).append(number)
            starts.setdefault(topic, {})[str(number)] = one.start
            ends.setdefault(topic, {})[str(number)] = one.end
        offsets = {"assign": assigned, "startingOffsets": starts, "endingOffsets": ends}
        asked = {name: json.dumps(value) for name, value in offsets.items()}
        return self._spark.read.format("kafka").options(**self._options, **asked).load()


def shared_out(most: int, backlogs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the records of each partition in a batch: all, or shares of the most records by their backlogs.

    Args:
        most: records of the batch.
        backlogs: records that each partition has; the first ones get what rounding leaves.
    """
    total = sum(backlogs.values())
    if total <= most:
        return dict(backlogs)
    shares = {one: most * backlog // total for one, backlog in backlogs.items()}
    left = most - sum(shares.values())
    for one, backlog in backlogs.items():
        if left and shares[one] < backlog:
            shares[one] += 1
            left -= 1
    return shares


def of_tasks(ranges: Sequence[OffsetRange]) -> Iterator[Sequence[OffsetRange]]:
    """Yield the ranges of each Spark task: one has all of a small batch, none has more than half of a large one."""
    total = sum(one.size for one in ranges)
    if total < LEAST_TO_SPLIT:
        yield ranges
        return
    for one in ranges:
        count = math.ceil(one.size * TASKS / total)
        cuts = [one.start + one.size * number // count for number in range(count + 1)]
        yield from ([one._replace(start=first, end=end)] for first, end in itertools.pairwise(cuts))


Layout = tuple[tuple[TopicPartition, ...], ...]
"""The partitions that each Spark task reads, in order."""


def layout(ranges: Sequence[OffsetRange]) -> Layout:
    """Return the partitions of each Spark task."""
    return tuple(tuple(one.partition for one in task) for task in of_tasks(ranges))


def is_refused_read(error: BaseException) -> bool:
    """Return whether a Spark job failed because its consumer got no records: for any reason that brokers give.

    Among them are those that only an operator can remove, such as a missing right or a damaged record (Java:
    ``KafkaException``), and addresses that do not resolve now. Settings that the consumer itself refuses are not.
    """
    texts = list(java_texts(error))
    if any(_NOT_CONSTRUCTED in text for text in texts):
        return any(_NO_ADDRESS in text for text in texts)
    return any(_OF_KAFKA.search(text) and any(reader in text for reader in READERS) for text in texts)


class RangeSlot:
    """Ranges of offsets that one DataFrame reads, others of the same layout for each run: Spark plans it once.

    A Spark task gets its ranges when a job submits it, so that a plan sees those that are set then.

    Args:
        parts: of Spark's Kafka source.
        ranges: the first ones.

    Attributes:
        df: the records, in the columns of Spark's Kafka source.

    Raises:
        Py4JError: this Spark has other parts.
    """

    def __init__(self, parts: _SourceParts, ranges: Sequence[OffsetRange]) -> None:
        self._tasks = [[parts.range(one) for one in task] for task in of_tasks(ranges)]
        self._inputs = [[parts.input(one) for one in task] for task in self._tasks]
        self._start, self._end, self._partition = (
            writable_field(self._tasks[0][0], name) for name in ("fromOffset", "untilOffset", "topicPartition")
        )
        self._consumers = writable_field(self._inputs[0][0], "executorKafkaParams")
        self.df: DataFrame = parts.over(self._inputs)

    def move(self, parts: _SourceParts, ranges: Sequence[OffsetRange]) -> None:
        """Read partitions of another task from here on, by its consumers.

        Args:
            parts: of the other task.
            ranges: its first ones.

        Raises:
            Py4JError: Spark refuses it.
        """
        for task, inputs, wanted in zip(self._tasks, self._inputs, of_tasks(ranges), strict=True):
            for java_range, java_input, one in zip(task, inputs, wanted, strict=True):
                self._partition.set(java_range, parts.partition(one.partition))
                self._consumers.set(java_input, parts.consumers)

    def set(self, ranges: Sequence[OffsetRange]) -> None:
        """Read these from here on; a run that is under way must have ended.

        Args:
            ranges: of the layout of the first ones.
        """
        for task, wanted in zip(self._tasks, of_tasks(ranges), strict=True):
            for java, one in zip(task, wanted, strict=True):
                self._start.setLong(java, one.start)
                self._end.setLong(java, one.end)


class _SourceParts:
    """The parts of Spark's Kafka source (``org.apache.spark.sql.kafka010``)."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        jvm: Any = spark._jvm
        kafka = jvm.org.apache.spark.sql.kafka010
        self._spark = spark
        self._range, self._input = kafka.KafkaOffsetRange, getattr(kafka, _INPUT)
        self._readers = _reader_factory(kafka)
        self._topic_partition = jvm.org.apache.kafka.common.TopicPartition
        self._nothing = jvm.scala.Option.empty()
        self._poll_timeout = int(options[_POLL_TIMEOUT])
        self._fails_on_loss, self._headers = options[_FAIL_ON_LOSS] == "true", options[_HEADERS] == "true"
        self._schema = scala_object(kafka, "KafkaRecordToRowConverter").kafkaSchema(self._headers)
        given = jvm.java.util.HashMap()
        for name, value in options.items():
            if name.startswith(_KAFKA):
                given.put(name.removeprefix(_KAFKA), value)
        # Spark keeps the consumers of a group open between batches, and what they have fetched ahead.
        self.consumers = scala_object(kafka, "KafkaSourceProvider").kafkaParamsForExecutors(
            jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(given), _unique_group()
        )

    def renew_consumers(self) -> None:
        """Read by others than those that are open, also in frames that were made before."""
        self.consumers.put("group.id", _unique_group())

    def read(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        """Return the records of ranges."""
        return self.over([self.input(self.range(one)) for one in task] for task in of_tasks(ranges))

    def over(self, inputs: Iterable[Iterable[Any]]) -> DataFrame:
        """Return the records of Spark's inputs by task."""
        return frame_of_readers(self._spark, inputs, self._readers, self._schema)

    def range(self, one: OffsetRange) -> Any:
        """Return a range of Spark."""
        return self._range(self.partition(one.partition), one.start, one.end, self._nothing)

    def partition(self, one: TopicPartition) -> Any:
        """Return a partition of Kafka's client."""
        return self._topic_partition(one.topic, one.partition)

    def input(self, java_range: Any) -> Any:
        """Return what a Spark task reads a range by."""
        return self._input(java_range, self.consumers, self._poll_timeout, self._fails_on_loss, self._headers)


def _unique_group() -> str:
    return f"connect-dagster-{uuid.uuid4()}"


def _reader_factory(kafka: Any) -> Any:
    try:
        return new_instance(_READERS)
    except (Py4JError, CapturedException) as error:
        if is_spark_gone(error):
            raise
        log.info("Spark's consumers have other parts than in Spark 4.1, its own readers are used: %s", error)
        return scala_object(kafka, _READERS_OF_SPARK)
