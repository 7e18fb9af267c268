"""The client `kafka-connect-py`, unmodified, through all its commands."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]

from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly

COMMAND = Path(sys.executable).with_name("kc")
SOURCE_CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SECONDS = 30.0


class Shell:
    """The client's command line, pointed at a worker."""

    def __init__(self, url: str) -> None:
        self.url = url

    def text(self, *words: str) -> str:
        """What a command prints."""
        command = [str(COMMAND), "--url", self.url, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    def __call__(self, *words: str) -> Any:
        """What a command prints, which is JSON."""
        return json.loads(self.text(*words))

    def text_after_rebalance(self, *words: str) -> str:
        """What a command prints once the group does not rebalance: until then a worker replies 409, as Java's does."""
        deadline = time.monotonic() + SECONDS
        while "409 Client Error: Conflict" in (said := self.text(*words)):
            assert time.monotonic() < deadline, f"{words}: still {said}"
        return said

    def wait(self, *words: str, until: Callable[[Any], bool]) -> Any:
        """What a command prints once that fulfils a condition."""
        deadline = time.monotonic() + SECONDS
        while not until(said := self(*words)):
            assert time.monotonic() < deadline, f"{words}: still {said}"
        return said


@pytest.fixture
def kc(worker: WorkerProcess) -> Iterator[Shell]:
    before = len(worker.log())
    yield Shell(worker.rest_url)
    sys.stdout.write(worker.log()[before:])  # pytest shows it for a test that failed


@pytest.fixture
def config(tmp_path: Path, topic_prefix: str) -> dict[str, str]:
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    return {"connector.class": SOURCE_CLASS, "tasks.max": "1", "file": str(file), "topic": f"{topic_prefix}t"}


def states(status: Any) -> list[str]:
    return [part["state"] for part in (status["connector"], *status["tasks"])]


def run(kc: Shell, name: str, config: dict[str, str]) -> None:
    """Create a connector and wait until it has read its file."""
    assert kc("create", "-d", json.dumps({"name": name, "config": config}))["name"] == name
    kc.wait("list-topics", name, until=lambda topics: topics == {name: {"topics": [config["topic"]]}})
    assert states(kc("status", name)) == ["RUNNING", "RUNNING"]


def test_the_cluster_and_its_plugins(kc: Shell) -> None:
    assert kc("info").keys() == {"version", "commit", "kafka_cluster_id"}
    assert SOURCE_CLASS in {plugin["class"] for plugin in kc("list-plugins")}


def test_a_connector_is_created_told_changed_and_deleted(kc: Shell, config: dict[str, str], tmp_path: Path) -> None:
    run(kc, "told", config)
    assert kc("get", "told")["tasks"] == [{"connector": "told", "task": 0}]
    assert kc("config", "told") == {**config, "name": "told"}
    assert kc("list-tasks", "told")[0]["id"] == {"connector": "told", "task": 0}
    assert kc("task-status", "told", "0")["state"] == "RUNNING"

    file = tmp_path / "config.json"
    file.write_text(json.dumps({**config, "batch.size": 7}))
    assert kc("update", "told", "-f", str(file))["config"]["batch.size"] == "7"
    assert "409 Client Error: Conflict" in kc.text("create", "-d", json.dumps({"name": "told", "config": config}))
    assert "400 Client Error: Bad Request" in kc.text("update", "told", "-d", '{"connector.class": "Nope"}')

    kc.text("reset-topics", "told")
    kc.wait("list-topics", "told", until=lambda topics: topics == {"told": {"topics": []}})
    assert kc.text("delete", "told") == ""
    assert "404 Client Error: Not Found" in kc.text_after_rebalance("get", "told")


def test_connectors_are_listed_by_pattern_and_state(kc: Shell, config: dict[str, str]) -> None:
    run(kc, "list-a", config)
    kc("create", "-d", json.dumps({"name": "list-b", "config": config, "initial_state": "PAUSED"}))
    kc.wait("list", "-e", "status", "-p", "list-b", until=lambda found: paused(found, "list-b"))
    assert sorted(kc("list", "-p", "list-")) == ["list-a", "list-b"]
    assert kc("list", "-p", "list-", "-s", "PAUSED") == ["list-b"]
    assert states(kc("list", "-e", "status", "-s", "running")["list-a"]["status"]) == ["RUNNING", "RUNNING"]
    assert kc("list", "-e", "info", "-p", "list-a")["list-a"]["info"]["type"] == "source"
    kc.text("delete", "--all", "-p", "list-")
    assert kc("list", "-p", "list-") == []


def test_a_connector_is_paused_resumed_and_restarted(kc: Shell, config: dict[str, str]) -> None:
    run(kc, "life", config)
    assert kc.text("pause", "life") == ""
    kc.wait("status", "life", until=lambda status: states(status) == ["PAUSED", "PAUSED"])
    assert kc.text("resume", "life") == ""
    kc.wait("status", "life", until=lambda status: states(status) == ["RUNNING", "RUNNING"])
    assert kc("restart", "life")["name"] == "life"
    assert kc("restart", "life", "--include-tasks")["name"] == "life"
    assert kc("restart", "life", "--only-failed")["name"] == "life"
    kc.wait("status", "life", until=lambda status: states(status) == ["RUNNING", "RUNNING"])
    assert kc("restart-task", "life", "0") is None
    assert "Not Found" in kc.text_after_rebalance("restart-task", "life", "7")
    assert "Unknown connector: nobody" in kc.text("restart", "nobody", "--include-tasks")
    kc.text("delete", "life")


def test_all_connectors_are_paused_resumed_and_restarted(kc: Shell, config: dict[str, str]) -> None:
    run(kc, "all-a", config)
    run(kc, "all-b", config)
    kc.text("pause", "--all", "-p", "all-")
    kc.wait("list", "-p", "all-", "-s", "paused", until=lambda names: sorted(names) == ["all-a", "all-b"])
    kc.text("resume", "--all", "-p", "all-")
    kc.wait("list", "-p", "all-", "-s", "running", until=lambda names: sorted(names) == ["all-a", "all-b"])
    assert kc("restart", "--all", "-p", "all-", "-i").keys() == {"all-a", "all-b"}
    kc.text("delete", "--all", "-p", "all-")


def test_what_only_the_library_can_do(worker: WorkerProcess, kc: Shell, config: dict[str, str]) -> None:
    client = KafkaConnect(worker.rest_url)
    run(kc, "lib-a", config)
    client.stop_connector("lib-a")
    kc.wait("status", "lib-a", until=lambda status: states(status) == ["STOPPED"])
    client.resume_connector("lib-a")
    client.stop_all_connectors(pattern="lib-")
    kc.wait("status", "lib-a", until=lambda status: states(status) == ["STOPPED"])
    assert client.validate_connector_config("FileStreamSource", {**config, "name": "v"})["error_count"] == 0
    client.delete_all_connectors(pattern="lib-")


def test_a_configuration_sent_as_text_is_refused_as_java_refuses_it(kc: Shell, config: dict[str, str]) -> None:
    """The client's command encodes what is JSON already; Java's worker answers 500 as well."""
    assert "500 Server Error" in kc.text("validate-config", "FileStreamSource", "-d", json.dumps(config))


def paused(found: Any, name: str) -> bool:
    return name in found and found[name]["status"]["connector"]["state"] == "PAUSED"
