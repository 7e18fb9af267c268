"""Preview of a sink: records through the converters and transforms of its connector, and no further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Message
from pyspark.sql import SparkSession

from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka.clients import range_options
from connect_dagster.kafka.fetched_records import FetchedRecords
from connect_dagster.plugin.records import SinkRecord
from connect_dagster.plugin.samples import Windows
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.bytes_bound import ReadBound
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.errors.failures import FailedRecord, is_spark_failure
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.retry import Retries
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.metrics.tasks import PluginMetrics
from connect_dagster.worker.record_plugins import RecordPluginFactory
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.pipeline import SinkPipeline
from connect_dagster.worker.sink.plans import BatchPlans, SinkPlanner
from connect_dagster.worker.sink.stream import MicroBatch

_MOST_BYTES = 32 << 20

Coordinates = tuple[str, int, int]
"""Topic, partition and offset of a record as it was read."""


@dataclass(frozen=True, slots=True)
class SinkPreview:
    """The fate of some records, each of which is in one of the attributes.

    Attributes:
        put: records that the task would get.
        failed: records that a converter or a transform could not handle.
        dropped: those that a transform left out.
    """

    put: Sequence[SinkRecord]
    failed: Sequence[FailedRecord]
    dropped: Sequence[Coordinates]

    @property
    def counts(self) -> str:
        """Return the numbers of records as a text."""
        return f"{len(self.put)} for the sink, {len(self.dropped)} dropped, {len(self.failed)} failed"


def preview_sink(
    spark: SparkSession,
    plugins: Plugins,
    worker: WorkerConfig,
    connector: Mapping[str, str],
    messages: Sequence[Message],
) -> SinkPreview:
    """Return what a task of a sink connector would get, whether or not the connector tolerates errors.

    Args:
        spark: the session.
        plugins: all plugins.
        worker: the worker's configuration.
        connector: the connector's configuration, placeholders resolved.
        messages: at least one record, without errors.

    Raises:
        ConnectError: a plugin cannot be loaded, or an option is wrong.
    """
    config = SinkConnectorConfig.parse(connector)
    id = TaskId(config.name, 0)
    record_plugins = RecordPluginFactory(plugins, worker).make(str(id), config)
    pipeline = SinkPipeline(
        record_plugins.key,
        record_plugins.value,
        record_plugins.headers,
        tolerate=True,
        headers=True,
        transforms=record_plugins.chain,
        reported=True,
    )
    # Nobody waits for a retry here.
    tolerance = ToleranceOperator(Retries(ErrorPolicy(tolerate=True), ErrorMetrics(id), lambda _: False))
    reader = CountingReader(spark, range_options({}, headers=True))
    planner = SinkPlanner(spark, pipeline, ReadBound(_MOST_BYTES), reader, tolerance)
    try:
        metrics = PluginMetrics(str(id), Windows(), {})
        record_plugins.add_metrics(lambda *_: metrics)
        batch = MicroBatch.of_fetched(FetchedRecords.of(messages, headers=True), spark)
        return _preview(planner.plans(batch), [_coordinates(message) for message in messages])
    finally:
        planner.close()
        record_plugins.close()


def _preview(plans: BatchPlans, read: Sequence[Coordinates]) -> SinkPreview:
    poison: list[FailedRecord] = []
    try:
        put = _put(plans)
    except Exception as error:
        if not is_spark_failure(error):
            raise
        poison = plans.drop_poison_records()
        if not poison:
            raise
        put = _put(plans) if len(poison) < len(read) else []
    failed = [*poison, *(plans.failed_records() if len(poison) < len(read) else [])]
    done = {(one.original_topic, one.original_kafka_partition, one.original_kafka_offset) for one in put}
    done |= {(one.record.topic, one.record.partition, one.record.offset) for one in failed}
    return SinkPreview(put, failed, [place for place in read if place not in done])


def _put(plans: BatchPlans) -> list[SinkRecord]:
    with plans.searched() as batch:
        return batch.records()


def _coordinates(message: Message) -> Coordinates:
    return message.topic() or "", message.partition() or 0, message.offset() or 0
