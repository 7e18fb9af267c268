"""The life cycle of connectors and tasks of a standalone worker, without brokers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import cast

import pytest

from connect_dagster.errors import AlreadyExistsError, BadRequestError, ConnectError, NotFoundError
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import Health, RestartRequest, ServerInfo, StoredConfig
from connect_dagster.herder.standalone.herder import StandaloneHerder
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.integration.worker_process import COMMON_DEFAULTS
from tests.unit.herder.memory_worker import MemoryWorker

PROPS = {**COMMON_DEFAULTS, "bootstrap.servers": "localhost:1", "offset.storage.file.filename": "/never"}


class Standalone:
    """A herder and its worker."""

    def __init__(self) -> None:
        config, plugins = StandaloneConfig.parse(PROPS), Plugins()
        self.wanted: dict[str, list[dict[str, str]] | Exception] = {}
        offsets = cast("OffsetStore", None)
        self.worker = MemoryWorker("w:8083", config, plugins, offsets, self.wanted)
        editor = OffsetEditor(plugins, offsets, lambda config: {}, 1)
        server = ServerInfo("4.3.1", "commit", "cluster")
        self.herder = StandaloneHerder(self.worker, Validator(plugins, config), editor, server)

    def put(self, name: str, **more: str) -> None:
        config = {"name": name, "connector.class": "FileStreamSource", "topic": "t", "file": "/never", **more}
        self.herder.put_connector(name, config, allow_replace=True)

    def states(self, name: str) -> list[State]:
        status = self.herder.connector_status(name)
        return [status.connector.state, *(task.state for _, task in status.tasks)]

    def settle(self) -> None:
        """Wait for the threads that ask connectors for their tasks."""
        for thread in threading.enumerate():
            if thread.name.startswith("reconfigure-"):
                thread.join(10)


@pytest.fixture
def standalone() -> Iterator[Standalone]:
    made = Standalone()
    made.herder.start()
    yield made
    made.settle()


def tasks(name: str, count: int) -> list[dict[str, str]]:
    return [{"task": f"{name}-{number}"} for number in range(count)]


def test_a_herder_is_healthy_from_its_start_to_its_end() -> None:
    standalone = Standalone()
    assert standalone.herder.health().health is Health.STARTING
    standalone.herder.start()
    assert standalone.herder.health().health is Health.HEALTHY
    standalone.put("c")
    standalone.herder.stop()
    assert standalone.worker.calls == [
        "worker start",
        "start c",
        "start c-0",
        "worker stop",
        "stop c",
        "stop c-0",
    ]


def test_a_connector_starts_with_its_tasks(standalone: Standalone) -> None:
    standalone.wanted["c"] = tasks("c", 2)
    standalone.put("c")
    assert standalone.states("c") == [State.RUNNING] * 3
    assert standalone.herder.connectors() == ["c"]
    assert standalone.herder.connector_info("c").tasks == (TaskId("c", 0), TaskId("c", 1))
    assert [task.config for task in standalone.herder.tasks("c")] == tasks("c", 2)
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        standalone.herder.put_connector("c", standalone.herder.connector_info("c").config, allow_replace=False)


def test_a_connector_that_cannot_start_is_kept_as_failed(standalone: Standalone) -> None:
    standalone.worker.failing.add("c")
    with pytest.raises(ConnectError, match="c cannot be started"):
        standalone.put("c")
    assert standalone.states("c") == [State.FAILED]
    assert standalone.herder.connector_info("c").config["file"] == "/never"
    standalone.worker.failing.clear()
    standalone.herder.restart_connector("c")
    assert standalone.states("c") == [State.RUNNING, State.RUNNING]


def test_traces_have_no_values_of_config_providers(standalone: Standalone) -> None:
    standalone.worker._transformer.hidden.add({"${file:/s:password}": "cannot"})
    standalone.wanted["c"] = tasks("c", 1)
    standalone.worker.failing.add("c-0")
    standalone.put("c")
    standalone.worker.failing.add("d")
    with pytest.raises(ConnectError):
        standalone.put("d")
    for status in (standalone.herder.task_status(TaskId("c", 0)), standalone.herder.connector_status("d").connector):
        assert "${file:/s:password} be started" in (status.trace or "")
        assert "cannot" not in (status.trace or "")
    assert standalone.herder.masked("it cannot be") == "it ${file:/s:password} be"


def test_task_configurations_that_fail_fail_the_connector(standalone: Standalone) -> None:
    error = ConnectError("no tasks today")
    standalone.wanted["c"] = error
    standalone.put("c")
    assert standalone.worker.failed == [("c", error)]
    assert standalone.herder.tasks("c") == []


def test_a_task_that_cannot_start_fails_alone(standalone: Standalone) -> None:
    standalone.wanted["c"] = tasks("c", 2)
    standalone.worker.failing.add("c-1")
    standalone.put("c")
    assert standalone.states("c") == [State.RUNNING, State.RUNNING, State.FAILED]
    with pytest.raises(ConnectError, match="Failed to start task: c-1"):
        standalone.herder.restart_task(TaskId("c", 1))
    standalone.worker.failing.clear()
    standalone.herder.restart_task(TaskId("c", 1))
    assert standalone.states("c") == [State.RUNNING] * 3


def test_only_what_failed_is_restarted(standalone: Standalone) -> None:
    standalone.wanted["c"] = tasks("c", 2)
    standalone.worker.failing.add("c-1")
    standalone.put("c")
    standalone.worker.failing.clear()
    standalone.worker.calls.clear()
    shown = standalone.herder.restart_connector_and_tasks(RestartRequest("c", only_failed=True, include_tasks=True))
    assert shown.connector.state is State.RUNNING
    assert [task.state for _, task in shown.tasks] == [State.RUNNING, State.RESTARTING]
    assert standalone.worker.calls == ["start c-1"]
    shown = standalone.herder.restart_connector_and_tasks(RestartRequest("c", include_tasks=True))
    assert {shown.connector.state, *(task.state for _, task in shown.tasks)} == {State.RESTARTING}
    assert standalone.worker.calls == [
        "start c-1",
        "stop c",
        "stop c-0",
        "stop c-1",
        "start c",
        "start c-0",
        "start c-1",
    ]


def test_a_restart_of_the_connector_leaves_its_tasks_alone(standalone: Standalone) -> None:
    standalone.put("c")
    standalone.worker.calls.clear()
    standalone.herder.restart_connector("c")
    assert standalone.worker.calls == ["stop c", "start c"]


def test_tasks_restart_only_for_another_configuration(standalone: Standalone) -> None:
    standalone.put("c")
    standalone.worker.calls.clear()
    standalone.put("c")
    assert standalone.worker.calls == ["stop c", "start c"]
    standalone.worker.calls.clear()
    standalone.put("c", note="new")
    assert standalone.worker.calls == ["stop c", "start c", "stop c-0", "start c-0"]
    standalone.wanted["c"] = tasks("c", 3)
    standalone.put("c", note="new")
    assert standalone.states("c") == [State.RUNNING] * 4


def versions(standalone: Standalone, name: str) -> tuple[StoredConfig, int | None, list[int | None]]:
    """The stored configuration, and the versions that connector and tasks were started with."""
    status = standalone.herder.connector_status(name)
    running = [task.config_offset for _, task in status.tasks]
    return standalone.herder.stored_config(name), status.connector.config_offset, running


def test_parts_have_the_number_of_the_configuration_that_they_were_started_with(standalone: Standalone) -> None:
    ids = (TaskId("c", 0),)
    standalone.put("c")
    assert versions(standalone, "c") == (StoredConfig(1, 1, ids, planned=True), 1, [1])
    standalone.put("c")
    assert versions(standalone, "c") == (StoredConfig(2, 1, ids, planned=True), 2, [1])
    standalone.wanted["c"] = ConnectError("not now")
    standalone.put("c", note="new")
    assert versions(standalone, "c") == (StoredConfig(3, 1, ids, planned=False), 3, [1])
    standalone.wanted["c"] = tasks("c", 1)
    standalone.herder.restart_connector("c")
    assert versions(standalone, "c") == (StoredConfig(3, 3, ids, planned=True), 3, [3])
    standalone.herder.stop_connector("c")
    assert versions(standalone, "c") == (StoredConfig(3, None, (), planned=False), 3, [])
    with pytest.raises(NotFoundError, match="Connector gone not found"):
        standalone.herder.stored_config("gone")


def test_stop_drops_the_tasks_and_resume_brings_them_back(standalone: Standalone) -> None:
    standalone.put("c")
    for _ in range(2):
        standalone.herder.stop_connector("c")
        assert standalone.states("c") == [State.STOPPED]
        assert standalone.herder.tasks("c") == []
        with pytest.raises(NotFoundError, match="No status found for task c-0"):
            standalone.herder.task_status(TaskId("c", 0))
    with pytest.raises(NotFoundError, match="Unknown task: c-0"):
        standalone.herder.restart_task(TaskId("c", 0))
    standalone.herder.resume_connector("c")
    standalone.settle()
    assert standalone.states("c") == [State.RUNNING, State.RUNNING]
    standalone.herder.pause_connector("c")
    assert standalone.states("c") == [State.PAUSED, State.PAUSED]


@pytest.mark.parametrize("target", [TargetState.PAUSED, TargetState.STOPPED])
def test_no_tasks_before_the_connector_runs(standalone: Standalone, target: TargetState) -> None:
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}
    created = standalone.herder.put_connector("c", config, target, allow_replace=False)
    assert created.info.tasks == ()
    assert standalone.states("c") == [State[target.name]]
    standalone.herder.resume_connector("c")
    standalone.settle()
    assert standalone.states("c") == [State.RUNNING, State.RUNNING]


def test_nothing_is_left_of_a_deleted_connector(standalone: Standalone) -> None:
    standalone.put("c")
    standalone.herder.delete_connector("c")
    assert standalone.worker.here == {}
    assert standalone.worker.tasks_here == {}
    with pytest.raises(NotFoundError, match="Connector c not found"):
        standalone.herder.connector_info("c")
    with pytest.raises(NotFoundError, match="No status found for connector c"):
        standalone.herder.connector_status("c")
    with pytest.raises(NotFoundError):
        standalone.herder.delete_connector("c")
    standalone.put("c")
    assert standalone.states("c") == [State.RUNNING, State.RUNNING]


def test_patches_merge_with_what_is_there(standalone: Standalone) -> None:
    standalone.put("c")
    standalone.herder.patch_connector("c", {"note": "x"})
    info = standalone.herder.patch_connector("c", {"batch.size": "5", "note": None})
    assert info.config["batch.size"] == "5"
    assert "note" not in info.config


def test_offsets_change_only_while_the_connector_is_stopped(standalone: Standalone) -> None:
    standalone.put("c")
    with pytest.raises(BadRequestError, match="Connectors must be in the STOPPED state"):
        standalone.herder.reset_connector_offsets("c")


def test_a_plan_that_another_overtook_is_not_carried_out(standalone: Standalone) -> None:
    blocked: list[Future[list[dict[str, str]]]] = []
    standalone.put("c")
    standalone.worker.blocked["c"] = blocked
    asking = threading.Thread(target=standalone.worker.here["c"][1])
    asking.start()
    asking.join(10)
    while not blocked:
        threading.Event().wait(0.001)
    del standalone.worker.blocked["c"]
    standalone.wanted["c"] = tasks("c", 2)
    standalone.put("c", note="new")
    blocked[0].set_result(tasks("c", 5))
    standalone.settle()
    assert standalone.states("c") == [State.RUNNING] * 3


def test_a_connector_and_tasks_with_outdated_values_restart(standalone: Standalone) -> None:
    for name in ("c", "other"):
        standalone.wanted[name] = tasks(name, 2)
        standalone.put(name)
    standalone.worker.calls.clear()
    standalone.worker.outdated_items = ["c", TaskId("c", 1), TaskId("gone", 0), TaskId("other", 0)]
    standalone.worker.on_outdated()
    standalone.settle()
    assert standalone.worker.calls == ["stop c-1", "stop c", "start c", "start c-1", "stop other-0", "start other-0"]
    assert standalone.states("c") == standalone.states("other") == [State.RUNNING] * 3
    standalone.worker.calls.clear()
    standalone.worker.on_outdated()
    assert standalone.worker.calls == []


def test_a_connector_that_cannot_be_restarted_is_failed_and_its_tasks_are_restarted(standalone: Standalone) -> None:
    standalone.wanted["c"] = tasks("c", 1)
    standalone.put("c")
    standalone.worker.failing.add("c")
    standalone.worker.outdated_items = ["c", TaskId("c", 0)]
    standalone.worker.on_outdated()
    assert standalone.states("c") == [State.FAILED, State.RUNNING]
