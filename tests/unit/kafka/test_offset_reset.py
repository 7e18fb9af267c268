"""Where a partition is read on: the reset policies against logs that no longer have an offset."""

import logging
import time

import pytest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka.log_offsets import LogRange
from connect_dagster.kafka.offset_reset import OffsetReset, Reset, ResetCause
from connect_dagster.plugin.records import TopicPartition

PLACE = TopicPartition("t", 0)
GROWN, SHORT, CUT = LogRange(0, 1500), LogRange(0, 300), LogRange(1200, 1500)


def reset(policy: str, first: int | None = None) -> OffsetReset:
    return OffsetReset(policy, lambda *_: first)


@pytest.mark.parametrize(
    ("policy", "range", "recreated", "expected"),
    [
        ("earliest", GROWN, set(), None),
        ("earliest", LogRange(0, 1000), set(), None),
        ("earliest", LogRange(1000, 1000), set(), None),
        ("none", GROWN, set(), None),
        ("earliest", SHORT, set(), Reset(0, ResetCause.TRUNCATED)),
        ("latest", SHORT, set(), Reset(300, ResetCause.TRUNCATED)),
        ("earliest", CUT, set(), Reset(1200, ResetCause.REMOVED)),
        ("latest", CUT, set(), Reset(1500, ResetCause.REMOVED)),
        ("earliest", GROWN, {"t"}, Reset(0, ResetCause.RECREATED)),
        ("latest", GROWN, {"t"}, Reset(1500, ResetCause.RECREATED)),
        ("earliest", SHORT, {"t"}, Reset(0, ResetCause.RECREATED)),
        ("by_duration:PT1H", SHORT, {"t"}, Reset(70, ResetCause.RECREATED)),
        ("earliest", GROWN, {"another"}, None),
    ],
)
def test_a_position_that_is_not_in_the_log_is_reset_by_the_policy(
    policy: str, range: LogRange, recreated: set[str], expected: Reset | None
) -> None:
    found = reset(policy, 70).resets({PLACE: 1000}, {PLACE: range}, recreated)
    assert found == ({} if expected is None else {PLACE: expected})


@pytest.mark.parametrize(("range", "recreated"), [(SHORT, set()), (CUT, set()), (GROWN, {"t"}), (SHORT, {"t"})])
def test_without_a_policy_the_task_fails_with_both_offsets(range: LogRange, recreated: set[str]) -> None:
    text = f"Cannot read t-0 at offset 1000, its log is {range.start} to {range.end}: .*, and auto.offset.reset is none"
    with pytest.raises(ConnectError, match=text):
        reset("none").resets({PLACE: 1000}, {PLACE: range}, recreated)
    if not recreated:
        with pytest.raises(ConnectError, match=text):
            reset("none").begin(PLACE, 1000, range)


def test_a_reset_is_a_warning_with_both_offsets(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        reset("earliest").resets({PLACE: 1000}, {PLACE: SHORT}, {"t"})
    assert caplog.messages == [
        "Cannot read t-0 at offset 1000, its log is 0 to 300: the topic was deleted and created again; "
        "reading on at offset 0 (auto.offset.reset=earliest)"
    ]


@pytest.mark.parametrize(
    ("policy", "committed", "expected"),
    [
        ("earliest", None, 1200),
        ("latest", None, 1500),
        ("earliest", 1300, 1300),
        ("none", 1300, 1300),
        ("earliest", 1000, 1200),
        ("latest", 1000, 1500),
        ("earliest", 2000, 1200),
        ("latest", 2000, 1500),
        (" latest ", None, 1500),
    ],
)
def test_a_partition_begins_at_its_commit_or_by_the_policy(policy: str, committed: int | None, expected: int) -> None:
    assert reset(policy).begin(PLACE, committed, CUT) == expected


def test_without_commit_and_policy_the_task_fails() -> None:
    with pytest.raises(ConnectError, match=r"^Undefined offset with no reset policy for partition t-0$"):
        reset("none").begin(PLACE, None, CUT)


@pytest.mark.parametrize(("first", "expected"), [(1300, 1300), (None, 1500)])
def test_a_duration_goes_back_in_time_and_not_beyond_the_end(first: int | None, expected: int) -> None:
    asked: list[float] = []

    def first_offset(partition: TopicPartition, seconds: float) -> int | None:
        asked.append(time.time() - seconds)
        return first

    assert OffsetReset("by_duration:PT1H", first_offset).begin(PLACE, None, CUT) == expected
    assert asked == [pytest.approx(3600, abs=60)]


def test_another_policy_is_refused() -> None:
    with pytest.raises(ConfigError, match="by_duration"):
        reset("earlyest")
