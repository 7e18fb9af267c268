"""Directories by time: Joda's letters, intervals by the clock of a zone."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from connect_dagster.connectors.object_store.path_format import PathFormat
from connect_dagster.connectors.object_store.time_directories import TimeDirectories
from connect_dagster.errors import DataError

TIME = dt.datetime(2026, 3, 1, 15, 4, 5, 67_000)
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "year=2026/month=03/day=01/hour=15"),
        ("yy-M-d", "26-3-1"),
        ("YYYY", "2026"),
        ("MMM", "Mar"),
        ("MMMM EEE EEEE", "March Sun Sunday"),
        ("hh:mm a", "03:04 PM"),
        ("K k", "3 15"),
        ("ss.SSS", "05.067"),
        ("S", "0"),
        ("DDD", "060"),
        ("xxxx-'W'ww-e", "2026-W09-7"),
        ("''''", "'"),
        ("'o''clock'", "o'clock"),
        ("", ""),
    ],
)
def test_letters(text: str, expected: str) -> None:
    assert PathFormat.parse(text).text(TIME) == expected


def test_midnight_and_noon() -> None:
    form = PathFormat.parse("h k K a")
    assert form.text(TIME.replace(hour=0)) == "12 24 0 AM"
    assert form.text(TIME.replace(hour=12)) == "12 12 0 PM"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("YYYY/'month", "the quotation that begins at character 6 does not end"),
        ("YYYY-bb", "the letter b has no meaning"),
    ],
)
def test_a_wrong_format(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        PathFormat.parse(text)


@pytest.mark.parametrize(("text", "has_words"), [("MM", False), ("MMM", True), ("EEE", True), ("'E'", False)])
def test_words(text: str, has_words: bool) -> None:
    assert PathFormat.parse(text).has_words is has_words


def millis(*times: str) -> np.ndarray:
    return np.array([round(dt.datetime.fromisoformat(time).timestamp() * 1000) for time in times], np.int64)


def directories(form: str, duration: int, zone: dt.tzinfo, *times: str) -> list[str]:
    texts, indices = TimeDirectories(duration, PathFormat.parse(form), zone).of(millis(*times))
    return [texts[index] for index in indices]


def test_a_day_is_that_of_the_zone() -> None:
    times = ("2026-07-01T21:59:59Z", "2026-07-01T22:00:00Z", "2026-07-01T03:00:00Z")
    assert directories("YYYY-MM-dd", 24 * HOUR, ZoneInfo("Europe/Berlin"), *times) == [
        "2026-07-01",
        "2026-07-02",
        "2026-07-01",
    ]


def test_hours_around_a_change_of_the_clock() -> None:
    times = ("2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")
    assert directories("MM-dd/HH", HOUR, ZoneInfo("Europe/Berlin"), *times) == [
        "03-29/01",
        "03-29/03",
        "10-25/02",
        "10-25/02",
    ]


def test_an_interval_of_ten_minutes_and_a_time_before_1970() -> None:
    times = ("2026-01-01T00:19:59.999Z", "1969-12-31T23:55:00Z")
    assert directories("YYYY HH:mm", HOUR // 6, dt.UTC, *times) == ["2026 00:10", "1969 23:50"]


def test_a_time_beyond_all_years() -> None:
    with pytest.raises(DataError, match="not in the years 1 to 9999"):
        TimeDirectories(HOUR, PathFormat.parse("YYYY"), dt.UTC).of(np.array([1 << 60], np.int64))
