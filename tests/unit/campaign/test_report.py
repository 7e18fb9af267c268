"""The table of a campaign and the slopes of what may grow."""

from pathlib import Path

import pytest

from tests.campaign.outcomes import Footprint, Outcome
from tests.campaign.report import BEGIN, END, progress, slope, summary, table, write_page


def outcome(kind: str, caught_up: float | None, side: str = "ours", **more: int) -> Outcome:
    return Outcome(side, 0, kind, 1.0, "1", 0.5, caught_up, **more)


def rows(outcomes: list[Outcome]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table(outcomes).splitlines()[2:]]


def footprint(process: str, minutes: float, descriptors: int) -> Footprint:
    return Footprint(process, minutes * 60, 0, descriptors, 0)


def test_each_kind_has_a_row_and_all_have_one() -> None:
    lost = outcome("paused", 4.0, lost=2, topic_duplicates=3, sink_duplicates=5)
    assert rows([outcome("paused", 1.0), lost, outcome("all-kill", None, stuck=7)]) == [
        ["all-kill", "1", "0.5 / 0.5", "–", "0", "7", "0 / 0"],
        ["paused", "2", "0.5 / 0.5", "1.0 / 4.0", "2", "0", "3 / 5"],
        ["all", "3", "0.5 / 0.5", "1.0 / 4.0", "2", "7", "3 / 5"],
    ]


def test_java_stands_beside_what_it_bore_too() -> None:
    played = [outcome("paused", 3.0), outcome("paused", 2.0, "java"), outcome("restarted", 1.0)]
    assert [row[-4:] for row in rows(played)] == [
        ["2.0 / 2.0", "0", "1.50x", "1.50x"],
        ["–", "–", "–", "–"],
        ["2.0 / 2.0", "0", "0.50x", "1.50x"],
    ]


def test_a_slope_is_within_each_start_of_a_worker() -> None:
    # Both lose 60 an hour; taken together, the second would look like a rise.
    looks = [footprint("a", 2, 100), footprint("a", 4, 98), footprint("b", 62, 300), footprint("b", 64, 298)]
    assert slope(looks, lambda one: one.descriptors) == pytest.approx(-60)


def test_a_slope_needs_two_looks_at_a_warm_worker() -> None:
    assert slope([footprint("a", 0.5, 10), footprint("a", 2, 90)], lambda one: one.descriptors) is None
    assert slope([footprint("a", 2, 10), footprint("b", 3, 90)], lambda one: one.descriptors) is None


def test_the_summary_has_what_was_left_behind_and_what_grew() -> None:
    looks = (footprint("a", 2, 100), footprint("a", 62, 110))
    left = Outcome("ours", 0, "paused", 1.0, "1", 0.5, 1.0, failed=2, ended=1, temporary=4, orphans=3, footprints=looks)
    text = summary([left])
    assert "2 times FAILED and restarted, 1 workers ended by themselves" in text
    assert "at most 4 temporary files and folders, at most 3 orphans" in text
    assert "descriptors 100–110 (+10.0 an hour)" in text


def test_a_line_about_one_fault() -> None:
    line = progress(outcome("paused", None, stuck=2))
    assert line.startswith("0 ours paused 1 s, 1 workers: RUNNING 0.5 s, caught up never, lost 0, stuck 2, ")


def test_the_page_keeps_what_is_around_the_table(tmp_path: Path) -> None:
    page = tmp_path / "testing.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}after\n")
    write_page("Seed 1.", [outcome("paused", 1.0)], page)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\nSeed 1.\n\n| fault |")
    assert text.endswith(f"\n{END}after\n")
    assert "\nold\n" not in text
