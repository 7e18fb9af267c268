"""Messages for librdkafka over Arrow's buffers."""

from __future__ import annotations

import ctypes

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.kafka.column_producer import messages

CONTENTS = st.lists(st.none() | st.binary(max_size=40), max_size=30)


def read(address: int, length: int) -> bytes | None:
    """Return the bytes at an address as librdkafka does."""
    return None if address == 0 else ctypes.string_at(address, length)


@given(CONTENTS, st.integers(0, 10), st.sampled_from([pa.binary(), pa.large_binary()]))
def test_messages_point_to_the_values_of_a_slice(contents: list[bytes | None], start: int, kind: pa.DataType) -> None:
    batch = pa.record_batch({"value": pa.array(contents, kind), "key": pa.array(contents[::-1], kind)}).slice(start)
    made = messages(batch, 7)
    assert [read(int(one["payload"]), int(one["len"])) for one in made] == contents[start:]
    assert [read(int(one["key"]), int(one["key_len"])) for one in made] == contents[::-1][start:]
    assert made["private"].tolist() == list(range(8, 8 + len(made)))
    assert set(made["partition"].tolist()) <= {-1}


def test_a_missing_partition_is_left_to_the_partitioner() -> None:
    batch = pa.record_batch({"value": pa.array([b"a", b"b"]), "partition": pa.array([None, 3], pa.int32())})
    assert messages(batch, 0)["partition"].tolist() == [-1, 3]


def test_empty_is_not_null() -> None:
    made = messages(pa.record_batch({"value": pa.array([b"", None], pa.binary())}), 0)
    assert [read(int(one["payload"]), int(one["len"])) for one in made] == [b"", None]
