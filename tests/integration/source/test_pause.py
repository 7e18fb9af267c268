"""A source is paused and resumed through REST."""

import time
from pathlib import Path

from tests.integration.source.conftest import SourceWorker

PLAIN = {"value_converter": "org.apache.kafka.connect.storage.StringConverter"}


def test_s1_32_pause_and_resume(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "test.txt", f"{topic_prefix}t"
    file.write_text("before\n")
    worker.create_file_source(topic, file, topic, **PLAIN)
    assert worker.values(topic, 1) == ["before"]

    paused = worker.process.call("PUT", f"/connectors/{topic}/pause")
    assert (paused.status, paused.body) == (202, b"")
    worker.process.wait_states(topic, "PAUSED", "PAUSED")
    with file.open("a") as log:
        log.write("while paused\n" * 3)
    began = time.monotonic()
    worker.process.wait_until(lambda: time.monotonic() - began > 2, "let two seconds pass", 10)
    assert worker.size(topic) == 1

    resumed = worker.process.call("PUT", f"/connectors/{topic}/resume")
    assert (resumed.status, resumed.body) == (202, b"")
    worker.process.wait_states(topic, "RUNNING", "RUNNING")
    assert worker.values(topic, 4) == ["before", *["while paused"] * 3]
