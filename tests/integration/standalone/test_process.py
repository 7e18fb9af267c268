"""The running process: its title, its log, its threads, its end."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess, write_properties

PLUGINS = Path(__file__).parent.with_name("source") / "plugins"
LINE = re.compile(
    r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|WARN|ERROR|DEBUG|TRACE) "
    r"(\[[^|]+[|](task-\d+|worker)\] )?.+ \(\S+\)$"
)
# What may follow such a line: the trace of an error.
CONTINUED = re.compile(
    r"^$|^\s|^Traceback |^Caused by: |^[\w.$]+(Error|Exception|Exit|Interrupt)\b|^During handling|^The above exc"
)


@dataclass(frozen=True, slots=True)
class Standalone:
    """A worker with three connectors, one of them with two tasks, one that fails."""

    process: WorkerProcess
    files: list[Path]


@pytest.fixture(scope="module")
def standalone(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    workdir = tmp_path_factory.mktemp("standalone")
    (workdir / "test.txt").write_text("a line\n")
    source = {"connector.class": "FileStreamSource", "file": str(workdir / "test.txt"), "topic": workdir.name}
    scripted = {"connector.class": "Scripted", "journal": str(workdir / "journal"), "tasks.max": "2"}
    files = [
        write_properties(workdir / "c1.properties", {"name": "local-file-source", **source}),
        workdir / "c2.json",
        workdir / "c3.json",
    ]
    files[1].write_text(json.dumps({"name": "pair", **scripted}))
    files[2].write_text(json.dumps({"name": "failing", "config": {**scripted, "failing.task": "1"}}))
    props = {"bootstrap.servers": broker.bootstrap_servers, "plugin.path": str(PLUGINS)}
    with WorkerProcess(props, files, workdir) as process:
        process.wait_states("local-file-source", "RUNNING", "RUNNING")
        process.wait_states("pair", "RUNNING", "RUNNING", "RUNNING")
        process.wait_states("failing", "RUNNING", "RUNNING", "FAILED")
        yield Standalone(process, files)


def test_s1_15_files_of_all_kinds_in_the_order_of_the_arguments(standalone: Standalone) -> None:
    created = re.findall(r"Created connector (\S+) \(", standalone.process.log())
    assert created == ["local-file-source", "pair", "failing"]
    assert sorted(standalone.process.call("GET", "/connectors").json) == ["failing", "local-file-source", "pair"]


def test_s1_16_one_process_has_the_name(standalone: Standalone) -> None:
    # The seed's "auwx" with a second w: one alone cuts long lines.
    listed = subprocess.run(["ps", "auwwx"], capture_output=True, text=True, check=True).stdout.splitlines()
    ours = {standalone.process.pid, *(child.pid for child in descendants(standalone.process.pid))}
    named = [line for line in listed if "ConnectStandalone" in line and int(line.split()[1]) in ours]
    assert len(ours) > 1, "the worker has a JVM"
    assert [int(line.split()[1]) for line in named] == [standalone.process.pid]
    assert named[0].endswith(" ".join(map(str, standalone.files)))


def test_s1_20_start_log_in_order(standalone: Standalone) -> None:
    wanted = (
        r"Kafka Connect worker initialization took \d+ms \(",
        r"REST resources initialized; server is started and ready to handle requests \(",
        r"Kafka Connect started \(",
        r"Created connector local-file-source \(",
    )
    log = standalone.process.log()
    places = [found.start() for found in (re.search(one, log) for one in wanted) if found]
    assert len(places) == len(wanted)
    assert places == sorted(places)


def test_s1_20_every_line_has_the_form(standalone: Standalone) -> None:
    standalone.process.wait_log("Task is being killed")
    lines = standalone.process.log().splitlines()
    assert [line for line in lines if line.startswith("[") and not LINE.match(line)] == []
    assert [line for line in lines if not line.startswith("[") and not CONTINUED.match(line)] == []
    assert any("] INFO [local-file-source|task-0] " in line for line in lines)
    assert any("] INFO [local-file-source|worker] " in line for line in lines)


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (
            {"topics": "a", "topics.regex": "a.*"},
            "topics and topics.regex are mutually exclusive options, but both are set.",
        ),
        ({}, "Must configure one of topics or topics.regex"),
        ({"topics": " "}, "Must configure one of topics or topics.regex"),
    ],
)
def test_s1_38_a_sink_with_two_or_no_ways_to_name_topics_gets_400(
    standalone: Standalone, topics: dict[str, str], text: str
) -> None:
    config = {"connector.class": "FileStreamSink", "file": "/none", **topics}
    answer = standalone.process.call("POST", "/connectors", {"name": "refused", "config": config})
    assert answer.status == 400
    assert answer.json["error_code"] == 400
    assert text in answer.json["message"]
    assert "refused" not in standalone.process.call("GET", "/connectors").json


def test_s1_21_thread_dump(standalone: Standalone) -> None:
    before = len(standalone.process.log())
    os.kill(standalone.process.pid, signal.SIGQUIT)

    def dumped() -> str:
        return standalone.process.log()[before:]

    standalone.process.wait_until(lambda: '"MainThread"' in dumped() and "offset-committer" in dumped(), "dump", 20)
    standalone.process.wait_states("pair", "RUNNING", "RUNNING", "RUNNING")
    for name in ("task-thread-pair-0", "task-thread-pair-1", "connector-thread-pair"):
        assert dumped().count(f'"{name}"') == 1


@pytest.mark.nightly
def test_s1_18_no_connector_is_no_error_and_ctrl_c_ends(broker: Broker, tmp_path: Path) -> None:
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], tmp_path) as process:
        assert process.call("GET", "/connectors").json == []
        os.kill(process.pid, signal.SIGINT)
        assert process.wait_exit() == 0
        assert "Kafka Connect stopped (" in process.log()


def test_s1_26_a_connector_that_does_not_stop(broker: Broker, tmp_path: Path) -> None:
    config = {"connector.class": "Scripted", "journal": str(tmp_path / "journal"), "blocking.stop": "true"}
    names = ("x", "y")
    files = [write_properties(tmp_path / f"{name}.properties", {"name": name, **config}) for name in names]
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "plugin.path": str(PLUGINS),
        "task.shutdown.graceful.timeout.ms": "3000",
    }
    with WorkerProcess(props, files, tmp_path / "worker") as process:
        for name in names:
            process.wait_states(name, "RUNNING", "RUNNING")
        began = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait_exit() == 0
        took = time.monotonic() - began
        for name in names:
            assert (
                f"Connector '{name}' failed to properly shut down, has become unresponsive, "
                "and may be consuming external resources."
            ) in process.log()
        assert took < 5 + 3


@pytest.mark.nightly
def test_a_worker_whose_jvm_is_killed_ends(broker: Broker, tmp_path: Path) -> None:
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], tmp_path) as process:
        (java,) = [child for child in descendants(process.pid) if "java" in child.name()]
        java.kill()
        assert process.wait_exit() == 2
        assert "The JVM of the Spark session has ended: this worker cannot go on without it (" in process.log()
        assert [line for line in process.log().splitlines() if line.startswith("[") and not LINE.match(line)] == []


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)
