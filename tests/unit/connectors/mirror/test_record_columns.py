"""Fetched records as the target gets them, and their receipts."""

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mirror.source.record_columns import delivered_by_partition, mirrored_table
from connect_dagster.plugin.records import TopicPartition

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def fetched() -> pa.Table:
    """Three records of two topics, in the columns of Spark's Kafka source; the second one has no timestamp."""
    return pa.table(
        {
            "key": pa.array([b"k", None, b""], pa.binary()),
            "value": pa.array([b"one", None, b""], pa.binary()),
            "topic": pa.array(["t", "u", "t"]),
            "partition": pa.array([0, 1, 0], pa.int32()),
            "offset": pa.array([7, 8, 9], pa.int64()),
            "timestamp": pa.array([1_500_000, -1_000, 0], pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0, 0, 0], pa.int32()),
            "headers": pa.array([[{"key": "h", "value": None}], [], []], HEADERS),
        }
    )


def test_records_keep_all_but_their_topic() -> None:
    made = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"}).to_pydict()
    assert made["topic"] == ["A.t", "A.u", "A.t"]
    assert made["partition"] == [0, 1, 0]
    assert made["timestamp"] == [1_500, None, 0]
    assert made["key"] == [b"k", None, b""]
    assert made["value"] == [b"one", None, b""]
    assert made["headers"] == [[{"key": "h", "value": None}], [], []]


def test_receipts_lead_back_to_the_partitions_of_the_source() -> None:
    sent = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"})
    receipts = pa.table(
        {
            "receipt": sent.column("receipt"),
            "topic": sent.column("topic"),
            "partition": sent.column("partition"),
            "offset": pa.array([100, 200, 101], pa.int64()),
        }
    )
    first, second = delivered_by_partition(receipts)
    assert first.partition == TopicPartition("t", 0)
    np.testing.assert_array_equal(first.upstream, [7, 9])
    np.testing.assert_array_equal(first.downstream, [100, 101])
    np.testing.assert_array_equal(first.timestamps, [1_500, 0])
    np.testing.assert_array_equal(first.sizes, [3, 0])
    assert second.partition == TopicPartition("u", 1)
    np.testing.assert_array_equal(second.downstream, [200])
    np.testing.assert_array_equal(second.timestamps, [-1])
    np.testing.assert_array_equal(second.sizes, [0])


def test_a_batch_of_which_nothing_was_delivered_has_no_partition() -> None:
    sent = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"}).slice(0, 0)
    receipts = pa.table(
        {**{name: sent.column(name) for name in ("receipt", "topic", "partition")}, "offset": pa.array([], pa.int64())}
    )
    assert list(delivered_by_partition(receipts)) == []
