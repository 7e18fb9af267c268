"""The table of a campaign, and the slopes of memory, descriptors and threads."""

from pathlib import Path
from typing import Any

import pytest

from tests.campaign.outcomes import Footprint, Outcome
from tests.campaign.report import about, progress, slope, summary, table, write_page

AT = "2026-11-25T03:00:00+00:00"


def outcome(kind: str, caught_up: float | None, side: str = "ours", **more: Any) -> Outcome:
    number = more.pop("number", 0)
    return Outcome(side, number, kind, AT, "file", 0, 1.0, "1 file", 0.5, caught_up, **more)


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
    played = [outcome("paused", 3.0), outcome("paused", 2.0, "java"), outcome("restarted", 1.0, number=1)]
    assert [row[-4:] for row in rows(played)] == [
        ["2.0 / 2.0", "0", "1.50x", "1.50x"],
        ["–", "–", "–", "–"],
        ["2.0 / 2.0", "0", "1.50x", "1.50x"],
    ]


def test_a_slope_is_within_each_start_of_a_worker() -> None:
    # Both lose 60 an hour; taken together, the second would look like a rise.
    looks = [footprint("a", 2, 100), footprint("a", 4, 98), footprint("b", 62, 300), footprint("b", 64, 298)]
    assert slope(looks, lambda one: one.descriptors) == pytest.approx(-60)


def test_a_slope_needs_two_looks_at_a_worker() -> None:
    assert slope([footprint("a", 2, 10)], lambda one: one.descriptors) is None
    assert slope([footprint("a", 2, 10), footprint("b", 3, 90)], lambda one: one.descriptors) is None


def test_the_summary_has_what_was_left_behind_and_what_grew() -> None:
    looks = (footprint("a", 1, 10), footprint("a", 6, 100), footprint("a", 66, 110))
    left = outcome("paused", 1.0, failed=2, ended=1, temporary=4, orphans=3, footprints=looks)
    text = summary([left])
    assert "2 times FAILED and restarted, 1 workers ended by themselves" in text
    assert "at most 4 temporary files and folders, at most 3 orphans" in text
    assert "2 looks at workers that are older than 300 s: " in text
    assert "descriptors 100–110 (+10.0 an hour)" in text


def test_a_campaign_is_told_with_its_size_and_its_bad_ends() -> None:
    ours = [outcome("paused", 1.0), outcome("all-kill", None, lost=3, stuck=7)]
    assert about("Seed 7", ours, "2 cores") == (
        "Seed 7, 2 cores: 2 faults with our workers, 3 records lost, 7 stuck, ended badly: 0 all-kill."
    )
    javas = [outcome("paused", 1.0, "java")]
    assert about("Seed 7", javas, "2 cores").endswith(
        "; 1 faults with Java, 0 records lost, 0 stuck, ended badly: none."
    )


def test_a_line_about_one_fault() -> None:
    line = progress(outcome("paused", None, stuck=2))
    assert line.startswith("0 ours paused 1 s, 1 file: RUNNING 0.5 s, caught up never, lost 0, stuck 2, ")


def test_the_page_keeps_what_is_around_the_table(tmp_path: Path) -> None:
    page = tmp_path / "testing.md"
    other = "<!-- campaign beside Java -->\n<!-- end of campaign beside Java -->\n"
    page.write_text(f"before\n<!-- campaign -->\n\nold\n<!-- end of campaign -->\n{other}")
    write_page("Seed 1.", [outcome("paused", 1.0)], page=page)
    text = page.read_text()
    assert text.startswith("before\n<!-- campaign -->\n\nSeed 1.\n\n| fault |")
    assert text.endswith(f"\n<!-- end of campaign -->\n{other}")
    assert "\nold\n" not in text
