"""The journal of a campaign: a campaign that was begun continues where it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.lanes import of_lane
from tests.campaign.outcomes import Footprint, Journal, Outcome
from tests.campaign.schedule import Turn

SETTINGS = {"seed": 1, "kinds": ("a", "b")}
FOOTPRINT = Footprint("0:17", 61.5, 1 << 30, 90, 60)
AT = "2026-11-25T03:00:00+00:00"
PAUSED = Outcome("ours", 0, "paused", AT, "file", 1, 1.5, "2 file", 0.1, 2.0, footprints=(FOOTPRINT,))


def outcome(number: int, side: str = "ours", **more: Any) -> Outcome:
    return replace(PAUSED, side=side, number=number, **more)


def test_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    Journal(tmp_path / "seed-1", SETTINGS).add(outcome(0, lost=3))
    assert Journal(tmp_path / "seed-1", SETTINGS).outcomes() == [outcome(0, lost=3)]


def test_it_goes_on_with_what_has_no_outcome(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SETTINGS)
    journal.add(outcome(0))
    journal.add(outcome(1, "java"))
    turns = [Turn(side, number) for side in ("ours", "java") for number in (0, 1)]
    assert list(journal.left(turns)) == [Turn("ours", 1), Turn("java", 0)]


def test_a_line_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SETTINGS)
    journal.add(outcome(0))
    with (tmp_path / "outcomes.jsonl").open("a") as file:
        file.write('{"side": "ours", "num')
    assert journal.outcomes() == [outcome(0)]
    journal.add(outcome(1))
    assert journal.outcomes() == [outcome(0), outcome(1)]


def test_lanes_share_a_campaign(tmp_path: Path) -> None:
    first, second = Journal(tmp_path, SETTINGS), Journal(tmp_path, SETTINGS, 1)
    second.add(outcome(1))
    first.add(outcome(0))
    assert first.outcomes() == second.outcomes() == [outcome(0), outcome(1)]
    everything = [Turn("ours", number) for number in range(8)]
    assert [[turn.number for turn in of_lane(iter(everything), lane, 3, 2)] for lane in range(3)] == [
        [0, 1, 6, 7],
        [2, 3],
        [4, 5],
    ]


def test_a_folder_has_one_campaign(tmp_path: Path) -> None:
    Journal(tmp_path, SETTINGS)
    with pytest.raises(ValueError, match="'seed': 1"):
        Journal(tmp_path, {**SETTINGS, "seed": 2})


def test_it_is_good_when_all_ran_and_all_came() -> None:
    assert outcome(0).good
    assert not outcome(0, lost=1).good
    assert not outcome(0, stuck=1).good
    assert not outcome(0, running=None).good
    assert not outcome(0, caught_up=None).good
    assert not outcome(0, note="TimeoutError: no worker accepted it").good
