"""The comparison of both sides' data."""

from collections.abc import Collection
from pathlib import Path

import pytest

from connect_dagster.orchestration.checks.data import FileLines, QueriedRows, Survey, data_outcome


@pytest.fixture(name="source")
def source_fixture(tmp_path: Path) -> FileLines:
    (tmp_path / "in.txt").write_text("".join(f"row {number}\n" for number in range(1000)))
    return FileLines(tmp_path / "in.txt")


def rows(*keys: str) -> QueriedRows:
    """A database with these rows."""

    def present(wanted: Collection[str]) -> Collection[str]:
        return set(keys) & set(wanted)

    return QueriedRows(lambda: len(keys), lambda size: keys[:size], present)


def test_a_sample_is_spread_and_the_same_each_time(source: FileLines) -> None:
    first = source.sample(50)
    assert (first.rows, len(first.keys)) == (1000, 50)
    assert source.sample(50) == first
    halves = {int(key.split()[1]) // 500 for key in first.keys}
    assert halves == {0, 1}


def test_equal_sides_pass(source: FileLines) -> None:
    outcome = data_outcome(source, rows(*(f"row {number}" for number in range(1000))), 100, 0)
    assert outcome.passed
    assert outcome.metadata == {
        "source_rows": 1000,
        "sink_rows": 1000,
        "row_difference": 0,
        "sampled_keys": 100,
        "missing_keys": 0,
    }


def test_other_rows_in_equal_number_are_found_out(source: FileLines) -> None:
    outcome = data_outcome(rows("a", "b password=kafka123"), rows("a", "c"), 100, 0)
    assert not outcome.passed
    assert outcome.description == "2 rows in the source, 2 in the sink; 1 of 2 sampled keys are missing"
    assert "kafka123" not in str(outcome.metadata["first_missing_keys"])


@pytest.mark.parametrize(("allowed", "passed"), [(0, False), (1, True)])
def test_rows_under_way_are_a_matter_of_the_bound(allowed: int, passed: bool) -> None:
    assert data_outcome(rows("a", "b"), rows("a"), 100, allowed).passed is passed


def test_keys_of_lines_are_what_the_user_says(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("1,one\n2,two\n")
    lines = FileLines(tmp_path / "out.csv", key=lambda line: line.split(",")[0])
    assert lines.find({"2", "3"}) == Survey(2, frozenset({"2"}))


def test_a_side_that_cannot_be_read_is_named(source: FileLines, tmp_path: Path) -> None:
    outcome = data_outcome(source, FileLines(tmp_path / "nothing.txt"), 10, 0)
    assert not outcome.passed
    assert "No such file" in outcome.description
    assert "nothing.txt" in outcome.description


def test_a_line_that_is_not_utf_8_is_a_row_like_others(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\nplain\n")
    assert FileLines(tmp_path / "latin.txt").sample(5).rows == 2
