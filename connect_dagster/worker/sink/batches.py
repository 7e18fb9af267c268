"""How much a sink task reads at once, and how a batch is cut when a user limits the records of a put."""

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

# Bigger batches are no faster and take more memory (docs/decisions/0002-spark-session.md).
_MOST_RECORDS = 200_000
# A record that is known to be there and does not come: the brokers are away, and the group must be heard meanwhile.
_FETCH_MS = 10_000
_FASTER_FETCHES = {
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "receive.buffer.bytes": str(1 << 20),
}


def source_options(consumer: Settings, max_poll_records: int | None, *, headers: bool) -> dict[str, str]:
    """Options of Spark's Kafka source.

    Args:
        consumer: settings of the task's consumer.
        max_poll_records: most records of one put; ``None`` for what the engine finds best.
        headers: whether they are read.
    """
    return {
        **clients.spark_options({**_FASTER_FETCHES, **consumer}),
        "maxOffsetsPerTrigger": str(max_poll_records or _MOST_RECORDS),
        "minPartitions": "2",
        # A partition that was truncated goes on at what is left of it, unless the user said otherwise.
        "failOnDataLoss": str(consumer.get("auto.offset.reset") == "none").lower(),
        "kafkaConsumer.pollTimeoutMs": str(_FETCH_MS),
        "includeHeaders": str(headers).lower(),
    }


def latest_offsets(report: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Where partitions ended when Spark planned the batch of a progress report."""
    # As a mapping, Spark's report has offsets in the words of Python's repr.
    latest = [json.loads(source.json)["latestOffset"] or {} for source in report["sources"]]
    return {
        TopicPartition(topic, int(partition)): end
        for topics in latest
        for topic, partitions in topics.items()
        for partition, end in partitions.items()
    }


def parts(batch: MicroBatch, limit: int | None) -> Iterator[MicroBatch]:
    """The batch in parts of at most ``limit`` records (``max.poll.records``), in the order of each partition.

    A batch without offsets, as the first of a query is where nothing has come yet, has no parts.
    """
    if all(end == batch.start[place] for place, end in batch.end.items()):
        return
    if limit is None or batch.size <= limit:
        yield batch
        return
    for place, end in batch.end.items():
        for first in range(batch.start[place], end, limit):
            yield _part(batch, place, first, min(first + limit, end))


def _part(batch: MicroBatch, place: TopicPartition, first: int, end: int) -> MicroBatch:
    conditions = (
        F.col("topic") == place.topic,
        F.col("partition") == place.partition,
        F.col("offset") >= first,
        F.col("offset") < end,
    )
    rows = batch.df.where(functools.reduce(operator.and_, conditions))
    return replace(batch, df=rows, start={place: first}, end={place: end})
