"""How long other threads wait for the herder's thread."""

import threading
from concurrent.futures import Future

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.herder.distributed import group_driver
from connect_dagster.herder.distributed.group_driver import GroupDriver
from tests.unit.herder.distributed.memory_group import MemoryGroup


def test_a_request_does_not_wait_for_a_herder_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hangs at 1f0d1e0: each such request kept a thread of the REST server for good."""
    monkeypatch.setattr(group_driver, "_REQUEST_SECONDS", 0.05)
    driver = MemoryGroup().add().driver
    with pytest.raises(ConnectError, match=r"^Request timed out\. The worker .* awaiting startup, which began at "):
        GroupDriver.ask(driver, lambda: 1)


def test_a_result_is_an_error_of_the_action_too() -> None:
    late: Future[int] = Future()
    late.set_exception(TimeoutError("of the action"))
    with pytest.raises(TimeoutError, match=r"^of the action$"):
        MemoryGroup().add().driver.result(late)


def test_a_stop_does_not_wait_for_a_herder_that_hangs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Hangs at 1f0d1e0, once the topics were read: a plugin that blocked kept the process from its end."""
    monkeypatch.setattr(group_driver, "_END_SECONDS", 0.0)
    driver = MemoryGroup(worker_sync_timeout_ms="50", task_shutdown_graceful_timeout_ms="50").add().driver
    end = threading.Event()
    driver._thread = threading.Thread(target=end.wait, daemon=True)
    driver._thread.start()
    driver._opened.set()
    driver.stop()
    assert "Herder did not stop in time. The worker is currently awaiting startup" in caplog.text
    end.set()
    driver._thread.join(10)
    driver.stop()
    assert not driver._thread.is_alive()
