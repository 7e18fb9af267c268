"""Finding the rows that make a plan fail."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.expressions.java_errors import is_spark_gone
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.worker.record_frames import halves

ROWS = 1000


def bisect(rows: int, poison: set[int]) -> tuple[list[int], list[int], int]:
    """The well rows, the poisoned ones and how often the plan has run."""
    runs, found = 0, []

    def run(part: pa.Table) -> list[int]:
        nonlocal runs
        runs += 1
        numbers: list[int] = part.column("n").to_pylist()
        if poison & set(numbers):
            raise ValueError("poison")
        return numbers

    def poisoned(row: pa.Table, error: Exception) -> list[int]:
        assert str(error) == "poison"
        found.extend(row.column("n").to_pylist())
        return []

    parts = list(Bisection(pa.table({"n": pa.array(range(rows), pa.int64())}), run, halves, poisoned))
    return [number for part in parts for number in part], found, runs


@settings(deadline=None)
@given(st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=5))
def test_only_the_poisoned_rows_are_lost_and_the_order_stays(poison: set[int]) -> None:
    well, found, runs = bisect(ROWS, poison)
    assert found == sorted(poison)
    assert well == [number for number in range(ROWS) if number not in poison]
    assert runs <= len(poison) * 2 * math.ceil(math.log2(ROWS))


@pytest.mark.parametrize(("rows", "most"), [(1, 1), (2, 2), (100_000, 34)])
def test_runs_for_one_row(rows: int, most: int) -> None:
    well, found, runs = bisect(rows, {rows - 1})
    assert (len(well), found) == (rows - 1, [rows - 1])
    assert runs <= most


def test_when_nobody_answers_the_rows_are_not_to_blame() -> None:
    def run(part: pa.Table) -> None:
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        list(Bisection(pa.table({"n": pa.array([1, 2], pa.int64())}), run, halves, lambda _, __: None, is_spark_gone))
