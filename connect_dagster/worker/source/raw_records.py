"""Encodes failed records of a source as they were polled: with the connector's converters, else as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.errors.failures import RawRecord
from connect_dagster.worker.errors.retry import RetryGivenUpError
from connect_dagster.worker.source.pipeline import SourcePipeline

Row = Mapping[str, Any]


def raw_records(
    spark: SparkSession, pipeline: SourcePipeline, frame: SourceFrame, rows: pa.Table | None, count: int
) -> list[RawRecord]:
    """Return records in bytes, in their order.

    Args:
        spark: the worker's session.
        pipeline: its converters.
        frame: as polled.
        rows: the records with the columns of the frame; ``None`` when the plan did not keep them.
        count: number of records.
    """
    if rows is None:
        return [_placed(RawRecord(frame.topic, None, None), frame)] * count
    encoded = _encoded(spark, pipeline, frame, rows)
    return [_raw_record(frame, row, made) for row, made in zip(rows.to_pylist(), encoded or [{}] * count, strict=True)]


def rejected_raw_record(polled: SourceBatch, record: Mapping[str, Any]) -> RawRecord:
    """Return a record that Kafka rejected, as it was sent: its polled form is no longer in memory.

    Args:
        polled: the batch of the record.
        record: as arguments of ``Producer.produce``.
    """
    raw = RawRecord(
        record.get("topic"),
        record.get("key"),
        record.get("value"),
        partition=record.get("partition"),
        timestamp=record.get("timestamp"),
        headers=tuple(record.get("headers") or ()),
    )
    return _placed(raw, polled)


def _placed(raw: RawRecord, polled: SourceBatch) -> RawRecord:
    partition, offset = _json(polled.source_partition), _json(polled.source_offset)
    return replace(raw, source_partition=partition, source_offset=offset)


def _raw_record(frame: SourceFrame, row: Row, made: Row) -> RawRecord:
    key, value = (
        made[name] if name in made else _as_json(row.get(name), schema)
        for name, schema in (("key", frame.key_schema), ("value", frame.value_schema))
    )
    raw = RawRecord(
        row.get("topic", frame.topic),
        key,
        value,
        partition=row.get("partition"),
        timestamp=row.get("timestamp"),
        headers=tuple((header["key"], header["value"]) for header in row.get("headers") or ()),
    )
    return _placed(raw, frame)


def _encoded(spark: SparkSession, pipeline: SourcePipeline, frame: SourceFrame, rows: pa.Table) -> Sequence[Row] | None:
    """Return bytes of keys and values, none for a record that the converters cannot write; ``None`` where all fail."""
    try:
        parts = [_bytes(spark, pipeline, frame, part) for part in _by_topic(pipeline, rows)]
    except RetryGivenUpError:
        raise
    except Exception:  # the record is reported for another reason: write it as JSON
        return None
    return [row for part in parts for row in part]


def _by_topic(pipeline: SourcePipeline, rows: pa.Table) -> Iterator[pa.Table]:
    if not pipeline.needs_topic or "topic" not in rows.column_names:
        yield rows
        return
    for number in range(rows.num_rows):
        yield rows.slice(number, 1)


def _bytes(spark: SparkSession, pipeline: SourcePipeline, frame: SourceFrame, rows: pa.Table) -> list[Row]:
    names = [name for name in ("key", "value") if name in rows.column_names]
    topics = pc.unique(rows.column("topic")).to_pylist() if "topic" in rows.column_names else [frame.topic]
    topic = topics[0] if len(topics) == 1 else None
    df = spark.createDataFrame(rows.select(names))
    table = pipeline.encode([replace(frame, df=df, topic=topic)]).toArrow()
    return [{name: row.get(name) for name in names} if row.get(FAILURE) is None else {} for row in table.to_pylist()]


def _as_json(value: Any, schema: Schema | None) -> bytes | None:
    if value is None:
        return None
    if schema is None:  # its text is JSON already
        return str(value).encode()
    return _json(value).encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
