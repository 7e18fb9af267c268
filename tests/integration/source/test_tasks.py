"""Life of connectors and tasks, with plugins that write down what was called."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.storage.file_offset_store import FileOffsetStore
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker import Worker
from tests.conftest import Broker
from tests.integration.source.conftest import PLUGINS, SourceWorker
from tests.integration.topics import read_topic

STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def journal(tmp_path: Path) -> Callable[[], list[str]]:
    file = tmp_path / "journal"
    return lambda: file.read_text().splitlines() if file.exists() else []


def scripted(tmp_path: Path, **more: str) -> dict[str, str]:
    config = {"connector.class": "scripted.ScriptedConnector", "journal": str(tmp_path / "journal")}
    return {**config, **{key.replace("_", "."): value for key, value in more.items()}}


def test_s1_22_a_task_whose_start_fails(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    name = f"{topic_prefix}c"
    worker.create(name, scripted(tmp_path, tasks_max="2", failing_task="1"), "RUNNING", "RUNNING", "FAILED")
    log = worker.process.log()
    assert f"Creating task {name}-1 (" in log
    assert f"Instantiated task {name}-1 with version 7.8.9 of type scripted.ScriptedTask (" in log
    trace = worker.trace(name, 1).splitlines()
    assert trace[0] == "org.apache.kafka.connect.errors.ConnectException: this task was told to fail"
    assert trace[-1] == "ValueError: this task was told to fail"
    status = worker.process.call("GET", f"/connectors/{name}/status").json
    assert [task.get("trace") is not None for task in status["tasks"]] == [False, True]
    assert "Task is being killed and will not recover until manually restarted." in log


def test_s1_22_a_task_runs_once_only(spark_session: Session, broker: Broker, tmp_path: Path) -> None:
    journal, id = tmp_path / "journal", TaskId("c", 0)
    worker = in_process(spark_session, broker, tmp_path)
    states: list[State] = []
    listeners = TaskListeners(lambda _, state, __: states.append(state), lambda _, __: None)
    config = {"name": "c", "connector.class": "scripted.ScriptedConnector", "journal": str(journal)}
    task = {"journal": str(journal), "failing.task": "-1", "task": "0"}
    worker.start_task(id, config, task, TargetState.STARTED, listeners)
    try:
        with pytest.raises(ConnectError, match=r"^Task already exists in this worker: c-0$"):
            worker.start_task(id, config, task, TargetState.STARTED, listeners)
    finally:
        worker.stop_tasks([id])
    assert journal.read_text().splitlines() == ["start 0", "stop 0"]
    assert states == [State.RUNNING, State.UNASSIGNED]


def in_process(session: Session, broker: Broker, workdir: Path) -> Worker:
    """A worker of this process, without its committer and without REST."""
    config = StandaloneConfig.parse(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.storage.file.filename": str(workdir / "offsets"),
        }
    )
    offsets = FileOffsetStore(workdir / "offsets")
    return Worker("localhost:8083", config, Plugins([str(PLUGINS)]), session, offsets)


def test_s1_23_a_connectors_converter_replaces_the_workers(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path
) -> None:
    file, own, without = tmp_path / "in.txt", f"{topic_prefix}own", f"{topic_prefix}without"
    file.write_text("line\n")
    keys = {"transforms": "k", "transforms.k.type": "edits.KeyFromValue", "transforms.k.text": "key:"}
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    # The worker's key converter is this one too, but without schemas: an option that does not come along.
    converters = {"key.converter": json_converter, "value.converter": STRING}
    worker.create_file_source(own, file, own, **keys, **converters)
    worker.create_file_source(without, file, without, **keys)
    (record,) = read_topic(worker.broker.bootstrap_servers, own, 1)
    assert record.key() == b'{"schema":{"type":"string","optional":false},"payload":"key:line"}'
    assert record.value() == b"line"
    (record,) = read_topic(worker.broker.bootstrap_servers, without, 1)
    assert record.key() == b'"key:line"'
    assert record.value() == b'{"schema":{"type":"string","optional":false},"payload":"line"}'
    log = worker.process.log()
    assert f"Set up the value converter {STRING} for task {own}-0 using the connector config (" in log
    assert f"Set up the value converter {json_converter} for task {without}-0 using the worker config (" in log


def test_s1_24_tasks_restart_when_their_configurations_change(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    name, file = f"{topic_prefix}c", tmp_path / "tasks.json"
    file.write_text(json.dumps([{"note": "a"}, {"note": "b"}]))
    worker.create(name, scripted(tmp_path, tasks_max="2", tasks_file=str(file)), *["RUNNING"] * 3)
    assert journal()[2:] == ["start 0 a", "start 1 b"] or journal()[2:] == ["start 1 b", "start 0 a"]

    file.write_text(json.dumps([{"note": "a"}, {"note": "b"}]))  # touched, equal
    worker.process.wait_until(lambda: journal().count("task configs") == 2, "ask for task configurations", 20)
    file.write_text(json.dumps([{"note": "a"}, {"note": "c"}]))
    worker.process.wait_until(lambda: "start 1 c" in journal(), "start the new tasks", 20)
    worker.process.wait_states(name, "RUNNING", "RUNNING", "RUNNING")
    assert Counter(journal()) == {
        "start connector": 1,
        "task configs": 3,
        "start 0 a": 2,
        "start 1 b": 1,
        "stop 0": 1,
        "stop 1": 1,
        "start 1 c": 1,
    }


def test_s1_25_an_invalid_update_changes_nothing(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    name = f"{topic_prefix}c"
    worker.create(name, scripted(tmp_path, number="5"))
    before = worker.process.call("GET", f"/connectors/{name}/config").json
    answer = worker.process.call("PUT", f"/connectors/{name}/config", {**before, "number": "0"})
    assert answer.status == 400
    assert "Invalid value 0 for configuration number: Value must be at least 1" in answer.message
    assert worker.process.call("GET", f"/connectors/{name}/config").json == before
    worker.process.wait_states(name, "RUNNING", "RUNNING")
    assert journal() == ["start connector", "task configs", "start 0"]
