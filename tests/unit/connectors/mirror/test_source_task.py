"""Records that a source task's jobs could not read. No Spark, no brokers."""

from typing import Any, cast

import pytest
from pyspark.errors import PySparkException

from connect_dagster.connectors.mirror.source.reading import Read, SourceAwayError
from connect_dagster.connectors.mirror.source.task import MirrorSourceTask, _InFlight
from connect_dagster.expressions.offset_ranges import OffsetRange
from connect_dagster.plugin.records import TopicPartition

RANGES = [OffsetRange(TopicPartition("t", 0), 5, 9)]
BATCH: Any = object()
REFUSED = PySparkException(
    "Job aborted: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [t]"
    "\n\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:90)"
)


class Reader:
    """A reader of a source that is away."""

    def delivered(self, read: Read) -> None: ...

    def check(self, partitions: list[TopicPartition]) -> None:
        raise SourceAwayError(f"no response for {partitions}")


class Slot:
    """The ranges that a DataFrame reads."""

    ranges: Any = None

    def set(self, ranges: Any) -> None:
        self.ranges = ranges


@pytest.fixture
def task() -> MirrorSourceTask:
    task = MirrorSourceTask()
    task._rereads, task._in_flight, task._reader = 0, {id(BATCH): _InFlight(Read(0, {}), 0)}, cast("Any", Reader())
    return task


def test_they_are_read_again_ever_more_seldom(task: MirrorSourceTask) -> None:
    assert [task.reread_delay(REFUSED) for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    task.delivered(BATCH)
    assert task.reread_delay(SourceAwayError("away")) == 0.5
    assert task.reread_delay(PySparkException("Job aborted: java.lang.ArithmeticException")) is None


def test_no_job_is_run_again_before_the_source_responds(task: MirrorSourceTask) -> None:
    slot = Slot()
    task._set(cast("Any", slot), RANGES)
    assert slot.ranges == RANGES
    task.reread_delay(REFUSED)
    slot.ranges = None
    with pytest.raises(SourceAwayError):
        task._set(cast("Any", slot), RANGES)
    assert slot.ranges is None
