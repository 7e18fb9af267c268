"""The dedicated process with targets that are away at its start, or whose config topic cannot be written at once."""

import logging
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from connect_dagster.cli.worker.mirror_maker import FlowWorker, wait_for_target
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_configs import FlowConfig
from connect_dagster.errors import BadRequestError, ConfigError, ConnectError
from connect_dagster.herder.interface import NotLeaderError, RebalanceNeededError

FLOW = Flow("us", "eu")


class Ending(threading.Event):
    """An event whose waits end at once, and that is set after some of them."""

    def __init__(self, waits: int = 1_000) -> None:
        super().__init__()
        self.waits = waits

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits -= 1
        if self.waits == 0:
            self.set()
        return self.is_set()


def responding_after(failures: int, error: Exception) -> Callable[[], str]:
    left = iter([error] * failures)

    def ask() -> str:
        if (failure := next(left, None)) is not None:
            raise failure
        return "cluster id"

    return ask


AWAY = ConnectError("Failed to connect")


@pytest.mark.parametrize(("failures", "lines"), [(0, []), (5, [logging.WARNING, logging.INFO])])
def test_a_target_that_is_away_is_waited_for_with_one_warning(
    caplog: pytest.LogCaptureFixture, failures: int, lines: list[int]
) -> None:
    with caplog.at_level(logging.INFO):
        assert wait_for_target(FLOW, responding_after(failures, AWAY), Ending())
    assert [one.levelno for one in caplog.records] == lines
    assert all("us->eu" in one for one in caplog.messages)


def test_the_end_of_the_process_ends_the_wait() -> None:
    assert not wait_for_target(FLOW, responding_after(100, AWAY), Ending(waits=3))


def test_a_wrong_setting_is_not_waited_for() -> None:
    with pytest.raises(ConfigError):
        wait_for_target(FLOW, responding_after(1, ConfigError("no such file")), Ending())


class Herder:
    """A herder that knows no connector, and whose writes fail with these errors first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.written: list[str] = []

    def connectors(self) -> list[str]:
        return []

    def put_connector(self, name: str, config: dict[str, str], *, allow_replace: bool) -> None:
        assert allow_replace
        if self.errors:
            raise self.errors.pop(0)
        self.written.append(name)


def written(herder: Herder, ending: threading.Event) -> list[str]:
    config = FlowConfig(FLOW, {}, {"one": {}, "two": {}}, {})
    worker = FlowWorker(config, cast("Any", None), cast("Any", None), cast("Any", herder), ending)
    worker.write_connectors()
    assert worker._writing is not None
    worker._writing.join(10)
    assert not worker._writing.is_alive()
    return herder.written


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([], ["one", "two"]),
        ([RebalanceNeededError(), ConnectError("in time")], ["one", "two"]),
        ([BadRequestError("wrong")], ["two"]),
        ([NotLeaderError("not here", None)], []),
    ],
    ids=["at once", "later", "a wrong configuration", "another one leads"],
)
def test_configurations_are_written_as_often_as_it_takes(errors: list[Exception], expected: list[str]) -> None:
    assert written(Herder(*errors), Ending()) == expected


def test_the_end_of_the_process_ends_the_writing() -> None:
    assert written(Herder(*[ConnectError("in time")] * 100), Ending(waits=3)) == []
