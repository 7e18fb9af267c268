"""Changes that were read from the config topic, as the herder takes them."""

import pytest

from connect_dagster.herder.distributed.pending_config_updates import PendingConfigUpdates
from connect_dagster.herder.log_context import LogContext
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
    """Updates of a herder that knows one connector, `known`."""

    def __init__(self) -> None:
        self.woken = 0
        self.levels: list[tuple[str, str]] = []
        log = LogContext(__name__, "client", "group")
        self.updates = PendingConfigUpdates(
            log, lambda name: name == "known", lambda *level: self.levels.append(level), self._count
        )

    def read(self, *events: Event) -> None:
        for event in events:
            self.updates.add(event)

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
    assert collected.updates.rebalance_expected is rebalance
    assert collected.updates.take().connectors == connectors
    assert collected.woken == 1


def test_what_was_taken_is_not_there_again(collected: Collected) -> None:
    collected.read(TasksUpdated("known", (TaskId("known", 0),)), TargetStateChanged("known"))
    taken = collected.updates.take()
    assert (taken.rebalance, set(taken.reconfigured), set(taken.targets)) == (True, {"known"}, {"known"})
    assert not collected.updates.take()
    assert not collected.updates.rebalance_expected


def test_a_herder_that_has_seen_more_than_it_was_told_expects_a_rebalance(collected: Collected) -> None:
    collected.updates.expect_rebalance()
    assert collected.updates.rebalance_expected
    assert collected.woken == 1


def test_of_waiting_restarts_the_one_that_does_most_is_kept(collected: Collected) -> None:
    collected.read(
        RestartRequested("known", True, False),
        RestartRequested("known", False, True),
        RestartRequested("a", True, True),
    )
    restarts = {one.connector: one for one in collected.updates.take_restarts()}
    assert (restarts["known"].only_failed, restarts["known"].include_tasks) == (False, True)
    assert restarts.keys() == {"known", "a"}
    assert collected.updates.take_restarts() == []


def test_a_logger_gets_its_level_at_once(collected: Collected) -> None:
    collected.read(LoggerLevelChanged("some.where", "DEBUG"))
    assert collected.levels == [("some.where", "DEBUG")]
