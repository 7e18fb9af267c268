"""Records of the source cluster as those of the target: columns of frames and tables.

A record keeps its key, value, headers, partition and timestamp; its topic gets the name that the policy gives it. Its
receipt has the place that it was read from, and what is measured of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frame_columns import RECEIPT
from connect_dagster.plugin.records import TopicPartition

Numbers = npt.NDArray[np.int64]

SENT = ("key", "value", "topic", "partition", "headers", "timestamp")
_PLACE = ("topic", "partition", "offset")

_MILLISECOND = 1000
_NO_TIMESTAMP = -1
_PARTITION_BITS = 32


def mirrored_frame(df: DataFrame, remote: Mapping[str, str]) -> DataFrame:
    """Return records of Spark's Kafka source as they go to the target.

    Args:
        df: columns of Spark's Kafka source, headers among them.
        remote: the name on the target of each topic.
    """
    millis = F.unix_millis("timestamp")
    timestamp = F.when(millis != _NO_TIMESTAMP, millis).alias("timestamp")
    return df.select(
        "key",
        "value",
        _renamed(remote).alias("topic"),
        "partition",
        "headers",
        timestamp,
        F.struct(*_PLACE, timestamp, F.octet_length("value").alias("size")).alias(RECEIPT),
    )


def mirrored_table(rows: pa.Table, remote: Mapping[str, str]) -> pa.Table:
    """Return fetched records as :func:`mirrored_frame` does."""
    topics = rows.column("topic")
    millis = pc.divide(rows.column("timestamp").cast(pa.int64()), _MILLISECOND)
    timestamps = pc.if_else(pc.equal(millis, _NO_TIMESTAMP), None, millis)
    receipts = {
        **{name: rows.column(name) for name in _PLACE},
        "timestamp": timestamps,
        "size": pc.binary_length(rows.column("value")),
    }
    made = {
        **{name: rows.column(name) for name in SENT},
        "topic": pa.chunked_array([pa.array([remote[topic] for topic in topics.to_pylist()], pa.string())]),
        "timestamp": timestamps,
        RECEIPT: pa.StructArray.from_arrays([one.combine_chunks() for one in receipts.values()], list(receipts)),
    }
    return pa.table(made)


@dataclass(frozen=True, slots=True)
class DeliveredRecords:
    """Records of one partition of the source, in their order, which the target has.

    Attributes:
        partition: of the source.
        upstream: their offsets in it.
        downstream: their offsets in the partition of the target.
        timestamps: in milliseconds since the epoch; -1 for a record without one.
        sizes: bytes of their values.
    """

    partition: TopicPartition
    upstream: Numbers
    downstream: Numbers
    timestamps: Numbers
    sizes: Numbers


def delivered_by_partition(receipts: pa.Table) -> Iterator[DeliveredRecords]:
    """Yield the records of each partition of the source.

    Args:
        receipts: columns ``receipt, topic, partition, offset``, as a task receives them.
    """
    if not receipts.num_rows:
        return
    receipt = receipts.column(RECEIPT).combine_chunks()
    topics = receipt.field("topic").dictionary_encode()
    places = topics.indices.to_numpy().astype(np.int64) << _PARTITION_BITS | receipt.field("partition").to_numpy()
    columns = (
        receipt.field("offset"),
        receipts.column("offset"),
        pc.fill_null(receipt.field("timestamp"), _NO_TIMESTAMP),
        pc.fill_null(receipt.field("size"), 0),
    )
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    parts = [np.split(column.to_numpy()[order], starts[1:]) for column in columns]
    for start, *its in zip(starts, *parts, strict=True):
        topic, number = divmod(int(places[order[start]]), 1 << _PARTITION_BITS)
        yield DeliveredRecords(TopicPartition(topics.dictionary[topic].as_py(), number), *its)


def _renamed(remote: Mapping[str, str]) -> Column:
    if len(remote) == 1:
        return F.lit(next(iter(remote.values())))
    if all(to.endswith(topic) for topic, to in remote.items()) and len(prefixes := _prefixes(remote)) == 1:
        return F.concat(F.lit(prefixes.pop()), "topic")
    return F.create_map(*(F.lit(text) for pair in remote.items() for text in pair))[F.col("topic")]


def _prefixes(remote: Mapping[str, str]) -> set[str]:
    return {to.removesuffix(topic) for topic, to in remote.items()}
