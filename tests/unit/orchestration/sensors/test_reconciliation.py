"""Another writer of a connector's configuration, and when the sensor leaves it to that writer."""

from dataclasses import dataclass, field

import pytest

from connect_dagster.orchestration.sensors.attempts import (
    CONTEST_WINDOW_SECONDS,
    AttemptPolicy,
    BackOff,
    Contest,
    Decision,
)
from connect_dagster.orchestration.sensors.reconciliation import ConnectorSensorCursor, Observation, reconcile
from connect_dagster.plugin.connector_file import DesiredState
from tests.unit.orchestration.answers import SOURCE, connector

MOST = 3
POLICY = AttemptPolicy(MOST, BackOff(base=0.0, cap=0.0, settled=3600.0))


@dataclass
class Sensor:
    """Its cursor, and the time of its next tick; each tick comes half a minute after the one before."""

    declared: dict[str, str] = field(default_factory=lambda: dict(SOURCE))
    cursor: ConnectorSensorCursor = field(default_factory=ConnectorSensorCursor)
    now: float = 1_000_000.0

    def sees(self, **changes: str) -> Decision:
        """The decision on a connector whose configuration has these changes."""
        self.now += 30.0
        cursor = self.cursor.declaring(DesiredState.RUNNING, self.declared)
        live = connector({**self.declared, **changes}, "RUNNING", "RUNNING")
        outcome = reconcile(Observation(DesiredState.RUNNING, self.declared, live, cursor), POLICY, self.now)
        self.cursor = outcome.cursor
        return outcome.decision

    def is_missing(self) -> Decision:
        self.now += 30.0
        cursor = self.cursor.declaring(DesiredState.RUNNING, self.declared)
        outcome = reconcile(Observation(DesiredState.RUNNING, self.declared, None, cursor), POLICY, self.now)
        self.cursor = outcome.cursor
        return outcome.decision

    def fights(self, times: int, pause: float = 0.0, **changes: str) -> list[Decision]:
        """The decisions on changes, each of which comes after the former one was corrected."""
        decisions = []
        for _ in range(times):
            self.sees()
            self.now += pause
            decisions.append(self.sees(**changes))
        return decisions


LOST = [*[Decision.TRY] * MOST, Decision.GIVE_UP, Decision.GIVEN_UP]


@pytest.fixture
def sensor() -> Sensor:
    return Sensor()


def test_a_contest_is_given_up_once(sensor: Sensor) -> None:
    assert sensor.fights(5, file="/theirs") == LOST
    assert {sensor.sees(file="/theirs") for _ in range(100)} == {Decision.GIVEN_UP}
    sensor.now += 2 * CONTEST_WINDOW_SECONDS
    assert sensor.sees(file="/theirs") is Decision.GIVEN_UP


def test_writers_that_take_turns_are_one_contest(sensor: Sensor) -> None:
    decisions = [sensor.fights(1, file=f"/{number % 2}")[0] for number in range(5)]
    assert decisions == LOST


def test_changes_on_different_days_are_no_contest(sensor: Sensor) -> None:
    assert set(sensor.fights(20, pause=CONTEST_WINDOW_SECONDS / MOST, file="/theirs")) == {Decision.TRY}
    assert Decision.GIVE_UP in sensor.fights(4, pause=CONTEST_WINDOW_SECONDS / MOST - 100, file="/theirs")


def test_what_the_other_writer_puts_back_and_changes_again_stays_its_own(sensor: Sensor) -> None:
    sensor.fights(4, file="/theirs")
    assert set(sensor.fights(3, file="/theirs")) == {Decision.GIVEN_UP}
    sensor.sees()
    sensor.now += CONTEST_WINDOW_SECONDS
    assert sensor.fights(5, file="/theirs") == LOST


def test_something_new_is_corrected(sensor: Sensor) -> None:
    sensor.fights(4, file="/theirs")
    assert sensor.sees(file="/new") is Decision.TRY
    assert sensor.fights(5, file="/new") == LOST
    assert sensor.sees(file="/theirs") is Decision.TRY


def test_another_declaration_is_applied(sensor: Sensor) -> None:
    sensor.fights(4, file="/theirs")
    sensor.declared["file"] = "/mine"
    assert sensor.sees(file="/theirs") is Decision.TRY


def test_a_reset_of_the_cursor_begins_again(sensor: Sensor) -> None:
    sensor.fights(4, file="/theirs")
    sensor.cursor = ConnectorSensorCursor()
    assert sensor.sees(file="/theirs") is Decision.TRY


def test_a_missing_connector_is_created_whoever_won(sensor: Sensor) -> None:
    sensor.fights(4, file="/theirs")
    assert sensor.is_missing() is Decision.TRY
    assert sensor.fights(1, file="/theirs") == [Decision.GIVEN_UP]


def test_a_correction_that_never_worked_is_tried_again_for_something_new(sensor: Sensor) -> None:
    """Another writer that is quicker than the next tick, or a worker that refuses the declaration."""
    assert [sensor.sees(file="/theirs") for _ in range(5)] == LOST
    assert [sensor.sees(file="/new") for _ in range(5)] == LOST


def test_few_values_are_remembered() -> None:
    contest = Contest()
    for number in range(100):
        contest = contest.changed(str(number), 1000, float(number))
    assert contest.values == tuple(str(number) for number in range(80, 100))
