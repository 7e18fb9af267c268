"""Which record goes to which file: the same records make the same files, wherever batches end."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.object_store.rotation import PartitionFiles, Records, RotationRules


class Record(NamedTuple):
    offset: int
    time: int = 0
    directory: int = 0
    schema: int = 0
    size: int = 1


class File(NamedTuple):
    directory: int
    schema: int
    offset: int
    has: tuple[int, ...]


def columns(records: Sequence[Record]) -> Records:
    return Records(*(np.array(column, np.int64) for column in zip(*records, strict=True)))


def filed(rules: RotationRules, batches: Iterable[Sequence[Record]]) -> tuple[list[File], int | None]:
    """Return the ended files with the offsets in them, and the start of the open group."""
    partition, rows, done = PartitionFiles(rules, itertools.count()), dict[int, list[int]](), list[File]()
    for batch in batches:
        if not batch:
            continue
        for part in partition.take(columns(batch)):
            for record, number in zip(batch[part.begin : part.end], part.files.tolist(), strict=True):
                rows.setdefault(number, []).append(record.offset)
            for number, file in sorted((part.ended or {}).items(), key=lambda one: one[1].offset):
                done.append(File(file.directory, file.schema, file.offset, tuple(rows.pop(number))))
    return done, partition.start


def offsets(files: Iterable[File]) -> list[tuple[int, ...]]:
    return [file.has for file in files]


def numbered(count: int) -> list[Record]:
    return [Record(number) for number in range(count)]


def test_files_end_after_a_number_of_records() -> None:
    done, start = filed(RotationRules(3), [numbered(8)])
    assert offsets(done) == [(0, 1, 2), (3, 4, 5)]
    assert start == 6


def test_a_file_may_end_with_the_last_record_of_a_batch() -> None:
    done, start = filed(RotationRules(2), [numbered(4)])
    assert offsets(done) == [(0, 1), (2, 3)]
    assert start is None


def test_files_end_before_the_record_that_is_an_interval_after_the_first() -> None:
    records = [Record(0, 100), Record(1, 1099), Record(2, 50), Record(3, 1100), Record(4, 2099), Record(5, 2100)]
    done, start = filed(RotationRules(100, interval=1000), [records])
    assert offsets(done) == [(0, 1, 2), (3, 4)]
    assert start == 5


def test_files_end_after_a_number_of_bytes() -> None:
    records = [Record(number, size=size) for number, size in enumerate((4, 5, 1, 30, 9, 1))]
    done, _ = filed(RotationRules(100, size=10), [records[:2], records[2:]])
    assert offsets(done) == [(0, 1, 2), (3,), (4, 5)]


def test_a_group_has_a_file_for_each_directory_named_by_its_first_offset() -> None:
    records = [Record(number, directory=number % 2) for number in range(6)]
    done, start = filed(RotationRules(4), [records])
    assert done == [File(0, 0, 0, (0, 2)), File(1, 0, 1, (1, 3))]
    assert start == 4


def test_a_record_of_another_directory_may_end_the_files() -> None:
    records = [Record(number, directory=number // 2) for number in range(5)]
    done, start = filed(RotationRules(100, ends_with_directory=True), [records[:3], records[3:]])
    assert offsets(done) == [(0, 1), (2, 3)]
    assert start == 4


def test_a_group_has_a_number_of_files_at_most() -> None:
    records = [Record(number, directory=directory) for number, directory in enumerate((0, 1, 0, 2, 1, 2, 0))]
    done, start = filed(RotationRules(100, files=2), [records[:4], records[4:]])
    assert offsets(done) == [(0, 2), (1,), (3, 5), (4,)]
    assert start == 6


def test_files_end_before_a_record_of_another_schema() -> None:
    schemas = (1, 1, 2, 1)
    records = [Record(number, schema=schema) for number, schema in enumerate(schemas)]
    done, start = filed(RotationRules(100), [records[:2], records[2:]])
    assert [(file.schema, file.has) for file in done] == [(1, (0, 1)), (2, (2,))]
    assert start == 3


def test_directories_may_have_different_schemas() -> None:
    records = [Record(number, directory=number % 2, schema=number % 2) for number in range(4)]
    done, _ = filed(RotationRules(4), [records])
    assert [(file.schema, file.has) for file in done] == [(0, (0, 2)), (1, (1, 3))]


def test_a_group_ended_by_the_clock_has_all_open_files() -> None:
    partition = PartitionFiles(RotationRules(100), itertools.count())
    list(partition.take(columns([Record(7), Record(8, directory=1)])))
    assert [(file.directory, file.offset) for file in partition.end_now().values()] == [(0, 7), (1, 8)]
    assert partition.start is None
    assert partition.end_now() == {}


@st.composite
def partitions(draw: st.DrawFn) -> list[Record]:
    small = st.integers(0, 3)
    rows = draw(
        st.lists(st.tuples(st.integers(1, 3), st.integers(0, 50), small, small, st.integers(0, 9)), max_size=40)
    )
    found, offset = list[Record](), 0
    for step, *others in rows:
        offset += step
        found.append(Record(offset, *others))
    return found


RULES = st.builds(
    RotationRules,
    rows=st.integers(1, 9),
    interval=st.none() | st.integers(1, 40),
    size=st.none() | st.integers(1, 30),
    ends_with_directory=st.booleans(),
    files=st.none() | st.integers(1, 3),
)


@given(partitions(), RULES, st.lists(st.integers(0, 40), max_size=5))
def test_ends_of_batches_make_no_difference(records: list[Record], rules: RotationRules, cuts: list[int]) -> None:
    whole = filed(rules, [records])
    bounds = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    assert filed(rules, [records[a:b] for a, b in itertools.pairwise(bounds)]) == whole


@given(partitions(), RULES, st.integers(0, 40))
def test_reading_again_from_the_start_of_a_group_makes_the_same_files(
    records: list[Record], rules: RotationRules, killed_at: int
) -> None:
    whole, start = filed(rules, [records])
    before, begin = filed(rules, [records[:killed_at]])
    rest = [one for one in records[:killed_at] if begin is not None and one.offset >= begin] + records[killed_at:]
    after, end = filed(rules, [rest])
    assert before + after == whole
    assert end == start
    assert all(file.has[0] == file.offset for file in whole)


@pytest.mark.parametrize("rules", [RotationRules(1000), RotationRules(1000, interval=10_000, size=5_000)])
def test_each_record_is_in_one_file(rules: RotationRules) -> None:
    records = [Record(number, number * 3, number % 7) for number in range(100_000)]
    done, start = filed(rules, [records])
    assert sorted(offset for file in done for offset in file.has) == list(
        range(len(records) if start is None else start)
    )
