"""Background work of a connector: in turn, again and again, also after failures."""

import logging
import threading
from collections.abc import Iterator

import pytest

from connect_dagster.connectors.mirror.scheduler import Scheduler


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler("test", 10)
    yield made
    made.close()


def test_work_that_fails_comes_again(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    runs, often = [], threading.Event()

    def work() -> None:
        runs.append(threading.current_thread().name)
        if len(runs) == 3:
            often.set()
        raise ValueError("no")

    with caplog.at_level(logging.ERROR):
        scheduler.repeat(work, 0.001, "working")
        assert often.wait(10)
    assert {*runs} == {"Scheduler for test"}
    assert "test failed in scheduled task: working: no" in caplog.messages


def test_work_is_waited_for_in_turn(scheduler: Scheduler) -> None:
    done: list[str] = []
    scheduler.run_soon(lambda: done.append("first"), "first")
    scheduler.run_now(lambda: done.append("second"), "second")
    assert done == ["first", "second"]


def test_work_that_takes_too_long_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    ending = threading.Event()
    scheduler = Scheduler("test", 0.01)
    with caplog.at_level(logging.ERROR):
        scheduler.run_now(lambda: assert_true(ending.wait(10)), "waiting")
    assert caplog.messages == ["test timed out running task: waiting"]
    ending.set()
    scheduler.close()


def assert_true(value: bool) -> None:
    assert value


def test_a_part_that_fails_does_not_end_the_work(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def work() -> None:
        scheduler.run_within(lambda: assert_true(False), "part")
        done.append("rest")

    with caplog.at_level(logging.ERROR):
        scheduler.run_now(work, "all")
    assert done == ["rest"]
    assert [one.partition(":")[0] for one in caplog.messages] == ["test failed in scheduled task"]


def test_nothing_runs_once_it_is_closed(scheduler: Scheduler) -> None:
    done: list[str] = []
    scheduler.repeat(lambda: done.append("late"), 0.2, "late", delayed=True)
    scheduler.repeat(lambda: done.append("never"), None, "never")
    scheduler.close()
    scheduler.close()
    assert done == []
