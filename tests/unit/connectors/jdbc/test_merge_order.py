"""The order of a batch's records: any plan leaves the table that writing them one by one would leave."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.jdbc.sink.merge_order import MergeStep, by_key, in_any_order

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.string()),
        ("tombstone", pa.bool_()),
    ]
)
Record = tuple[int, str, bool]
"""Frame, key, whether it is a tombstone; its offset is its place."""


def frames(records: Sequence[Record]) -> list[pa.Table]:
    count = 1 + max((frame for frame, _, _ in records), default=0)
    rows = [
        [
            {"topic": "t", "partition": 0, "offset": offset, "key": key, "tombstone": gone}
            for offset, (frame, key, gone) in enumerate(records)
            if frame == number
        ]
        for number in range(count)
    ]
    return [pa.Table.from_pylist(one, SCHEMA) for one in rows]


def one_by_one(records: Sequence[Record]) -> dict[str, dict[int, int]]:
    """What each key's row holds in the end: by frame, whose records fill a column of their own, the last offset."""
    table: dict[str, dict[int, int]] = {}
    for offset, (frame, key, gone) in enumerate(records):
        if gone:
            table.pop(key, None)
        else:
            table.setdefault(key, {})[frame] = offset
            table[key][-1] = offset  # a column that all frames fill
    return table


def played(tables: Sequence[pa.Table], steps: Sequence[MergeStep]) -> dict[str, dict[int, int]]:
    table: dict[str, dict[int, int]] = {}
    for step in steps:
        rows = tables[step.frame] if step.rows is None else tables[step.frame].take(step.rows)
        keys = rows["key"].to_pylist()
        assert len(set(keys)) == len(keys), "a statement meets no key twice"
        for key, offset in zip(keys, rows["offset"].to_pylist(), strict=True):
            if step.deletes:
                table.pop(key, None)
            else:
                table.setdefault(key, {})[step.frame] = offset
                table[key][-1] = offset
    return table


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.booleans()), max_size=25))
def test_it_looks_as_if_they_had_come_one_by_one(records: list[Record]) -> None:
    tables = frames(records)
    assert played(tables, by_key(tables, last_only=True)) == one_by_one(records)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.booleans()), max_size=25))
def test_an_insert_keeps_all_after_the_last_deletion(records: list[Record]) -> None:
    tables = frames(records)
    written = [
        offset
        for step in by_key(tables, last_only=False)
        if not step.deletes
        for offset in (tables[step.frame] if step.rows is None else tables[step.frame].take(step.rows))[
            "offset"
        ].to_pylist()
    ]
    last = {key: offset for offset, (_, key, gone) in enumerate(records) if gone}
    kept = [o for o, (_, key, _) in enumerate(records) if o > last.get(key, -1)]
    assert sorted(written) == kept


@pytest.mark.parametrize("records", [[(0, "a", False), (0, "b", False)], [(0, "a", False)]])
def test_keys_that_come_once_are_one_step(records: list[Record]) -> None:
    assert by_key(frames(records), last_only=True) == [MergeStep(0, None)]


def test_records_without_keys_go_frame_by_frame() -> None:
    tables = frames([(0, "a", False), (2, "a", False)])
    assert in_any_order(tables) == [MergeStep(0, None), MergeStep(2, None)]


def test_partitions_do_not_matter_to_each_other() -> None:
    rows = [
        {"topic": "t", "partition": partition, "offset": 0, "key": key, "tombstone": False}
        for partition, key in enumerate("ab")
    ]
    assert by_key([pa.Table.from_pylist(rows, SCHEMA)], last_only=True) == [MergeStep(0, None)]
