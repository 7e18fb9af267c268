"""Contexts, batches and a small Spark session for plugin authors' tests, in place of a worker.

The contexts have the services of a worker for a task; nothing is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import (
    LoadClass,
    OffsetReader,
    SourceTaskContext,
    TransactionContext,
    importable_class,
)
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.metrics import MetricReading, Metrics, Read
from connect_dagster.plugin.records import SourceRecord
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
class _StoredOffsets:
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


@dataclass(frozen=True, slots=True)
class _SourceContext:
    offsets: OffsetReader
    session: SparkSession | None
    metrics: Metrics
    converter: HeaderConverter | None
    transaction_context: TransactionContext | None
    load_class: LoadClass = importable_class

    @property
    def spark(self) -> SparkSession:
        if self.session is None:
            raise ConnectError("This test gave its source no Spark: source_context(spark=...)")
        return self.session

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
) -> SourceTaskContext:
    """Return the context of a source task.

    Args:
        offsets: source partitions with the offsets that an earlier run committed.
        spark: a session, for sources that make frames.
        metrics: receives those of the task, such as ``CollectedMetrics()``.
        header_converter: for sources that make frames with headers.
        transaction_context: for sources that end transactions, such as ``CollectedEnds()``.
    """
    return _SourceContext(
        _StoredOffsets(offsets), spark, metrics or CollectedMetrics(), header_converter, transaction_context
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
