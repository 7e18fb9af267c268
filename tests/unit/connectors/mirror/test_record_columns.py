"""Fetched records as the target gets them, and their receipts."""

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mirror.source.record_columns import delivered_by_partition, mirrored_table
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.source.receipts import Places, receipts

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


def received(sent: pa.Table, topic: str | None, offsets: list[int]) -> pa.Table:
    """What a task gets back of records that were sent, whose partitions on the target are those of the source."""
    places = Places(sent.num_rows)
    places.partitions[:], places.offsets[:] = sent.column("partition").to_numpy(), offsets
    return receipts(sent, topic, places)


def test_receipts_lead_back_to_the_partitions_of_the_source() -> None:
    sent = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"})
    first, second = delivered_by_partition(received(sent, None, [100, 200, 101]), "t")
    assert first.partition == TopicPartition("t", 0)
    np.testing.assert_array_equal(first.upstream, [7, 9])
    np.testing.assert_array_equal(first.downstream, [100, 101])
    np.testing.assert_array_equal(first.timestamps, [1_500, 0])
    np.testing.assert_array_equal(first.sizes, [3, 0])
    assert second.partition == TopicPartition("u", 1)
    np.testing.assert_array_equal(second.downstream, [200])
    np.testing.assert_array_equal(second.timestamps, [-1])
    np.testing.assert_array_equal(second.sizes, [0])


def test_records_of_one_topic_do_not_carry_it() -> None:
    sent = mirrored_table(fetched(), {"u": "A.u"})
    assert "topic" not in sent.column_names
    first, second = delivered_by_partition(received(sent, "A.u", [100, 200, 101]), "u")
    assert (first.partition, second.partition) == (TopicPartition("u", 0), TopicPartition("u", 1))
    np.testing.assert_array_equal(first.upstream, [7, 9])
    np.testing.assert_array_equal(first.downstream, [100, 101])
    np.testing.assert_array_equal(second.upstream, [8])


def test_records_that_kafka_has_not_are_not_delivered() -> None:
    sent = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"})
    (only,) = delivered_by_partition(received(sent, None, [-1, -1, 101]), "t")
    np.testing.assert_array_equal(only.upstream, [9])


def test_a_batch_of_which_nothing_was_delivered_has_no_partition() -> None:
    sent = mirrored_table(fetched(), {"t": "A.t", "u": "A.u"})
    assert list(delivered_by_partition(received(sent, None, [-1, -1, -1]), "t")) == []
