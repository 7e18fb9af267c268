"""Batches of records of several partitions and schemas, and what is in the files of a folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.testing.contexts import CollectedMetrics
from connect_dagster.worker.sink.context import SinkContext

ORDER = Schema(
    SchemaType.STRUCT,
    fields=(SchemaField("id", Schema(SchemaType.INT64)), SchemaField("shop", Schema(SchemaType.STRING, optional=True))),
)


class Record(NamedTuple):
    """A record as Kafka has it."""

    offset: int
    value: Any
    time: int = 0
    partition: int = 0
    topic: str = "orders"


def task_context(
    spark: SparkSession, *places: TopicPartition, reporter: ErrantRecordReporter | None = None
) -> SinkContext:
    """Return the worker's context of a task with these partitions."""
    context = SinkContext(spark, dict, CollectedMetrics(), errant_record_reporter=reporter)
    context.assigned(frozenset(places))
    return context


def frame(spark: SparkSession, records: Sequence[Record], schema: Schema | None = ORDER) -> SinkFrame:
    """Return a frame of records."""
    fields = {
        "topic": spark_types.StringType(),
        "partition": spark_types.IntegerType(),
        "offset": spark_types.LongType(),
        "timestamp": spark_types.LongType(),
        "key": spark_types.StringType(),
        "value": spark_types.StringType() if schema is None else schema.to_spark(),
    }
    rows = [
        (
            one.topic,
            one.partition,
            one.offset,
            one.time,
            f"key {one.offset}",
            json.dumps(one.value) if schema is None and one.value is not None else one.value,
        )
        for one in records
    ]
    row_type = spark_types.StructType([spark_types.StructField(name, kind) for name, kind in fields.items()])
    return SinkFrame(spark.createDataFrame(rows, row_type), schema, STRING_SCHEMA)


def orders(*offsets: int, partition: int = 0, time: int = 1000, shop: str | None = "a") -> list[Record]:
    """Return records whose ids are their offsets, and whose times are as many times as long after 1970."""
    return [Record(one, {"id": one, "shop": shop}, one * time, partition) for one in offsets]


def batch(spark: SparkSession, records: Sequence[Record], schema: Schema | None = ORDER) -> SinkBatch:
    """Return a batch of one frame."""
    return SinkBatch((frame(spark, records, schema),))


def files(folder: Path) -> list[str]:
    """Return the paths of all files below a folder, hidden ones included."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def lines(folder: Path) -> Mapping[str, list[Any]]:
    """Return the JSON lines of each file below a folder."""
    return {name: [json.loads(line) for line in (folder / name).read_text().splitlines()] for name in files(folder)}
