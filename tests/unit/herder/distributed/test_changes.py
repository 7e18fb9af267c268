"""What the herder makes of changes that were read from the config topic."""

import pytest

from connect_dagster.herder.distributed.changes import Changes
from connect_dagster.herder.distributed.worker_log import WorkerLog
from connect_dagster.protocol.config_state import (
    ConnectorRemoved,
    ConnectorUpdated,
    Event,
    LoggerLevelChanged,
    RestartRequested,
    TargetStateChanged,
    TasksUpdated,
)
from connect_dagster.protocol.states import TaskId


class Collected:
    """Changes of a herder that knows one connector, `known`."""

    def __init__(self) -> None:
        self.woken = 0
        self.levels: list[tuple[str, str]] = []
        log = WorkerLog(__name__, "client", "group")
        self.changes = Changes(log, lambda name: name == "known", lambda *level: self.levels.append(level), self._count)

    def read(self, *events: Event) -> None:
        for event in events:
            self.changes.read(event)

    def _count(self) -> None:
        self.woken += 1


@pytest.fixture
def collected() -> Collected:
    return Collected()


@pytest.mark.parametrize(
    ("event", "rebalance", "connectors"),
    [
        (ConnectorUpdated("known"), False, {"known"}),
        (ConnectorUpdated("new"), True, set()),
        (ConnectorRemoved("known"), True, set()),
        (ConnectorRemoved("new"), False, {"new"}),
    ],
)
def test_connectors_that_come_or_go_move_the_group(
    collected: Collected, event: Event, rebalance: bool, connectors: set[str]
) -> None:
    collected.read(event)
    assert collected.changes.rebalance_expected is rebalance
    assert collected.changes.take().connectors == connectors
    assert collected.woken == 1


def test_what_was_taken_is_not_there_again(collected: Collected) -> None:
    collected.read(TasksUpdated("known", (TaskId("known", 0),)), TargetStateChanged("known"))
    taken = collected.changes.take()
    assert (taken.rebalance, taken.reconfigured, taken.targets) == (True, {"known"}, {"known"})
    assert not collected.changes.take()
    assert not collected.changes.rebalance_expected


def test_a_herder_that_has_seen_more_than_it_was_told_expects_a_rebalance(collected: Collected) -> None:
    collected.changes.expect_rebalance()
    assert collected.changes.rebalance_expected
    assert collected.woken == 1


def test_of_waiting_restarts_the_one_that_does_most_is_kept(collected: Collected) -> None:
    collected.read(
        RestartRequested("known", True, False),
        RestartRequested("known", False, True),
        RestartRequested("a", True, True),
    )
    restarts = {one.connector: one for one in collected.changes.take_restarts()}
    assert (restarts["known"].only_failed, restarts["known"].include_tasks) == (False, True)
    assert restarts.keys() == {"known", "a"}
    assert collected.changes.take_restarts() == []


def test_a_logger_gets_its_level_at_once(collected: Collected) -> None:
    collected.read(LoggerLevelChanged("some.where", "DEBUG"))
    assert collected.levels == [("some.where", "DEBUG")]
