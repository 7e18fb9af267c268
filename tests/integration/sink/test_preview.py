"""`connect-dagster preview`: what a sink gets of records, what fails and what transforms leave out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.sink.kafka_topics import Topics
from tests.integration.worker_process import COMMON_DEFAULTS, QUICK_JVM, write_properties

COMMAND = Path(sys.executable).with_name("connect-dagster")
CHAIN = {
    "connector.class": "FileStreamSink",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "transforms": "drop,mark,route",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "empty",
    "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.mark.static.field": "from",
    "transforms.mark.static.value": "${env:PREVIEWED}",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": ".*",
    "transforms.route.replacement": "routed",
    "predicates": "empty",
    "predicates.empty.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}


class Preview:
    """Runs the command with the files of a worker and of a sink."""

    def __init__(self, folder: Path, topics: Topics) -> None:
        environment = {"config.providers": "env", "config.providers.env.class": "EnvVarConfigProvider"}
        worker = {"bootstrap.servers": topics.bootstrap, **COMMON_DEFAULTS, **environment, **QUICK_JVM}
        self.worker = write_properties(folder / "worker.properties", worker)
        self.folder = folder

    def __call__(self, config: dict[str, str], *words: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
        """Run it; answers the lines on its output, and the other output."""
        file = write_properties(self.folder / "sink.properties", {"name": "sink", "file": "/nowhere/out", **config})
        ran = subprocess.run(
            [COMMAND, "preview", self.worker, file, *words],
            env=os.environ | {"PREVIEWED": "kafka"},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return [json.loads(line) for line in ran.stdout.splitlines()], ran.stderr


@pytest.fixture
def preview(tmp_path: Path, topics: Topics) -> Preview:
    return Preview(tmp_path, topics)


def test_each_record_is_put_fails_or_is_dropped(preview: Preview, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(topic_prefix)
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    values = [b'{"n": 1, "x": 0.5}', None, b"no JSON", b'"text alone"', b'{"n": [2, null]}', b'{"n": 3}']
    for number, value in enumerate(values):
        headers: list[tuple[str, str | bytes | None]] = [("h", b"7")]
        producer.produce(topic, value, f"k{number}", timestamp=1_700_000_000_000 + number, headers=headers)
    assert producer.flush(20) == 0

    lines, told = preview({**CHAIN, "topics": topic}, "--max-messages", "5", code=1)

    assert [(line["outcome"], line["topic"], line["partition"], line["offset"]) for line in lines] == [
        ("put", "routed", 0, 0),
        ("dropped", topic, 0, 1),
        ("failed", topic, 0, 2),
        ("failed", topic, 0, 3),
        ("put", "routed", 0, 4),
    ]
    assert lines[0] == {
        "outcome": "put",
        "topic": "routed",
        "partition": 0,
        "offset": 0,
        "timestamp": 1_700_000_000_000,
        "key": "k0",
        "value": {"n": 1, "x": 0.5, "from": "kafka"},
        "headers": [{"key": "h", "value": 7}],
    }
    assert lines[4]["value"] == {"n": [2, None], "from": "kafka"}
    converter, transform = lines[2:4]
    assert (converter["stage"], converter["class"]) == (
        "VALUE_CONVERTER",
        "org.apache.kafka.connect.json.JsonConverter",
    )
    assert transform["stage"] == "TRANSFORMATION"
    assert transform["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert "Only Map objects supported in absence of schema" in transform["message"]
    assert told.splitlines()[-1] == (
        "2 for the sink, 1 dropped, 2 failed: the task would fail at the first (errors.tolerance)"
    )
    assert topics.admin.list_consumer_groups().result(20).valid is not None
    assert "connect-sink" not in {one.group_id for one in topics.admin.list_consumer_groups().result(20).valid}


STRINGS = {f"{side}.converter": "org.apache.kafka.connect.storage.StringConverter" for side in ("key", "value")}


@pytest.mark.nightly
def test_a_single_record_with_its_schemas(preview: Preview, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(topic_prefix)
    topics.write(topic, ["zero", "one", "two"])
    lines, told = preview(
        {"connector.class": "FileStreamSink", "topics.regex": f"{topic}.*", **STRINGS},
        *("--partition", "0", "--offset", "1", "--schemas", "--max-messages", "1"),
    )
    assert [(line["value"], line["key_schema"], line["value_schema"]) for line in lines] == [
        ("one", {"type": "string", "optional": True}, {"type": "string", "optional": True})
    ]
    assert told.splitlines()[-1] == "1 for the sink, 0 dropped, 0 failed"


@pytest.mark.nightly
def test_what_cannot_be_previewed_is_one_sentence(preview: Preview, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(topic_prefix)
    sink = {"connector.class": "FileStreamSink", "topics": topic}

    def error(config: dict[str, str], *words: str) -> str:
        return preview(config, *words, code=2)[1].splitlines()[-1]

    assert error(sink) == f"Error: No record of {topic} is there to be read."
    assert error({**sink, "topics": "none"}) == "Error: Topic 'none' does not exist."
    assert error(sink, "--offset", "5") == "Error: --offset needs --partition: offsets count within a partition."
    regex = {"connector.class": "FileStreamSink", "topics.regex": "none.*"}
    assert error(regex) == "Error: No topic matches topics.regex=none.*: correct it, or name a --topic."
    source = {"connector.class": "FileStreamSource", "topic": topic}
    assert error(source, "--topic", topic).endswith(" is a source: --topic, --partition and --offset are for sinks.")
    assert "Class connect.Unknown could not be found" in "".join(
        preview({**sink, "transforms": "a", "transforms.a.type": "connect.Unknown"}, code=2)[1]
    )
