"""FileStreamSource end to end: lines of a file as records of a topic."""

import json
import time
from pathlib import Path

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.source.conftest import SourceWorker
from tests.integration.worker_process import WorkerProcess, write_properties

NAME = "local-file-source"
TEXT = "first message\nseconde line\n세번째 메시지\n"
PLAIN = {"value_converter": "org.apache.kafka.connect.storage.StringConverter"}


def envelope(text: str) -> str:
    return '{"schema":{"type":"string","optional":false},"payload":"' + text + '"}'


def test_s1_01_the_seeds_files_run_unmodified(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "test.txt", f"{topic_prefix}connect-test"
    file.write_text(TEXT)
    source = {"name": NAME, "connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": topic}
    files = [write_properties(tmp_path / "local-file-source.properties", source)]
    worker_file = {  # the seed's connect-standalone.properties
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        "offset.storage.file.filename": str(tmp_path / "connect.offsets"),
        "offset.flush.interval.ms": "10000",
        "plugin.path": str(tmp_path),
    }
    with WorkerProcess(worker_file, files, tmp_path / "worker") as process:
        process.wait_states(NAME, "RUNNING", "RUNNING")
        assert process.call("GET", f"/connectors/{NAME}/config").json == source
        task = process.call("GET", f"/connectors/{NAME}/tasks").json[0]
        assert task["config"]["task.class"] == "org.apache.kafka.connect.file.FileStreamSourceTask"
        assert topics.values(broker.bootstrap_servers, topic, 3) == [envelope(line) for line in TEXT.splitlines()]


def test_s1_02_each_line_is_a_record_in_order(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(TEXT)
    topic = f"{topic_prefix}t"
    worker.create_file_source(topic, tmp_path / "test.txt", topic)
    records = topics.read_topic(worker.broker.bootstrap_servers, topic, 3)
    assert [one.value() for one in records] == [envelope(line).encode() for line in TEXT.splitlines()]
    assert [one.offset() for one in records] == [0, 1, 2]
    assert [(one.key(), one.headers()) for one in records] == [(None, None)] * 3


def test_s1_03_a_file_that_comes_later(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "test.txt", f"{topic_prefix}t"
    worker.create_file_source(topic, file, topic)
    worker.process.wait_log(
        f"Couldn't find file {file} for FileStreamSourceTask, sleeping to wait for it to be created"
    )
    began = time.monotonic()
    worker.process.wait_until(lambda: time.monotonic() - began > 3, "let three seconds pass", 10)
    worker.process.wait_states(topic, "RUNNING", "RUNNING")
    file.write_text(TEXT)
    assert worker.values(topic, 3) == [envelope(line) for line in TEXT.splitlines()]


def test_s1_04_appended_overwritten_and_partial_lines(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "test.txt", f"{topic_prefix}t"
    file.write_text("one\ntwo\n")
    worker.create_file_source(topic, file, topic, **PLAIN)
    worker.wait_position(topic, file, 8)
    with file.open("a") as log:
        log.write("fourth\n")
    worker.wait_position(topic, file, 15)
    assert worker.values(topic, 3) == ["one", "two", "fourth"]

    with file.open("r+") as log:  # in place: the first line was sent already
        log.write("ONE")
    with file.open("a") as log:
        log.write("half")
    began = time.monotonic()
    worker.process.wait_until(lambda: time.monotonic() - began > 1.5, "poll some times", 10)
    assert worker.size(topic) == 3
    worker.wait_position(topic, file, 15)
    with file.open("a") as log:
        log.write(" line\n")
    worker.wait_position(topic, file, 25)
    assert worker.values(topic, 4) == ["one", "two", "fourth", "half line"]
    assert worker.size(topic) == 4


def test_s1_05_a_sink_writes_the_same_file_again(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, out, topic = tmp_path / "test.txt", tmp_path / "test.sink.txt", f"{topic_prefix}t"
    file.write_text(TEXT)
    worker.create_file_source(topic, file, topic)
    out.write_text("what was there stays\n")
    sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "file": str(out), "topics": topic}
    worker.create(f"{topic_prefix}local-file-sink", sink)
    wanted = b"what was there stays\n" + file.read_bytes()
    worker.process.wait_until(lambda: out.read_bytes() == wanted, "write the lines", 60)


def test_s1_09_unknown_connector_keys_never_fail(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("a\n")
    name = f"{topic_prefix}t"
    worker.create_file_source(name, tmp_path / "access.log", name, mode="timestamp+incrementing")
    config = worker.process.call("GET", f"/connectors/{name}/config").json
    assert config["mode"] == "timestamp+incrementing"


def test_s1_10_offsets_count_bytes(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, name = tmp_path / "test.txt", f"{topic_prefix}t"
    file.write_text(TEXT)
    worker.create_file_source(name, file, name)
    worker.wait_position(name, file, 47)
    body = worker.process.call("GET", f"/connectors/{name}/offsets").body.decode()
    assert body == f'{{"offsets":[{{"partition":{{"filename":"{file}"}},"offset":{{"position":47}}}}]}}'


def test_lines_may_end_as_on_windows(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "windows.txt", f"{topic_prefix}t"
    file.write_bytes(b"one\r\n\r\ntwo\rthree\nfour\r\n")
    worker.create_file_source(topic, file, topic, **PLAIN)
    worker.wait_position(topic, file, file.stat().st_size)
    assert worker.values(topic, 5) == ["one", "", "two", "three", "four"]


def test_a_limit_of_lines_loses_none(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "many.txt", f"{topic_prefix}t"
    lines = [f"line {number}" for number in range(7)]
    file.write_text("".join(f"{line}\n" for line in lines))
    worker.create_file_source(topic, file, topic, batch_size="2", **PLAIN)
    assert worker.values(topic, 7) == lines

    def batch() -> int:
        return int(worker.process.call("GET", "/dagster/progress").json[f"{topic}-0"]["batchId"])

    # A batch counts a moment after the brokers have shown its lines.
    worker.process.wait_until(lambda: batch() >= 3, "count the last batch", 10)
    assert batch() == 3


def test_bytes_that_are_no_text_are_replaced(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "latin.txt", f"{topic_prefix}t"
    file.write_bytes(b"caf\xe9\n\xed\xa0\x80|\n")
    worker.create_file_source(topic, file, topic, **PLAIN)
    assert worker.values(topic, 2) == ["caf\ufffd", "\ufffd|"]
    worker.wait_position(topic, file, file.stat().st_size)


def test_bytes_that_are_no_text_may_be_an_error(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, name = tmp_path / "latin.txt", f"{topic_prefix}t"
    file.write_bytes(b"caf\xe9\n")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": name, "invalid.utf8": "fail"}
    worker.create(name, config, "RUNNING", "FAILED")
    first = worker.trace(name).splitlines()[0]
    assert first == (
        f"org.apache.kafka.connect.errors.DataException: File {file} holds bytes that are not UTF-8 before position 5; "
        "invalid.utf8=replace would put U+FFFD in their place"
    )
    assert worker.offsets(name) == []


def test_spark_counts_each_record_that_is_delivered(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "bulk.txt", f"{topic_prefix}t"
    text = "".join(f"{number} {'x' * (number % 200)}\n" for number in range(30_000))
    file.write_text(text)
    worker.create_file_source(topic, file, topic)
    worker.wait_position(topic, file, len(text))
    with file.open("a") as log:
        log.write("one more\n")
    worker.wait_position(topic, file, len(text) + 9)
    progress = worker.process.call("GET", "/dagster/progress").json[f"{topic}-0"]
    assert progress["totalInputRows"] == worker.size(topic) == 30_001
    assert progress["numInputRows"] == 1
    assert progress["jobGroup"] == f"{topic}-0"
    assert progress["endOffset"] == {"position": len(text) + 9}
    assert json.loads(worker.values(topic, 30_001)[-1])["payload"] == "one more"
