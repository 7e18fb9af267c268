"""The records of a sink in bytes, as reports of failures show them.

Those of a batch, that failed or at some offsets, are read as they are in Kafka; others are encoded with the connector's
converters, in the direction of a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.frame_columns import FAILURE, RAW_RECORD
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.records import SinkRecord, SourceRecord
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.errors.failures import FailedRecord, Failure, RawRecord
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.record_frames import tables_of
from connect_dagster.worker.sink.pipeline import raw_record_column

Offsets = tuple[int, int]
"""Partition and offset of a record."""
_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}


def failed_records(batch: SinkBatch, tolerance: ToleranceOperator | None, *, first: bool) -> list[FailedRecord]:
    """Return the records that failed, by partition and offset.

    Args:
        batch: planned with failures as data, and raw records.
        tolerance: has the exceptions of records that failed with their frame.
        first: whether the first of each frame is enough.
    """
    found = [one for frame in batch for one in _failed(frame, tolerance, first)]
    return sorted(found, key=lambda one: (one.record.topic or "", one.record.partition, one.record.offset))


def _failed(frame: SinkFrame, tolerance: ToleranceOperator | None, first: bool) -> list[FailedRecord]:
    if not frame.has(FAILURE) or not frame.has(RAW_RECORD):
        return []
    df = frame.df.where(F.col(FAILURE).isNotNull()).select(FAILURE, RAW_RECORD)
    return [_record(row, tolerance) for row in (df.limit(1) if first else df).toArrow().to_pylist()]


def _record(row: Mapping[str, Any], tolerance: ToleranceOperator | None) -> FailedRecord:
    failure = Failure.in_column(row[FAILURE])
    return FailedRecord(
        failure, _raw_record(row[RAW_RECORD]), None if tolerance is None else tolerance.cause_of(failure.message)
    )


def raw_records(df: DataFrame) -> list[RawRecord]:
    """Return records as Spark's source gives them."""
    column = raw_record_column(headers="headers" in df.columns)
    return [_raw_record(row[RAW_RECORD]) for row in df.select(column.alias(RAW_RECORD)).toArrow().to_pylist()]


def raw_records_at(spark: SparkSession, df: DataFrame, offsets: Iterable[Offsets]) -> dict[Offsets, list[RawRecord]]:
    """Return records by partition and offset; several for one where the batch has several topics.

    Args:
        spark: the worker's session.
        df: a batch as Spark's source gives it.
        offsets: of the records.
    """
    asked = sorted(set(offsets))
    table = pa.table(
        {
            "partition": pa.array([partition for partition, _ in asked], pa.int32()),
            "offset": pa.array([offset for _, offset in asked], pa.int64()),
        }
    )
    found: dict[Offsets, list[RawRecord]] = {}
    for one in raw_records(df.join(F.broadcast(spark.createDataFrame(table)), ["partition", "offset"], "left_semi")):
        assert one.partition is not None
        assert one.offset is not None
        found.setdefault((one.partition, one.offset), []).append(one)
    return found


def _raw_record(row: Mapping[str, Any]) -> RawRecord:
    kind = _TIMESTAMP_TYPES.get(row["timestampType"])
    return RawRecord(
        row["topic"],
        row["key"],
        row["value"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp=None if kind is None else row["timestamp"],
        timestamp_type=kind,
        headers=tuple((header["key"], header["value"]) for header in row.get("headers") or ()),
    )


class RecordEncoder:
    """The reverse converters of one sink task, for records that are not in the batch as they were read.

    Args:
        spark: the worker's session.
        key_converter: of the connector.
        value_converter: of the connector.
        header_converter: of the connector.
    """

    def __init__(
        self,
        spark: SparkSession,
        key_converter: Converter,
        value_converter: Converter,
        header_converter: HeaderConverter,
    ) -> None:
        self._spark = spark
        self._converters = {"key": key_converter, "value": value_converter}
        self._header_converter = header_converter

    def raw_record(self, record: SinkRecord) -> RawRecord:
        """Return the record in bytes, without key and value where a converter cannot write them.

        Raises:
            DataError: a value does not fit its schema, or a converter cannot write the schema.
        """
        (table,) = tables_of([_as_source_record(record)], self._header_converter)
        frame = table.frame(self._spark)
        schemas = {"key": frame.key_schema, "value": frame.value_schema}
        sides = {name: schema for name, schema in schemas.items() if frame.has(name)}
        encoded = {name: self._encoded(name, schema, record.topic) for name, schema in sides.items()}
        errors = [
            error
            for name, schema in sides.items()
            if (error := self._converters[name].encode_errors(schema, F.col(name))) is not None
        ]
        if errors:
            well = F.coalesce(*errors).isNull()
            encoded = {name: F.when(well, column) for name, column in encoded.items()}
        columns = [column.alias(name) for name, column in encoded.items()]
        (row,) = frame.df.select(*columns).toArrow().to_pylist()
        return RawRecord(
            record.topic,
            row.get("key"),
            row.get("value"),
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=None if record.timestamp is None else "CreateTime",
            headers=tuple((one.key, self._header_converter.to_bytes(one.schema, one.value)) for one in record.headers),
        )

    def _encoded(self, name: str, schema: Schema | None, topic: str) -> Column:
        converter, column = self._converters[name], F.col(name)
        return (
            converter.encode_for(topic, schema, column) if converter.needs_topic else converter.encode(schema, column)
        )


def _as_source_record(record: SinkRecord) -> SourceRecord:
    return SourceRecord(
        {}, {}, record.topic, record.value, record.value_schema, record.key, record.key_schema, record.partition
    )
