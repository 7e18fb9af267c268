"""Connectors and tasks whose values of config providers have expired or changed since they started."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar, cast

import pytest

from connect_dagster.connectors.file.source import FileStreamSourceTask
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.protocol.work import Item, Work
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.reload_watch import ReloadWatch
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker import Worker
from connect_dagster.worker.worker_connector import WorkerConnector
from tests.integration.worker_process import COMMON_DEFAULTS

SECONDS = 10
STANDALONE = {"offset.storage.file.filename": "/never"}
TASK = TaskId("c", 0)
CONFIG = {"name": "c", "connector.class": "Remembering", "password": "<${p:/s:password}>"}


class Provider(ConfigProvider):
    """Values of one path, with a TTL or polled."""

    config_def: ClassVar[type[ConfigDef]] = ConfigDef

    def __init__(self, *, polled: bool = False, ttl_ms: int | None = None) -> None:
        vars(self)["polled"] = polled
        self.ttl_ms = ttl_ms
        self.values = {"password": "first", "user": "ann"}
        self.failure: Exception | None = None
        self.calls: list[tuple[str, AbstractSet[str]]] = []

    def configure(self, config: Mapping[str, str]) -> None:
        raise AssertionError("made by hand")

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        self.calls.append((path, keys))
        if self.failure is not None:
            raise self.failure
        return ConfigData({key: self.values[key] for key in keys if key in self.values}, self.ttl_ms)


class Watching:
    """A watch with one provider and a clock that a test sets."""

    def __init__(self, provider: Provider, interval: float = 10.0) -> None:
        self.provider = provider
        self.now = 100.0
        self.transformer = ConfigTransformer({"p": provider})
        self.watch = ReloadWatch(self.transformer, interval, lambda: self.now)

    def start(self, item: Item, **more: str) -> None:
        config = CONFIG | {name.replace("_", "."): value for name, value in more.items()}
        configs = [config] if isinstance(item, str) else [config, {"task": "0", **config}]
        try:
            transformed = [self.transformer.transform(one) for one in configs]
        except ConfigError:
            transformed = []
        self.watch.started(item, configs, transformed)

    def look_after(self, seconds: float) -> Work:
        self.now += seconds
        assert self.watch.look() is bool(self.watch.outdated())
        return self.watch.outdated()


@pytest.fixture
def polled() -> Watching:
    return Watching(Provider(polled=True))


def test_a_changed_value_of_a_file_makes_connector_and_tasks_outdated(
    polled: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for item in ("c", TASK, TaskId("other", 1)):
        polled.start(item)
    polled.start("without", password="literal")
    assert polled.look_after(20) == Work()
    polled.provider.values["password"] = "second"
    assert polled.look_after(10) == Work()
    assert polled.look_after(10) == Work(("c",), (TASK, TaskId("other", 1)))
    assert "c was started with other values of ${p:/s:password}" in caplog.messages
    polled.watch.stopped(["c"])
    assert polled.watch.outdated() == Work((), (TASK, TaskId("other", 1)))
    polled.start(TASK)
    assert polled.look_after(10) == Work((), (TaskId("other", 1),))


def test_a_path_is_asked_once_for_all(polled: Watching) -> None:
    for number in range(50):
        polled.start(TaskId("c", number), user="${p:/s:user}")
    polled.provider.calls.clear()
    polled.look_after(10)
    assert polled.provider.calls == [("/s", {"password", "user"})]


def test_a_file_that_is_being_written_is_no_change(polled: Watching) -> None:
    """One look finds an empty file, the next a half of the value, then the whole of it."""
    polled.start(TASK)
    for values in ({}, {"password": "sec"}, {"password": "second"}):
        polled.provider.values = values
        assert polled.look_after(10) == Work()
    assert polled.look_after(10) == Work((), (TASK,))


def test_a_value_that_comes_back_is_no_change(polled: Watching) -> None:
    polled.start(TASK)
    for password in ("second", "first", "second", "first"):
        polled.provider.values["password"] = password
        assert polled.look_after(10) == Work()


def test_a_file_that_is_gone_is_no_change(polled: Watching, caplog: pytest.LogCaptureFixture) -> None:
    polled.start(TASK)
    polled.provider.failure = ConfigError("the file is not there")
    assert polled.look_after(10) == polled.look_after(10) == Work()
    assert caplog.messages == [
        "Cannot look for new values of c-0, which goes on with those that it has: the file is not there"
    ]
    polled.provider.failure = None
    assert polled.look_after(10) == polled.look_after(10) == Work()


def test_values_that_are_no_texts_are_left_alone(polled: Watching) -> None:
    polled.start(TASK)
    vars(polled.provider)["values"] = {"password": 7}
    assert polled.look_after(10) == polled.look_after(10) == Work()


def test_a_value_that_was_missing_at_the_start(polled: Watching) -> None:
    polled.provider.failure = OSError("not mounted yet")
    polled.start("c")
    polled.start(TASK)
    assert polled.look_after(10) == polled.look_after(10) == Work()
    polled.provider.failure = None
    polled.look_after(10)
    assert polled.look_after(10) == Work(("c",), (TASK,))


@pytest.mark.parametrize("action", ["none", " none "])
def test_a_connector_may_be_left_alone(polled: Watching, action: str) -> None:
    polled.start("c", config_action_reload=action)
    polled.start(TASK, config_action_reload=action)
    polled.provider.values["password"] = "second"
    assert polled.look_after(10) == polled.look_after(10) == Work()


def test_what_is_not_polled_is_not_asked() -> None:
    watching = Watching(Provider())
    watching.start(TASK)
    watching.provider.values["password"] = "second"
    watching.provider.calls.clear()
    assert watching.look_after(10) == watching.look_after(10) == Work()
    assert watching.provider.calls == []


def test_an_interval_of_0_is_never() -> None:
    watching = Watching(Provider(polled=True), interval=0.0)
    watching.start(TASK)
    watching.provider.values["password"] = "second"
    assert watching.look_after(1e6) == watching.look_after(1e6) == Work()
    assert watching.watch.seconds_to_look == 1.0


def watched_worker(watching: Watching) -> Worker:
    """Return a worker that is not started, with the watch."""
    config = StandaloneConfig.parse({**COMMON_DEFAULTS, "bootstrap.servers": "localhost:1", **STANDALONE})
    worker = Worker("w:1", config, Plugins(()), cast("Session", None), cast("OffsetStore", None), watching.transformer)
    worker._watch = watching.watch
    return worker


def test_a_task_whose_class_is_missing_is_not_started_again_and_again(polled: Watching) -> None:
    """Fails at fa6cb2e: such a task was restarted every 20 s, as if its provider had failed."""
    worker = watched_worker(polled)
    with pytest.raises(ConnectError):
        worker.start_task(TASK, CONFIG, CONFIG, TargetState.STARTED, cast("TaskListeners", None))
    assert polled.look_after(10) == polled.look_after(10) == Work()
    polled.provider.values["password"] = "second"
    polled.look_after(10)
    assert polled.look_after(10) == Work((), (TASK,))


def test_a_connector_that_is_stopped_while_it_starts_is_not_watched(polled: Watching) -> None:
    """Fails at fa6cb2e: it was watched for ever, and woke the herder each second once a value had changed."""
    worker = watched_worker(polled)
    starting, asked = threading.Event(), threading.Event()
    running = connector(polled, [])
    worker._connectors["c"] = running

    def wait() -> None:
        asked.set()
        starting.wait(SECONDS)

    running._request(wait)
    running.transition(TargetState.STARTED)
    stopping = threading.Thread(target=worker.stop_connector, args=("c",))
    stopping.start()
    assert asked.wait(SECONDS)
    while worker.runs_connector("c"):
        time.sleep(0.001)
    starting.set()
    stopping.join(SECONDS)
    assert polled.watch._watched == {}


# TTL


@pytest.fixture
def leased() -> Watching:
    return Watching(Provider(ttl_ms=30_000))


def test_a_connector_is_outdated_at_the_end_of_a_ttl_as_in_java(
    leased: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    leased.start("c")
    leased.start(TASK)
    assert caplog.messages == ["Scheduling a restart of connector c in 30000 ms"]
    assert leased.look_after(29) == Work()
    assert leased.look_after(1) == Work(("c",), ())


def test_a_task_is_outdated_at_the_end_of_a_ttl_if_a_value_changed(leased: Watching) -> None:
    leased.start(TASK)
    assert leased.look_after(30) == Work()
    leased.provider.values["password"] = "second"
    assert leased.look_after(29) == Work()
    assert leased.look_after(1) == Work((), (TASK,))


def test_a_value_that_is_missing_at_the_end_of_a_ttl_is_no_change(leased: Watching) -> None:
    leased.start(TASK)
    leased.provider.values = {}
    assert leased.look_after(30) == Work()


def test_a_provider_that_fails_at_the_end_of_a_ttl_is_asked_again(
    leased: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    leased.start(TASK)
    leased.provider.failure = ConfigError("sealed")
    assert leased.look_after(30) == leased.look_after(10) == Work()
    assert len(caplog.messages) == 1
    leased.provider.failure = None
    leased.provider.values["password"] = "second"
    assert leased.look_after(10) == Work((), (TASK,))


def test_a_ttl_of_0_is_not_asked_all_the_time() -> None:
    """Fails at fa6cb2e: the provider was asked without a pause, on a thread that never slept."""
    watching = Watching(Provider(ttl_ms=0))
    watching.start(TASK)
    watching.look_after(1)
    asked = len(watching.provider.calls)
    assert watching.watch.seconds_to_look == 1.0
    assert watching.look_after(0.5) == Work()
    assert len(watching.provider.calls) == asked


@pytest.mark.parametrize(("passed", "seconds"), [(0, 1.0), (9.5, 0.5), (29.75, 0.0)])
def test_when_to_look(leased: Watching, passed: float, seconds: float) -> None:
    leased.start("c")
    leased.now += passed
    assert leased.watch.seconds_to_look == seconds


# A connector


class Remembering(SourceConnector):
    config_def: ClassVar[type[ConfigDef]] = ConfigDef
    task_class: ClassVar[type[SourceTask]] = FileStreamSourceTask

    def __init__(self) -> None:
        self.passwords: list[str] = []

    def start(self, config: Properties) -> None:
        self.passwords.append(config["password"])

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return []

    def stop(self) -> None:
        """Nothing is open."""


def connector(watching: Watching, states: list[State]) -> WorkerConnector:
    return WorkerConnector(
        "c",
        Remembering(),
        CONFIG,
        watching.transformer,
        lambda name, state, trace: states.append(state),
        watching.watch,
    )


def test_a_connector_is_watched_from_its_start(polled: Watching) -> None:
    running = connector(polled, [])
    assert running.transition(TargetState.STARTED).result(SECONDS) is State.RUNNING
    polled.provider.values["password"] = "second"
    polled.look_after(10)
    assert polled.look_after(10) == Work(("c",))
    running.shutdown()


def test_a_connector_whose_provider_fails_is_watched(polled: Watching) -> None:
    polled.provider.failure = ConfigError("not mounted yet")
    states: list[State] = []
    running = connector(polled, states)
    assert running.transition(TargetState.STARTED).result(SECONDS) is State.FAILED
    polled.provider.failure = None
    polled.look_after(10)
    assert polled.look_after(10) == Work(("c",))
    running.shutdown()


def test_a_connector_that_is_not_started_has_no_values(polled: Watching) -> None:
    running = connector(polled, [])
    assert running.transition(TargetState.STOPPED).result(SECONDS) is State.STOPPED
    assert polled.provider.calls == []
    running.shutdown()
