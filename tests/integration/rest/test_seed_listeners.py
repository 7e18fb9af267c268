"""Ports and listeners of a worker process."""

import socket
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import free_port
from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess, write_properties
from tests.rest_calls import call


@pytest.mark.nightly
def test_s1_06_two_workers_with_a_port_each(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    first, second, topic = free_port(), free_port(), f"{topic_prefix}t"
    (tmp_path / "in.txt").write_text("a\n")
    source = {"name": "src", "connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": topic}
    sink = {
        "name": f"{topic_prefix}snk",
        "connector.class": "FileStreamSink",
        "file": str(tmp_path / "out.txt"),
        "topics": topic,
    }
    files = [write_properties(tmp_path / f"{props['name']}.properties", props) for props in (source, sink)]
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    with (
        WorkerProcess({**servers, "listeners": f"http://127.0.0.1:{first}"}, files[:1], tmp_path / "one") as one,
        WorkerProcess({**servers, "listeners": f"HTTP://:{second}"}, files[1:], tmp_path / "two") as two,
    ):
        assert [call(f"http://localhost:{port}", "GET", "/").status for port in (first, second)] == [200, 200]
        one.wait_states("src", "RUNNING", "RUNNING")
        status = two.wait_states(sink["name"], "RUNNING", "RUNNING")
        here = socket.gethostbyname(socket.gethostname())
        assert status["connector"]["worker_id"] == f"{here}:{second}"
        two.wait_until(lambda: (tmp_path / "out.txt").read_text() == "a\n", "write the line", 30)


@pytest.mark.nightly
def test_s1_07_a_port_in_use_ends_the_second_worker(broker: Broker, tmp_path: Path) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    connector = {"name": "never", "connector.class": "FileStreamSource", "file": "/none", "topic": "none"}
    files = [write_properties(tmp_path / "never.properties", connector)]
    with WorkerProcess(servers, [], tmp_path / "one") as one:
        two = WorkerProcess({**servers, "listeners": one.props["listeners"]}, files, tmp_path / "two")
        two.start()
        assert two.wait_exit() == 2
        assert "Stopping due to error" in two.log()
        port = one.rest_url.rpartition(":")[2]
        assert any("Address already in use" in line and port in line for line in two.log().splitlines())
        assert "Created connector" not in two.log()
        assert one.call("GET", "/").status == 200


@pytest.mark.nightly
def test_s1_07b_an_offset_file_in_use_ends_the_second_worker(broker: Broker, tmp_path: Path) -> None:
    offsets = tmp_path / "shared.offsets"
    (tmp_path / "in.txt").write_text("a line\n")
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": tmp_path.name}
    files = [write_properties(tmp_path / "src.properties", {"name": "src", **source})]
    props = {"bootstrap.servers": broker.bootstrap_servers, "offset.storage.file.filename": str(offsets)}
    with WorkerProcess(props, files, tmp_path / "one") as one:
        one.wait_until(lambda: offsets.exists() and offsets.stat().st_size > 0, "commit an offset", 60)
        before = offsets.read_bytes()
        two = WorkerProcess(props, [], tmp_path / "two")
        two.start()
        assert two.wait_exit() == 2
        (error,) = [line.partition("] ERROR ")[2] for line in two.log().splitlines() if "] ERROR " in line]
        refusal = f"{offsets} is in use by another worker, process {one.pid} ("
        assert error.startswith(f"Stopping due to error: org.apache.kafka.connect.errors.ConnectException: {refusal}")
        assert "Traceback" not in two.log()
        assert offsets.read_bytes() == before
        assert one.call("GET", "/").status == 200


@pytest.mark.nightly
def test_s1_08_several_listeners_answer_and_the_first_is_advertised(broker: Broker, tmp_path: Path) -> None:
    first, second = free_port(), free_port()
    listeners = f"http://127.0.0.1:{first},http://0.0.0.0:{second}"
    props = {"bootstrap.servers": broker.bootstrap_servers, "listeners": listeners}
    with WorkerProcess(props, [], tmp_path) as worker:
        assert [call(f"http://127.0.0.1:{port}", "GET", "/").status for port in (first, second)] == [200, 200]
        assert f"advertising URL http://127.0.0.1:{first}/" in worker.log()


@pytest.mark.parametrize("listener", ["ftp://x:1", pytest.param("127.0.0.1:8083", marks=pytest.mark.nightly)])
def test_s1_08_other_listeners_are_refused(broker: Broker, tmp_path: Path, listener: str) -> None:
    worker = WorkerProcess({"bootstrap.servers": broker.bootstrap_servers, "listeners": listener}, [], tmp_path)
    worker.start()
    assert worker.wait_exit() == 2
    assert f"Invalid value {listener} for configuration listeners" in worker.log()
