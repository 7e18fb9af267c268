"""How a worker abandons tasks that do not end. No brokers, no Spark."""

import threading
import time
from typing import cast

import pytest

from connect_dagster.errors import ConnectError, NotFoundError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker import worker
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_builder import RunningTask
from tests.integration.worker_process import COMMON_DEFAULTS


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


class _BlockingPlugins:
    """Plugins whose constructors block."""

    def __init__(self) -> None:
        self.asked, self.end = threading.Event(), threading.Event()

    def load_class(self, name: str) -> None:
        raise NotFoundError(name)

    def connector(self, name: str, version: str | None) -> None:
        self.asked.set()
        self.end.wait(60)
        raise NotFoundError(name)


def test_a_plugin_that_blocks_in_its_constructor_does_not_keep_others_from_stopping() -> None:
    """Hangs at 1f0d1e0: plugins were made with the lock of the worker's table held."""
    plugins = _BlockingPlugins()
    config = StandaloneConfig.parse(
        {**COMMON_DEFAULTS, "bootstrap.servers": "localhost:1", "offset.storage.file.filename": "/never"}
    )
    one = worker.Worker("w:8083", config, cast("Plugins", plugins), cast("Session", None), cast("OffsetStore", None))
    errors: list[Exception] = []

    def start() -> None:
        try:
            one.start_connector("c", {"connector.class": "C"}, TargetState.STARTED, lambda *_: None, lambda: None)
        except ConnectError as error:
            errors.append(error)

    starting = threading.Thread(target=start, daemon=True)
    starting.start()
    assert plugins.asked.wait(10)
    one.stop_work(["d"], [TaskId("d", 0)])
    one.stop()
    plugins.end.set()
    starting.join(10)
    assert isinstance(errors[0], NotFoundError)
    with pytest.raises(ConnectError, match=r"^The worker is stopping$"):
        one._require_running()
