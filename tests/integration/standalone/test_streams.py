"""`connect-standalone` in a pipe, and over several starts with a plugin that breaks in between."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import COMMAND, WorkerProcess, write_properties

pytestmark = pytest.mark.nightly

STRING = "org.apache.kafka.connect.storage.StringConverter"


def test_lines_from_standard_input_to_standard_output(
    broker: Broker, worker_props: dict[str, str], topic_prefix: str, tmp_path: Path
) -> None:
    topic = f"{topic_prefix}t"
    worker = write_properties(tmp_path / "worker.properties", {**worker_props, "value.converter": STRING})
    source = {"name": f"{topic}-in", "connector.class": "FileStreamSource", "topic": topic}
    sink = {"name": f"{topic}-out", "connector.class": "FileStreamSink", "topics": topic}
    files = [write_properties(tmp_path / f"{config['name']}.properties", config) for config in (source, sink)]
    written = tmp_path / "stdout.txt"
    with written.open("wb") as out:
        process = subprocess.Popen([COMMAND, worker, *files], stdin=subprocess.PIPE, stdout=out)
    assert process.stdin is not None
    try:
        process.stdin.write("one\r\n세번째\nhalf".encode())
        process.stdin.flush()
        assert topics.values(broker.bootstrap_servers, topic, 2, 200) == ["one", "세번째"]
        process.stdin.write(b" line\n")
        process.stdin.close()
        assert topics.values(broker.bootstrap_servers, topic, 3) == ["one", "세번째", "half line"]
        deadline = time.monotonic() + 90
        while [line for line in written.read_text().splitlines() if not line.startswith("[")] != [
            "one",
            "세번째",
            "half line",
        ]:
            assert time.monotonic() < deadline, written.read_text()[-3000:]
            time.sleep(0.1)
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_a_plugin_that_does_not_import_loses_no_offset(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    name, plugins = f"{topic_prefix}t", tmp_path / "plugins"
    good = Path(__file__).parent.with_name("source") / "plugins" / "letters.py"
    plugins.mkdir()
    topics.create(broker.bootstrap_servers, name, 3)
    plugin = plugins / "letters.py"
    plugin.write_text(good.read_text())
    connector = {"name": name, "connector.class": "letters.LettersConnector", "topic": name}
    file = write_properties(tmp_path / "letters.properties", connector)
    worker = WorkerProcess(
        {"bootstrap.servers": broker.bootstrap_servers, "plugin.path": str(plugins)}, [file], tmp_path / "worker"
    )

    def offsets() -> list[dict[str, object]]:
        return list(worker.call("GET", f"/connectors/{name}/offsets").json["offsets"])

    worker.start()
    worker.wait_ready(150)
    worker.wait_until(lambda: [entry["offset"] for entry in offsets()] == [{"n": 2}] * 2, "commit all", 60)
    before = offsets()
    worker.stop()

    plugin.write_text(f"import nothing_of_that_name\n{good.read_text()}")
    worker.start()
    assert worker.wait_exit(150) == 3
    why = "ModuleNotFoundError: No module named 'nothing_of_that_name'"
    assert f"Could not import plugin module {plugin}: {why}" in worker.log()
    assert (
        f"Failed to load connector letters.LettersConnector: module letters cannot be imported: {why}" in worker.log()
    )

    plugin.write_text(good.read_text())
    worker.start()
    worker.wait_ready(150)
    worker.wait_states(name, "RUNNING", "RUNNING")
    assert offsets() == before
    assert topics.size(broker.bootstrap_servers, name) == 4
    worker.stop()
