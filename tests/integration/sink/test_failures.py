"""Failures of a sink task and of its records."""

import time
from pathlib import Path

import pytest

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"
SCHEMALESS = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"


def test_s1_44_a_failed_put_fails_the_task_until_it_is_restarted(
    start_sink: StartSink, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "ab")
    sink = start_sink({"topics": topic, "on.put": "ok; fail no such row"})
    sink.await_values(2)
    topics.write(topic, "cd")
    sink.await_states("RUNNING", "FAILED")
    first, second, *rest = sink.trace().splitlines()
    assert first == f"{CONNECT_EXCEPTION}: Exiting WorkerSinkTask due to unrecoverable exception."
    assert second == "Traceback (most recent call last):"
    assert "ValueError: no such row" in rest
    assert "Task is being killed and will not recover until manually restarted." in caplog.text
    assert topics.committed(sink.group, topic) == {0: 2}

    topics.write(topic, "e")
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        assert sink.states() == ["RUNNING", "FAILED"]
        time.sleep(0.1)
    sink.restart(0)
    sink.await_states("RUNNING", "RUNNING")
    assert sink.await_values(5) == list("abcde")


def test_s1_44_a_record_that_is_no_json_fails_the_task(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ['{"a": 1}', "{oops", '{"a": 2}'])
    sink = start_sink({"topics": topic, **SCHEMALESS})
    sink.await_states("RUNNING", "FAILED")
    assert sink.trace().splitlines()[0] == f"{CONNECT_EXCEPTION}: Tolerance exceeded in error handler"
    assert topics.committed(sink.group, topic) == {}


def test_s1_44_with_tolerance_that_record_alone_is_skipped(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ['{"a": 1}', "{oops", '{"a": 2}'])
    sink = start_sink({"topics": topic, "errors.tolerance": "all", **SCHEMALESS})
    assert sink.await_values(2) == [{"a": 1}, {"a": 2}]
    topics.write(topic, ["{oops"])
    topics.write(topic, ['{"a": 3}'])
    assert sink.await_values(3) == [{"a": 1}, {"a": 2}, {"a": 3}]
    topics.await_committed(sink.group, topic, {0: 5})


def _enveloped(type: str, payload: str) -> str:
    return f'{{"schema":{{"type":"{type}","optional":false}},"payload":{payload}}}'


def test_with_tolerance_a_new_schema_is_no_unreadable_record(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    config = {"topics": topic, "errors.tolerance": "all", "value.converter": JSON}
    sink = start_sink(config)
    topics.write(topic, [_enveloped("int32", "1")])
    sink.await_values(1)
    topics.write(topic, [_enveloped("int32", "2"), _enveloped("string", '"three"'), "{oops", _enveloped("int32", "4")])
    assert sink.await_values(4) == [1, 2, "three", 4]


def test_a_key_that_no_task_looks_at_must_be_readable(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    file = tmp_path_factory.mktemp("out") / "sink.txt"
    topics.write(topic, ["first"])
    config = {"connector.class": "FileStreamSink", "file": str(file), "topics": topic, "key.converter": JSON}
    sink = start_sink(config)
    topics.await_committed(sink.group, topic, {0: 1})
    topics.write(topic, ["second"], key="no JSON")
    sink.await_states("RUNNING", "FAILED")
    assert sink.trace().splitlines()[0] == f"{CONNECT_EXCEPTION}: Tolerance exceeded in error handler"
    assert file.read_text() == "first\n"


@pytest.mark.parametrize("then", ["ok", "retry 1", "fail"])
def test_a_task_that_hangs_leaves_its_group(
    start_sink: StartSink,
    topics: Topics,
    topic_prefix: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    then: str,
) -> None:
    """Its put may end after the worker has closed its consumer; then it closes its partitions as any other task."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "a")
    gate = tmp_path / "gate"
    worker = {"task.shutdown.graceful.timeout.ms": "500"}
    sink = start_sink({"topics": topic, "on.put": f"wait-for {gate}, {then}"}, worker)
    sink.wait(lambda: len(sink.calls("put")) == 1, "put")
    sink.restart(0)
    sink.await_states("RUNNING", "RUNNING")
    sink.wait(lambda: len(sink.calls("put")) == 2, "second put", 30)
    assert sink.puts()[1] == [(0, 0, "a")]
    topics.await_committed(sink.group, topic, {0: 1})
    assert sink.calls("close", "stop") == []
    gate.touch()
    sink.wait(lambda: [call["call"] for call in sink.calls("close", "stop")] == ["close", "stop"], "close")
    assert "Consumer closed" not in caplog.text
