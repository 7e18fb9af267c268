"""The number of rows in a batch, fitted to the bytes that batches were measured to have."""

from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.jdbc.source.row_reader import fitted_rows

MOST = 80_000
MEGABYTE = 1 << 20


def test_rows_that_became_larger_are_read_in_smaller_batches() -> None:
    assert fitted_rows(MOST, MOST, MOST, 800 * MEGABYTE) == 800


def test_a_batch_of_the_usual_size_changes_nothing() -> None:
    for size in (2 * MEGABYTE, 8 * MEGABYTE, 32 * MEGABYTE):
        assert fitted_rows(800, MOST, 800, size) == 800


def test_batches_that_were_read_before_count_as_well() -> None:
    assert fitted_rows(800, MOST, MOST, 800 * MEGABYTE) == 800
    assert fitted_rows(800, MOST, MOST, 1600 * MEGABYTE) == 400


def test_small_rows_are_read_in_larger_batches_again() -> None:
    assert fitted_rows(800, MOST, 800, MEGABYTE) == 3200
    assert fitted_rows(40_000, MOST, 40_000, MEGABYTE) == MOST
    assert fitted_rows(800, MOST, 799, MEGABYTE) == 800


@given(st.integers(1, MOST), st.integers(1, MOST), st.integers(1, 1 << 40))
def test_a_batch_has_one_row_at_least_and_not_more_than_estimated(current: int, rows: int, size: int) -> None:
    assert 1 <= fitted_rows(current, MOST, rows, size) <= MOST
