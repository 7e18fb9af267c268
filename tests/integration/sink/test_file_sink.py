"""The file sink when its file refuses what is written."""

import resource
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import STRING
from tests.integration.worker_process import WorkerProcess, write_properties

LINES = 4000
LIMIT = 200_000


def _line(number: int) -> str:
    return f"{number:05d} " + "x" * 94


@pytest.mark.nightly
def test_a_file_that_may_not_grow_fails_the_task_and_nothing_is_lost_or_torn(
    broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    topics = Topics(broker.bootstrap_servers)
    topic, name, file = topics.create(f"{topic_prefix}t"), f"{topic_prefix}sink", tmp_path / "sink.txt"
    config = {"name": name, "connector.class": "FileStreamSink", "file": str(file), "topics": topic}
    props = {"bootstrap.servers": broker.bootstrap_servers, "key.converter": STRING, "value.converter": STRING}
    connector = write_properties(tmp_path / "sink.properties", {**config, "consumer.override.max.poll.records": "500"})
    with WorkerProcess(props, [connector], tmp_path) as worker:
        worker.wait_states(name, "RUNNING", "RUNNING", timeout=60)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
        topics.write(topic, map(_line, range(LINES)))
        status = worker.wait_states(name, "RUNNING", "FAILED", timeout=60)
        trace = status["tasks"][0]["trace"]
        assert trace.splitlines()[0].endswith("Exiting WorkerSinkTask due to unrecoverable exception.")
        assert f"Could not write to file '{file}': [Errno 27] File too large" in trace
        written = file.read_text()
        assert len(written) <= LIMIT
        assert written == "".join(_line(number) + "\n" for number in range(written.count("\n")))

        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert worker.call("POST", f"/connectors/{name}/tasks/0/restart").status == 204
        worker.wait_until(lambda: file.read_text().count("\n") >= LINES, "write all lines", 60)
        assert file.read_text().splitlines() == list(map(_line, range(LINES)))


def test_a_full_device_fails_the_task_with_its_own_words(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "a")
    sink = start_sink({"connector.class": "FileStreamSink", "file": "/dev/full", "topics": topic})
    sink.await_states("RUNNING", "FAILED")
    assert "Could not write to file '/dev/full': [Errno 28] No space left on device" in sink.trace()
    assert topics.committed(sink.group, topic) == {}


def test_a_device_that_cannot_be_synced_has_its_offsets_committed(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abc")
    sink = start_sink({"connector.class": "FileStreamSink", "file": "/dev/null", "topics": topic})
    topics.await_committed(sink.group, topic, {0: 3})
    assert sink.states() == ["RUNNING", "RUNNING"]


@pytest.mark.parametrize("fault", ["a folder is missing", "a folder has its name"])
def test_a_file_that_cannot_be_opened_fails_the_task_until_it_can(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path: Path, fault: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abc")
    file = tmp_path / "folder" / "sink.txt"
    if fault == "a folder has its name":
        file.mkdir(parents=True)
    sink = start_sink({"connector.class": "FileStreamSink", "file": str(file), "topics": topic})
    sink.await_states("RUNNING", "FAILED")
    first, *rest = sink.trace().splitlines()
    assert f"Couldn't find or create file '{file}' for FileStreamSinkTask" in first
    assert "Traceback (most recent call last):" in rest
    if file.is_dir():
        file.rmdir()
    file.parent.mkdir(exist_ok=True)
    sink.restart(0)
    topics.await_committed(sink.group, topic, {0: 3})
    assert file.read_text() == "a\nb\nc\n"
