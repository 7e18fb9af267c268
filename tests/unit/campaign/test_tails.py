"""Arrivals since the last look: whole lines of a file, rows of a table."""

from pathlib import Path

from tests.campaign.ledger import line
from tests.campaign.tails import FileTail, gaps_within


def test_a_line_is_found_once_and_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tail = FileTail(path)
    assert tail.read() == []
    path.write_text(f"{line(0)}\n{line(1)}")
    assert tail.read() == [0]
    with path.open("a") as file:
        file.write(f"\n{line(2)}\n")
    assert tail.read() == [1, 2]
    assert tail.read() == []


def test_lines_that_were_taken_back_are_found_when_they_come_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tail = FileTail(path)
    path.write_text(f"{line(0)}\n{line(1)}\n")
    assert tail.read() == [0, 1]
    path.write_text(f"{line(0)}\n")
    assert tail.read() == []
    path.write_text(f"{line(0)}\n{line(1)}\n{line(2)}\n")
    assert tail.read() == [1, 2]


def test_gaps_of_a_sequence() -> None:
    assert list(gaps_within(range(1, 10), [1, 2, 5, 6, 9])) == [range(3, 5), range(7, 9)]
    assert list(gaps_within(range(3, 10), [1, 2, 12])) == [range(3, 10)]
    assert list(gaps_within(range(3, 3), [3])) == []
