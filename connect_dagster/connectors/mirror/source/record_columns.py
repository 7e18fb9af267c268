"""Records of the source cluster as those of the target: columns of frames and tables.

A record keeps its key, value, headers, partition and timestamp; its topic gets the name that the policy gives it. Its
receipt is the partition and offset that it was read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frame_columns import RECEIPT

SENT = ("key", "value", "topic", "partition", "headers", "timestamp")
PLACE = ("topic", "partition", "offset")
"""Fields of a receipt, of the source cluster."""

_MILLISECOND = 1000
_NO_TIMESTAMP = -1


def mirrored_frame(df: DataFrame, remote: Mapping[str, str]) -> DataFrame:
    """Return records of Spark's Kafka source as they go to the target.

    Args:
        df: columns of Spark's Kafka source, headers among them.
        remote: the name on the target of each topic.
    """
    millis = F.unix_millis("timestamp")
    return df.select(
        "key",
        "value",
        _renamed(remote).alias("topic"),
        "partition",
        "headers",
        F.when(millis != _NO_TIMESTAMP, millis).alias("timestamp"),
        F.struct(*PLACE).alias(RECEIPT),
    )


def mirrored_table(rows: pa.Table, remote: Mapping[str, str]) -> pa.Table:
    """Return fetched records as :func:`mirrored_frame` does."""
    topics = rows.column("topic")
    millis = pc.divide(rows.column("timestamp").cast(pa.int64()), _MILLISECOND)
    places = pa.StructArray.from_arrays([rows.column(name).combine_chunks() for name in PLACE], PLACE)
    made = {
        **{name: rows.column(name) for name in SENT},
        "topic": pa.chunked_array([pa.array([remote[topic] for topic in topics.to_pylist()], pa.string())]),
        "timestamp": pc.if_else(pc.equal(millis, _NO_TIMESTAMP), None, millis),
        RECEIPT: places,
    }
    return pa.table(made)


def places_by_partition(receipts: pa.Table) -> Iterable[tuple[str, int, pa.Table]]:
    """Yield the receipts of each partition of the source, in the order of its records.

    Args:
        receipts: columns ``receipt, topic, partition, offset``.

    Yields:
        Topic and partition of the source, and columns ``upstream`` and ``topic, partition, offset`` of the target.
    """
    struct = receipts.column(RECEIPT).combine_chunks()
    flat = {name: struct.field(name) for name in PLACE}
    topics = flat["topic"].dictionary_encode()
    table = pa.table(
        {
            "of_topic": topics.indices,
            "of_partition": flat["partition"],
            "upstream": flat["offset"],
            **{name: receipts.column(name) for name in PLACE},
        }
    )
    pairs = table.group_by(["of_topic", "of_partition"]).aggregate([])
    for number, partition in zip(*(pairs.column(name).to_pylist() for name in pairs.column_names), strict=True):
        is_its = pc.and_(pc.equal(table.column("of_topic"), number), pc.equal(table.column("of_partition"), partition))
        yield topics.dictionary[number].as_py(), partition, table.filter(is_its)


def _renamed(remote: Mapping[str, str]) -> Column:
    if len(remote) == 1:
        return F.lit(next(iter(remote.values())))
    if all(to.endswith(topic) for topic, to in remote.items()) and len(prefixes := _prefixes(remote)) == 1:
        return F.concat(F.lit(prefixes.pop()), "topic")
    return F.create_map(*(F.lit(text) for pair in remote.items() for text in pair))[F.col("topic")]


def _prefixes(remote: Mapping[str, str]) -> set[str]:
    return {to.removesuffix(topic) for topic, to in remote.items()}
