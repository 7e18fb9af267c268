"""Contexts, batches and a small Spark session for plugin authors' tests, in place of a worker.

The contexts have the services of a worker for a task; nothing is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark_types

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import (
    LoadClass,
    OffsetReader,
    Properties,
    SourceTaskContext,
    TransactionContext,
    importable_class,
)
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.metrics import MetricReading, Metrics, Read
from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.plugin.records import SinkRecord, SourceRecord, TopicPartition
from connect_dagster.plugin.samples import Windows
from connect_dagster.plugin.schema import Schema

# Where records are concerned, as in a worker.
_SMALL_SPARK = {
    "spark.app.name": "connect_dagster test",
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.legacy.codingErrorAction": "true",
}
Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class _StoredOffsets(OffsetReader):
    stored: Offsets

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return next((dict(offset) for known, offset in self.stored if known == partition), None)


class CollectedMetrics:
    """The metrics that a task adds.

    Attributes:
        windows: Kafka's defaults.
        added: what the task has added.
    """

    def __init__(self) -> None:
        self.windows = Windows()
        self.added: list[Read] = []

    def add(self, read: Read) -> None:
        """Keep it."""
        self.added.append(read)

    def readings(self, now: float) -> list[MetricReading]:
        """Return all readings at a time, in seconds of ``time.monotonic``."""
        return [reading for read in self.added for reading in read(now)]


class CollectedEnds:
    """The ends of transactions that a task requests (``TransactionContext``).

    Attributes:
        commits: records or frames behind which it requests a commit; ``None`` for the next result of ``poll``.
        aborts: the same for aborts.
    """

    def __init__(self) -> None:
        self.commits: list[SourceRecord | SourceBatch | None] = []
        self.aborts: list[SourceRecord | SourceBatch | None] = []

    def commit_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Keep the request."""
        self.commits.append(last)

    def abort_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Keep the request."""
        self.aborts.append(last)


@dataclass(slots=True)
class ConnectorRequests:
    """The context of a source or sink connector, which keeps what it requests (``SourceConnectorContext``).

    Attributes:
        offsets: what the connector reads.
        metrics: those that it adds.
        reconfigurations: number of requests for new task configurations.
        errors: with which it has failed.
    """

    offsets: OffsetReader = field(default_factory=lambda: _StoredOffsets(()))
    metrics: CollectedMetrics = field(default_factory=CollectedMetrics)
    reconfigurations: int = 0
    errors: list[Exception] = field(default_factory=list)

    def request_task_reconfiguration(self) -> None:
        """Count the request."""
        self.reconfigurations += 1

    def raise_error(self, error: Exception) -> None:
        """Keep the error."""
        self.errors.append(error)

    def load_class(self, name: str) -> type[Any]:
        """Return a class that can be imported. Raises ConnectError."""
        return importable_class(name)


def connector_context(offsets: Offsets = ()) -> ConnectorRequests:
    """Return the context of a connector.

    Args:
        offsets: source partitions with the offsets that its tasks have committed.
    """
    return ConnectorRequests(_StoredOffsets(offsets))


@dataclass(slots=True)
class CollectedReports:
    """Records that a sink task reports (``ErrantRecordReporter``).

    Attributes:
        tolerates: as the connector's ``errors.tolerance``.
        reported: topic, partition, offset and error of each.
    """

    tolerates: bool = True
    reported: list[tuple[str, int, int, str]] = field(default_factory=list)

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Keep a record. Raises ConnectError where errors are not tolerated."""
        self._keep([(record.topic, record.partition, record.offset, str(error))])
        written: Future[None] = Future()
        written.set_result(None)
        return written

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Keep the records of a frame whose error is not null. Raises ConnectError, as :meth:`report`."""
        text = (F.lit(error) if isinstance(error, str) else error).alias("error")
        rows = frame.to_arrow("topic", "partition", "offset", text).to_pylist()
        self._keep([tuple(row.values()) for row in rows if row["error"] is not None])

    def _keep(self, reported: Sequence[tuple[str, int, int, str]]) -> None:
        self.reported += reported
        if reported and not self.tolerates:
            raise ConnectError(f"Tolerance exceeded in error handler: {reported[0][-1]}")


@dataclass(slots=True)
class SinkRequests:
    """The context of a sink task, which keeps what the task requests (``SinkTaskContext``).

    Attributes:
        assignment: partitions of the task.
        config: returned by :meth:`configs`.
        topic_ids: ids of their topics.
        errant_record_reporter: of failed records; ``None`` for a connector that reports none.
        metrics: those that the task adds.
        rewound: offsets that the next ``put`` is to begin at.
        paused: partitions.
        timeout_ms: delay before the batch is put again.
        commits: number of requested commits.
    """

    session: SparkSession | None
    assignment: frozenset[TopicPartition]
    config: Properties
    errant_record_reporter: CollectedReports | None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    metrics: CollectedMetrics = field(default_factory=CollectedMetrics)
    rewound: dict[TopicPartition, int] = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    timeout_ms: int | None = None
    commits: int = 0

    @property
    def spark(self) -> SparkSession:
        """Return the session. Raises ConnectError where the test gave none."""
        return _given(self.session, "its sink", "sink_context")

    def configs(self) -> Properties:
        """Return the configuration that the test has given."""
        return self.config

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Keep the offsets."""
        self.rewound.update(offsets)

    def timeout(self, milliseconds: int) -> None:
        """Keep the delay."""
        self.timeout_ms = milliseconds

    def pause(self, *partitions: TopicPartition) -> None:
        """Keep the partitions."""
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Forget the partitions."""
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        """Count the request."""
        self.commits += 1


def sink_context(
    *partitions: TopicPartition,
    spark: SparkSession | None = None,
    config: Properties | None = None,
    reporter: CollectedReports | None = None,
) -> SinkRequests:
    """Return the context of a sink task.

    Args:
        partitions: that the task has.
        spark: a session, for sinks that make frames.
        config: returned by ``configs``.
        reporter: of failed records, such as ``CollectedReports()``.
    """
    return SinkRequests(spark, frozenset(partitions), {} if config is None else config, reporter)


def _given(spark: SparkSession | None, owner: str, function: str) -> SparkSession:
    if spark is None:
        raise ConnectError(f"This test gave {owner} no Spark: {function}(spark=...)")
    return spark


@dataclass(frozen=True, slots=True)
class _SourceContext:
    config: Properties
    offsets: OffsetReader
    session: SparkSession | None
    metrics: Metrics
    converter: HeaderConverter | None
    transaction_context: TransactionContext | None
    rate: Rate = UNLIMITED
    load_class: LoadClass = importable_class

    def configs(self) -> Properties:
        return self.config

    @property
    def spark(self) -> SparkSession:
        return _given(self.session, "its source", "source_context")

    @property
    def header_converter(self) -> HeaderConverter:
        if self.converter is None:
            raise ConnectError(
                "This test gave its source no converter of headers: source_context(header_converter=...)"
            )
        return self.converter


def source_context(
    offsets: Offsets = (),
    spark: SparkSession | None = None,
    metrics: Metrics | None = None,
    header_converter: HeaderConverter | None = None,
    transaction_context: TransactionContext | None = None,
    config: Properties | None = None,
    rate: Rate = UNLIMITED,
) -> SourceTaskContext:
    """Return the context of a source task.

    Args:
        offsets: source partitions with the offsets that an earlier run committed.
        spark: a session, for sources that make frames.
        metrics: receives those of the task, such as ``CollectedMetrics()``.
        header_converter: for sources that make frames with headers.
        transaction_context: for sources that end transactions, such as ``CollectedEnds()``.
        config: returned by ``configs``; a test may change it, as a config provider does.
        rate: the most that the task may send in a second.
    """
    return _SourceContext(
        {} if config is None else config,
        _StoredOffsets(offsets),
        spark,
        metrics or CollectedMetrics(),
        header_converter,
        transaction_context,
        rate,
    )


def sink_batch(
    spark: SparkSession, topic: str, values: Sequence[Any], schema: Schema | None = None, first_offset: int = 0
) -> SinkBatch:
    """Return a batch of records of one partition, without keys, one millisecond apart.

    Args:
        spark: a session.
        topic: the records' topic.
        values: in Python's terms for the schema.
        schema: ``None`` for schemaless values.
        first_offset: of the first record.
    """
    fields = {
        "topic": spark_types.StringType(),
        "partition": spark_types.IntegerType(),
        "offset": spark_types.LongType(),
        "timestamp": spark_types.LongType(),
        "key": spark_types.StringType(),
        "value": spark_types.StringType() if schema is None else schema.to_spark(),
    }
    rows = [
        (topic, 0, offset, offset, None, json.dumps(value) if schema is None and value is not None else value)
        for offset, value in enumerate(values, start=first_offset)
    ]
    row_type = spark_types.StructType([spark_types.StructField(name, type_) for name, type_ in fields.items()])
    return SinkBatch((SinkFrame(spark.createDataFrame(rows, row_type), schema, None),))


@contextmanager
def local_spark() -> Iterator[SparkSession]:
    """Return a session with one core, without UI."""
    builder = SparkSession.builder
    for name, value in _SMALL_SPARK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
