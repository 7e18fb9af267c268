"""Bytes of offset syncs, checkpoints and heartbeats, and their texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.wire import MalformedBytes

Record = OffsetSync | Checkpoint | Heartbeat

SYNC = OffsetSync(TopicPartition("orders", 3), 1000, 990)
CHECKPOINT = Checkpoint("billing", TopicPartition("eu.orders", 3), 1000, 990)
HEARTBEAT = Heartbeat("eu", "us", 1_700_000_000_000)

# Keys and values as Java's classes write them.
EXAMPLES = [
    (SYNC, "0006 6f7264657273 00000003", "00000000000003e8 00000000000003de"),
    (
        CHECKPOINT,
        "0007 62696c6c696e67 0009 65752e6f7264657273 00000003",
        "0000 00000000000003e8 00000000000003de 0000",
    ),
    (HEARTBEAT, "0002 6575 0002 7573", "0000 0000018bcfe56800"),
]

_offsets = st.integers(-(1 << 63), (1 << 63) - 1)
_texts = st.text(max_size=20)
_partitions = st.builds(TopicPartition, _texts, st.integers(-(1 << 31), (1 << 31) - 1))
_records = st.one_of(
    st.builds(OffsetSync, _partitions, _offsets, _offsets),
    st.builds(Checkpoint, _texts, _partitions, _offsets, _offsets, _texts),
    st.builds(Heartbeat, _texts, _texts, _offsets),
)


@pytest.mark.parametrize(("record", "key", "value"), EXAMPLES)
def test_the_bytes_of_a_record(record: Record, key: str, value: str) -> None:
    assert record.key == bytes.fromhex(key)
    assert record.value == bytes.fromhex(value)
    assert type(record).decode(record.key, record.value) == record


@given(_records)
def test_what_is_written_is_read(record: Record) -> None:
    assert type(record).decode(record.key, record.value) == record
    assert type(record).decode(record.key + b"after", record.value + b"after") == record


@given(_records)
def test_every_cut_is_malformed(record: Record) -> None:
    for size in range(len(record.key)):
        with pytest.raises(MalformedBytes):
            type(record).decode(record.key[:size], record.value)
    for size in range(len(record.value)):
        with pytest.raises(MalformedBytes):
            type(record).decode(record.key, record.value[:size])


@pytest.mark.parametrize("record", [CHECKPOINT, HEARTBEAT])
def test_another_version_is_malformed(record: Record) -> None:
    with pytest.raises(MalformedBytes, match=r"^version 1 where 0 is known, at byte 0 of "):
        type(record).decode(record.key, b"\x00\x01" + record.value[2:])


@pytest.mark.parametrize("record", [SYNC, CHECKPOINT, HEARTBEAT])
def test_a_tombstone_has_no_record(record: Record) -> None:
    assert type(record).decode(record.key, None) is None
    assert type(record).decode(None, record.value) is None


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (SYNC, "OffsetSync{topicPartition=orders-3, upstreamOffset=1000, downstreamOffset=990}"),
        (
            Checkpoint("billing", TopicPartition("eu.orders", 3), 1000, 990, "from cli"),
            "Checkpoint{consumerGroupId=billing, topicPartition=eu.orders-3, upstreamOffset=1000, "
            "downstreamOffset=990, metadata=from cli}",
        ),
        (HEARTBEAT, "Heartbeat{sourceClusterAlias=eu, targetClusterAlias=us, timestamp=1700000000000}"),
    ],
)
def test_the_text_of_a_record(record: Record, text: str) -> None:
    assert str(record) == text
