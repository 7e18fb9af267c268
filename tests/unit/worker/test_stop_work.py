"""How a worker abandons tasks that do not end. No brokers, no Spark."""

import threading
import time
from typing import cast

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker import worker
from connect_dagster.worker.task_builder import RunningTask


class _HangingTask:
    def __init__(self, number: int, seconds: float) -> None:
        self.id = TaskId("c", number)
        self.cancelled = threading.Event()
        self._seconds = seconds

    def cancel(self) -> None:
        time.sleep(self._seconds)
        self.cancelled.set()


def _cancel(tasks: list[_HangingTask]) -> float:
    began = time.monotonic()
    worker._cancel_side_by_side(cast("list[RunningTask]", tasks))
    return time.monotonic() - began


def test_twenty_hanging_tasks_are_cancelled_in_the_time_of_one() -> None:
    """Fails at ce718d3: ``stop_work`` cancels them in turn, which takes the herder's thread 10 s here."""
    tasks = [_HangingTask(number, 0.5) for number in range(20)]
    assert _cancel(tasks) < 4
    assert all(task.cancelled.is_set() for task in tasks)


def test_a_task_that_cannot_be_cancelled_does_not_hold_the_caller() -> None:
    """Fails at ce718d3: ``cancel`` is called on the caller's thread, however long it takes."""
    assert _cancel([_HangingTask(0, 30)]) < 8
