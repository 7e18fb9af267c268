"""A connector whose configuration expires: it starts anew with what the provider says by then, or is left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import ClassVar

import pytest

from connect_dagster.connectors.file.source import FileStreamSourceTask
from connect_dagster.errors import ConfigError
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.protocol.states import State, TargetState
from connect_dagster.worker.worker_connector import WorkerConnector

TTL_MS = 30
SECONDS = 10


class Counter(ConfigProvider):
    """Counts up; each value holds for a moment, the last of them for ever."""

    config_def: ClassVar[type[ConfigDef]] = ConfigDef

    def __init__(self, last: int) -> None:
        self.last = last
        self.now = 0
        self.fails = False

    def configure(self, config: Mapping[str, str]) -> None:
        raise AssertionError("made by hand")

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        if self.fails:
            raise ConfigError("sealed")
        self.now += 1
        return ConfigData(dict.fromkeys(keys, str(self.now)), TTL_MS if self.now < self.last else None)


class Remembering(SourceConnector):
    config_def: ClassVar[type[ConfigDef]] = ConfigDef
    task_class: ClassVar[type[SourceTask]] = FileStreamSourceTask

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self, config: Properties) -> None:
        self.calls.append(f"start {config['token']}")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return []

    def stop(self) -> None:
        self.calls.append("stop")


class Running:
    """A connector with a provider, its states, and how often tasks were asked for."""

    def __init__(self, last: int, **config: str) -> None:
        self.provider = Counter(last)
        self.connector = Remembering()
        self.states: list[State] = []
        self.asked = threading.Semaphore(0)
        named = {name.replace("_", "."): value for name, value in config.items()}
        self.worker_connector = WorkerConnector(
            "c",
            self.connector,
            {"name": "c", "connector.class": "Remembering", "token": "${p:token}", **named},
            ConfigTransformer({"p": self.provider}),
            lambda name, state, trace: self.states.append(state),
            self.asked.release,
        )

    def to(self, target: TargetState) -> State:
        return self.worker_connector.transition(target).result(SECONDS)

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.005)
        assert condition(), (self.connector.calls, self.states)


def test_it_starts_anew_and_asks_for_its_tasks() -> None:
    running = Running(last=3)
    assert running.to(TargetState.STARTED) is State.RUNNING
    assert running.asked.acquire(timeout=SECONDS)
    assert running.asked.acquire(timeout=SECONDS)
    assert running.connector.calls == ["start 1", "stop", "start 2", "stop", "start 3"]
    assert running.states == [State.RUNNING]
    running.worker_connector.shutdown()


def test_config_action_reload_none_leaves_it_alone() -> None:
    running = Running(last=9, config_action_reload="none")
    running.to(TargetState.STARTED)
    time.sleep(TTL_MS * 4 / 1000)
    assert running.connector.calls == ["start 1"]
    running.worker_connector.shutdown()


@pytest.mark.parametrize("target", [TargetState.PAUSED, TargetState.STOPPED])
def test_one_that_does_not_run_is_not_started(target: TargetState) -> None:
    running = Running(last=9)
    running.to(TargetState.STARTED)
    running.to(target)
    calls = list(running.connector.calls)
    time.sleep(TTL_MS * 4 / 1000)
    assert running.connector.calls == calls
    assert calls[-1] == "stop"
    running.worker_connector.shutdown()


def test_one_that_was_shut_down_is_not_started() -> None:
    running = Running(last=9)
    running.to(TargetState.STARTED)
    running.worker_connector.shutdown()
    running.worker_connector.await_shutdown(SECONDS)
    calls = list(running.connector.calls)
    time.sleep(TTL_MS * 4 / 1000)
    assert running.connector.calls == calls
    assert running.states[-1] is State.UNASSIGNED


def test_a_provider_that_fails_by_then() -> None:
    running = Running(last=9)
    running.to(TargetState.STARTED)
    running.provider.fails = True
    running.wait(lambda: running.states == [State.RUNNING, State.FAILED])
    assert running.connector.calls[-1] == "stop"
    running.worker_connector.shutdown()
