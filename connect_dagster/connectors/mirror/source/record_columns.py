"""Records of the source cluster as those of the target: columns of frames and tables.

A record keeps its key, value, headers, partition and timestamp; its topic gets the name that the policy gives it. Its
receipt has the place that it was read from. Records of one topic have no column for it, here as there.
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

_KEPT = ("key", "value", "partition", "headers")
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
    renamed = [] if only_topic(remote) else [_renamed(remote).alias("topic")]
    return df.select(*_KEPT, timestamp, *renamed, F.struct(*_place(remote)).alias(RECEIPT))


def mirrored_table(rows: pa.Table, remote: Mapping[str, str]) -> pa.Table:
    """Return fetched records as :func:`mirrored_frame` does."""
    millis = pc.divide(rows.column("timestamp").cast(pa.int64()), _MILLISECOND)
    made = {name: rows.column(name) for name in _KEPT}
    made["timestamp"] = pc.if_else(pc.equal(millis, _NO_TIMESTAMP), None, millis)
    if not only_topic(remote):
        topics = rows.column("topic").to_pylist()
        made["topic"] = pa.chunked_array([pa.array([remote[topic] for topic in topics], pa.string())])
    place = _place(remote)
    made[RECEIPT] = pa.StructArray.from_arrays([rows.column(name).combine_chunks() for name in place], list(place))
    return pa.table(made)


def only_topic(remote: Mapping[str, str]) -> str | None:
    """Return the name on the target of the one topic that records have; ``None`` where they have several."""
    return next(iter(remote.values())) if len(remote) == 1 else None


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


def delivered_by_partition(receipts: pa.Table, topic: str) -> Iterator[DeliveredRecords]:
    """Yield the records of each partition of the source.

    Args:
        receipts: as a task receives them.
        topic: of the source, where the records have one.
    """
    if not receipts.num_rows:
        return
    receipt = receipts.column(RECEIPT).combine_chunks()
    several = receipt.type.get_field_index("topic") >= 0
    topics = receipt.field("topic").dictionary_encode() if several else None
    places = receipt.field("partition").to_numpy().astype(np.int64)
    if topics is not None:
        places |= topics.indices.to_numpy().astype(np.int64) << _PARTITION_BITS
    columns = (
        receipt.field("offset"),
        receipts.column("offset"),
        pc.fill_null(receipts.column("timestamp"), _NO_TIMESTAMP),
        pc.fill_null(receipts.column("size"), 0),
    )
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    parts = [np.split(column.to_numpy()[order], starts[1:]) for column in columns]
    for start, *its in zip(starts, *parts, strict=True):
        name, number = divmod(int(places[order[start]]), 1 << _PARTITION_BITS)
        its_topic = topic if topics is None else topics.dictionary[name].as_py()
        yield DeliveredRecords(TopicPartition(its_topic, number), *its)


def _place(remote: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns that say where a record was read."""
    return _PLACE[1:] if only_topic(remote) else _PLACE


def _renamed(remote: Mapping[str, str]) -> Column:
    if all(to.endswith(topic) for topic, to in remote.items()) and len(prefixes := _prefixes(remote)) == 1:
        return F.concat(F.lit(prefixes.pop()), "topic")
    return F.create_map(*(F.lit(text) for pair in remote.items() for text in pair))[F.col("topic")]


def _prefixes(remote: Mapping[str, str]) -> set[str]:
    return {to.removesuffix(topic) for topic, to in remote.items()}
