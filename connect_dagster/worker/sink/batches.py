"""Options of a sink task's Kafka source, and the parts of a batch where a user limits the records of a put."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.stream import MicroBatch

# Bigger batches take more memory and the same time (docs/decisions/0002-spark-session.md).
_MOST_RECORDS = 200_000
# A known record that does not arrive: the brokers are away, and the task must poll its group meanwhile.
_FETCH_MS = 10_000
_FASTER_FETCHES = {
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "receive.buffer.bytes": str(1 << 20),
}


def source_options(consumer: Settings, max_poll_records: int | None, *, headers: bool) -> dict[str, str]:
    """Return the options of Spark's Kafka source.

    Args:
        consumer: settings of the task's consumer.
        max_poll_records: most records of one put; ``None`` for the default size.
        headers: whether to read headers.
    """
    return {
        **clients.spark_options({**_FASTER_FETCHES, **consumer}),
        "maxOffsetsPerTrigger": str(max_poll_records or _MOST_RECORDS),
        "minPartitions": "2",
        # A truncated partition continues at its new start, unless the user chose to fail.
        "failOnDataLoss": str(consumer.get("auto.offset.reset") == "none").lower(),
        "kafkaConsumer.pollTimeoutMs": str(_FETCH_MS),
        "includeHeaders": str(headers).lower(),
    }


def latest_offsets(report: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Return the ends of the partitions when Spark planned the batch of a progress report."""
    # As a mapping, Spark's report has offsets as Python's repr.
    latest = [json.loads(source.json)["latestOffset"] or {} for source in report["sources"]]
    return {
        TopicPartition(topic, int(partition)): end
        for topics in latest
        for topic, partitions in topics.items()
        for partition, end in partitions.items()
    }


def parts(batch: MicroBatch, limit: int | None) -> Iterator[MicroBatch]:
    """Yield the batch in parts of at most ``limit`` records (``max.poll.records``), in the order of each partition.

    A batch without offsets has no parts; the first batch of a query over empty partitions is one.
    """
    if all(end == batch.start[partition] for partition, end in batch.end.items()):
        return
    if limit is None or batch.size <= limit:
        yield batch
        return
    for partition, end in batch.end.items():
        for first in range(batch.start[partition], end, limit):
            yield _part(batch, partition, first, min(first + limit, end))


def _part(batch: MicroBatch, partition: TopicPartition, first: int, end: int) -> MicroBatch:
    conditions = (
        F.col("topic") == partition.topic,
        F.col("partition") == partition.partition,
        F.col("offset") >= first,
        F.col("offset") < end,
    )
    rows = batch.df.where(functools.reduce(operator.and_, conditions))
    return replace(batch, df=rows, start={partition: first}, end={partition: end})
