"""The worker and the source of the seed's files, with converters that write no envelope."""

from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration.topics import read_topic
from tests.integration.worker_process import WorkerProcess, write_properties


@pytest.mark.nightly
def test_s4_06_lines_without_schemas_are_json_strings_and_have_no_key(
    broker: Broker, tmp_path: Path, topic_prefix: str
) -> None:
    (tmp_path / "test.txt").write_text("first message\nsecond message\n", encoding="utf-8")
    topic = f"{topic_prefix}connect-test"
    source = {
        "name": "local-file-source",
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(tmp_path / "test.txt"),
        "topic": topic,
    }
    worker = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
    file = write_properties(tmp_path / "local-file-source.properties", source)
    with WorkerProcess(worker, [file], tmp_path / "worker"):
        records = read_topic(broker.bootstrap_servers, topic, 2)
    assert [(one.key(), one.value()) for one in records] == [(None, b'"first message"'), (None, b'"second message"')]
