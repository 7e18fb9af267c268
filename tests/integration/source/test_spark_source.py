"""SparkSource: what Spark reads as a stream arrives in a topic, once, also from one task to the next."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from connect_dagster.connectors.spark.source import SparkSourceTask
from connect_dagster.connectors.spark.source_query import OwnCheckpoint, SourceQuery
from connect_dagster.testing.contexts import source_context
from tests.integration.source.conftest import SourceWorker

PLAIN = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


def parsed(worker: SourceWorker, topic: str, count: int) -> list[dict[str, Any]]:
    return [json.loads(value) for value in worker.values(topic, count)]


@pytest.mark.timeout(600)
def test_micro_batches_whose_offset_tells_the_place(worker: SourceWorker, topic_prefix: str) -> None:
    name = topic = f"{topic_prefix}rate"
    worker.create(
        name,
        {
            "connector.class": "SparkSource",
            "format": "rate-micro-batch",
            "options.rowsPerBatch": "10",
            "options.numPartitions": "1",
            "options.startTimestamp": "1000",
            "options.advanceMillisPerBatch": "5",
            "trigger.interval.ms": "500",
            "topic": topic,
            "key.columns": "value",
            "timestamp.column": "timestamp",
            **PLAIN,
        },
    )
    first = parsed(worker, topic, 30)
    assert [row["value"] for row in first] == list(range(30))
    assert [row["timestamp"] for row in first[::10]] == [1000, 1005, 1010]
    # The worker's next task begins with a checkpoint made of Connect's offset.
    worker.process.wait_until(lambda: bool(worker.offsets(name)), "commit an offset", 60)
    assert worker.process.call("PUT", f"/connectors/{name}/stop").status == 204
    worker.process.wait_states(name, "STOPPED")
    (stored,) = worker.offsets(name)
    assert stored["partition"] == {"format": "rate-micro-batch", "topic": topic}
    sent = worker.size(topic)
    assert worker.process.call("PUT", f"/connectors/{name}/resume").status == 202
    worker.process.wait_until(lambda: worker.size(topic) >= sent + 20, "go on", 60)
    assert worker.process.call("DELETE", f"/connectors/{name}").status == 204
    values = [row["value"] for row in parsed(worker, topic, sent + 20)]
    assert values == list(range(sent + 20))


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_files_with_a_checkpoint_that_lasts(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    name = topic = f"{topic_prefix}files"
    folder = tmp_path / "orders"
    folder.mkdir()
    config = {
        "connector.class": "SparkSource",
        "format": "parquet",
        "options.path": str(folder),
        "schema": "id BIGINT, name STRING, tags ARRAY<STRING>, price DECIMAL(10,2)",
        "topic": topic,
        **PLAIN,
    }
    answer = worker.process.call("PUT", f"/connectors/{name}/config", {"name": name, **config})
    assert answer.status == 400
    assert "Invalid value null for configuration checkpoint.location: What the format parquet has" in answer.message
    config["checkpoint.location"] = str(tmp_path / "checkpoint")
    write(folder / "1.parquet", [1, 2])
    worker.create(name, config)
    assert parsed(worker, topic, 2)[1] == {"id": 2, "name": "n2", "tags": ["a", "b"], "price": "AMg="}
    assert worker.process.call("POST", f"/connectors/{name}/restart?includeTasks=true").status == 202
    write(folder / "2.parquet", [3])
    assert [row["id"] for row in parsed(worker, topic, 3)] == [1, 2, 3]
    worker.process.call("PUT", f"/connectors/{name}/stop")
    worker.process.wait_states(name, "STOPPED")
    answer = worker.process.call("DELETE", f"/connectors/{name}/offsets")
    assert "(checkpoint.location), not in its offsets" in answer.message
    assert worker.process.call("DELETE", f"/connectors/{name}").status == 204
    assert worker.size(topic) == 3


def test_a_backlog_of_files_comes_in_batches(spark: SparkSession, tmp_path: Path) -> None:
    """Failed at ce718d3: all files were one batch."""
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text(f"{number}" * 4_000_000)
    config = {"format": "text", "options.path": str(tmp_path), "topic": "t"}
    task = SparkSourceTask()
    task.context = source_context(spark=spark)
    task.start({**config, "checkpoint.location": str(tmp_path / "checkpoint")})
    batches: list[int] = []
    try:
        while sum(batches) < 5:
            frame = task.poll()
            if frame is not None:
                batches.append(frame.df.count())
                task.delivered(frame)
    finally:
        task.stop()
    assert len(batches) > 1
    assert max(batches) <= 2


def test_two_sources_of_one_topic_run_together(spark: SparkSession) -> None:
    config = {"format": "rate-micro-batch", "options.rowsPerBatch": "1", "topic": "t"}
    tasks = [SparkSourceTask(), SparkSourceTask()]
    for task in tasks:
        task.context = source_context(spark=spark)
        task.start(config)
    for task in tasks:
        task.stop()
    checkpoint = OwnCheckpoint(None)
    with pytest.raises(AnalysisException):
        SourceQuery(spark.readStream.format("rate").load().groupBy("value").count(), checkpoint, 100)
    assert not Path(checkpoint.location).exists()


def write(file: Path, ids: list[int]) -> None:
    prices = pa.array([None if one % 2 else Decimal(one) for one in ids], pa.decimal128(10, 2))
    columns = {"id": ids, "name": [f"n{one}" for one in ids], "tags": [["a", "b"]] * len(ids), "price": prices}
    hidden = file.with_name(f".{file.name}")
    pq.write_table(pa.table(columns), hidden)
    hidden.rename(file)
