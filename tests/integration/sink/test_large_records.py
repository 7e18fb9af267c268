"""Batches of large records, which are bounded in bytes, and of small ones behind them."""

import hashlib
import json
import logging
from pathlib import Path

import pytest

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.spark_tables import rows

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
LARGE, SMALL = 260, 12_000
LARGE_BYTES = 300_000
FIELDS = [{"field": "id", "type": "int64"}, {"field": "text", "type": "string"}]
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}


def text(number: int) -> str:
    return f"{number:07d}" * (LARGE_BYTES // 7 if number < LARGE else 1)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("converter", "others"),
    [
        pytest.param(STRING, {}, id="string"),
        pytest.param(JSON, {}, id="json"),
        pytest.param(JSON, TOLERANT, id="tolerant", marks=pytest.mark.nightly),
    ],
)
def test_large_records_come_in_small_batches(
    start_sink: StartSink,
    topics: Topics,
    topic_prefix: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    converter: str,
    others: dict[str, str],
) -> None:
    """Failed at ce718d3: a batch was held whatever its bytes, until the JVM ended."""
    caplog.set_level(logging.INFO)
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    enveloped = '{"schema": {"type": "string", "optional": true}, "payload": "%s"}' if converter == JSON else "%s"
    for partition in range(2):
        topics.write(topic, (enveloped % text(number) for number in range(partition, LARGE + SMALL, 2)), partition)
    file = tmp_path / "sink.txt"
    config = {"connector.class": "FileStreamSink", "file": str(file), "topics": topic, "value.converter": converter}
    sink = start_sink({**config, **others})
    topics.await_committed(sink.group, topic, dict.fromkeys(range(2), (LARGE + SMALL) // 2), 90)
    found = sorted(map(digest, file.read_text().splitlines()))
    assert found == sorted(digest(text(number)) for number in range(LARGE + SMALL))
    assert "reading again in batches of at most" in caplog.text
    # The counts of records are Spark's, of what has been read and was put.
    assert sink.task().progress.total == LARGE + SMALL


@pytest.mark.nightly
def test_a_plan_that_writes_by_itself_is_bounded_too(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    topic = topics.create(f"{topic_prefix}t")
    schema = {"type": "struct", "fields": FIELDS}
    records = ({"schema": schema, "payload": {"id": number, "text": text(number)}} for number in range(LARGE + 100))
    topics.write(topic, map(json.dumps, records))
    folder = tmp_path / "table"
    config = {"connector.class": "SparkSink", "format": "parquet", "options.path": str(folder), "topics": topic}
    sink = start_sink({**config, "value.converter": JSON})
    topics.await_committed(sink.group, topic, {0: LARGE + 100}, 90)
    assert [row["id"] for row in rows(folder)] == list(range(LARGE + 100))
    assert "reading again in batches of at most" in caplog.text
