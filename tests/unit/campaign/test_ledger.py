"""Numbered records: missing, excused, overtaken, repeated."""

import pytest

from tests.campaign.ledger import LINE_BYTES, Ledger, line, numbers, ranges


def ledger(written: int, *arrived: int) -> Ledger:
    made = Ledger(["sink"])
    made.write(written)
    made.arrive("sink", arrived)
    return made


def test_a_line_has_its_number_and_always_the_same_length() -> None:
    assert {len(f"{line(number)}\n") for number in (0, 7, 999_999_999)} == {LINE_BYTES}
    assert numbers(f"{line(3)}\n{line(12)}\n".encode()) == [3, 12]


def test_a_torn_line_has_no_number() -> None:
    torn = line(5)[:9]
    assert numbers(f"{torn}{line(5)}\n".encode()) == [5]
    assert numbers(torn.encode()) == []


def test_what_was_written_is_missing_until_it_arrives() -> None:
    made = ledger(3, 0, 2)
    assert made.missing("sink") == [1]
    made.write(2)
    assert made.missing("sink", 3) == [1]
    assert made.missing("sink") == [1, 3, 4]
    made.arrive("sink", [1, 3, 4])
    assert made.missing("sink") == []


def test_what_is_excused_is_not_missing_and_may_come() -> None:
    made = ledger(4, 0)
    made.excuse("sink", [1, 2])
    assert made.missing("sink") == [3]
    made.arrive("sink", [2])
    assert made.missing("sink") == [3]
    assert made.duplicates("sink") == 0


def test_a_backlog_is_not_overtaken_and_a_gap_is() -> None:
    assert ledger(5, 0, 1).overtaken("sink", 5) == []
    assert ledger(5, 0, 3).overtaken("sink", 5) == [1, 2]
    assert ledger(5, 0, 3).overtaken("sink", 2) == [1]
    assert ledger(5).overtaken("sink", 5) == []


def test_each_further_arrival_is_a_duplicate() -> None:
    made = ledger(3, 0, 0, 1, 0)
    assert made.duplicates("sink") == 2
    made.arrive("sink", [2])
    assert made.duplicates("sink") == 2


def test_places_are_counted_apart() -> None:
    made = Ledger(["topic", "sink"])
    made.write(2)
    made.arrive("topic", [0, 1, 1])
    assert (made.missing("topic"), made.missing("sink")) == ([], [0, 1])
    assert (made.duplicates("topic"), made.duplicates("sink")) == (1, 0)


def test_neighbours_are_written_as_ranges() -> None:
    assert ranges([1, 3, 4, 5, 9]) == ["1", "3-5", "9"]
    assert ranges([]) == []


def test_a_number_that_nobody_wrote_is_refused() -> None:
    with pytest.raises(ValueError, match="3 arrived at sink, but only 3 numbers were written"):
        ledger(3, 3)
