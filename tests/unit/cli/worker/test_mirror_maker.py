"""Targets that are away when the dedicated process starts."""

import logging
import threading
from collections.abc import Callable

import pytest

from connect_dagster.cli.worker.mirror_maker import wait_for_target
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.errors import ConfigError, ConnectError

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
