"""Messages for librdkafka over Arrow's buffers."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.kafka.epoch_timestamps import SUBSTITUTE
from connect_dagster.kafka.librdkafka_structs import field_lists, has_epoch, messages, suits_columns

CONTENTS = st.lists(st.none() | st.binary(max_size=40), max_size=30)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
HEADERS = st.none() | st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=9)), max_size=4)
HEADERS_TYPE = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))


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


def headers_of(rows: list[list[tuple[str, bytes | None]] | None]) -> pa.Array:
    return pa.array(
        [row if row is None else [dict(zip(("key", "value"), one, strict=True)) for one in row] for row in rows],
        HEADERS_TYPE,
    )


@given(st.lists(st.tuples(HEADERS, st.none() | st.integers(0, 2**62)), min_size=1), st.integers(0, 10))
def test_fields_have_the_headers_and_timestamps_of_a_slice(
    rows: list[tuple[list[tuple[str, bytes | None]] | None, int | None]], start: int
) -> None:
    headers, stamps = [row[0] for row in rows], [row[1] for row in rows]
    values = [b"%d" % number for number in range(len(rows))]
    batch = pa.record_batch(
        {
            "value": pa.array(values, pa.binary()),
            "headers": headers_of(headers),
            "timestamp": pa.array(stamps, pa.int64()),
        }
    ).slice(start)
    made = field_lists(batch, 7, np.full(batch.num_rows, 99, np.uint64))
    found = [made.fields[first : first + count] for first, count in zip(made.first, made.counts, strict=True)]
    assert [one["kind"][:6].tolist() for one in found] == [[2, 3, 4, 5, 6, 8]] * batch.num_rows
    assert [int(one["address"][0]) for one in found] == [99] * batch.num_rows
    assert [int(one["number"][1]) for one in found] == [-1] * batch.num_rows
    assert [read(int(one["address"][2]), int(one["length"][2])) for one in found] == values[start:]
    assert {int(one["address"][3]) for one in found} <= {0}
    assert [int(one["address"][4]) for one in found] == list(range(8, 8 + batch.num_rows))
    given = {0: None, SUBSTITUTE: 0}
    assert [given.get(int(one["long"][5]), int(one["long"][5])) for one in found] == stamps[start:]
    assert [
        [
            (ctypes.string_at(int(h["address"])).decode(), read(int(h["header_value"]), int(h["header_length"])))
            for h in one[6:]
        ]
        for one in found
    ] == [row or [] for row in headers[start:]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1_000, SUBSTITUTE], pa.int64()),
        pa.array([1.5, 2.5]),
        headers_of([None, [("a\0b", b"")]]),
        pa.array([None, [{"key": None, "value": b""}]], HEADERS_TYPE),
        pa.array([[{"key": "k", "value": 1}], None]),
        pa.array(["k", "k"]),
    ],
    ids=["the substitute of timestamp 0", "decimals", "NUL in a name", "no name", "numbers", "texts"],
)
def test_other_columns_go_one_by_one(column: pa.Array) -> None:
    for name in ("headers", "timestamp"):
        assert not suits_columns(pa.table({"value": pa.array([b"a", b"b"]), name: column}))


@pytest.mark.parametrize(
    ("stamps", "found"), [([5, 0], True), ([5, None], False), ([None, None], False), ([0, None], True), ([], False)]
)
def test_timestamp_0_is_found(stamps: list[int | None], found: bool) -> None:
    values = pa.array([b"v"] * len(stamps), pa.binary())
    assert has_epoch(pa.table({"value": values, "timestamp": pa.array(stamps, pa.int64())})) is found
    assert not has_epoch(pa.table({"value": values}))


def test_empty_is_not_null() -> None:
    made = messages(pa.record_batch({"value": pa.array([b"", None], pa.binary())}), 0)
    assert [read(int(one["payload"]), int(one["len"])) for one in made] == [b"", None]
