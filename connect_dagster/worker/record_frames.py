"""Makes record frames of polled records: lists of records become Arrow tables."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from connect_dagster.errors import DataError
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.record_values import fitting

Polled = Sequence[SourceFrame] | Sequence[SourceRecord] | SourceFrame | None

_HEADERS = spark_types.ArrayType(
    spark_types.StructType(
        [
            spark_types.StructField("key", spark_types.StringType()),
            spark_types.StructField("value", spark_types.BinaryType()),
        ]
    )
)


def to_frames(spark: SparkSession, polled: Polled, headers: HeaderConverter) -> list[SourceFrame]:
    """Return the frames of a result of ``SourceTask.poll``; consecutive records of equal schemas share a frame.

    Args:
        spark: the worker's session.
        polled: the result.
        headers: encodes the headers of single records.

    Raises:
        DataError: a value that does not fit its schema.
    """
    if polled is None:
        return []
    if isinstance(polled, SourceFrame):
        return [polled]
    if all(isinstance(item, SourceFrame) for item in polled):
        return list(cast("Sequence[SourceFrame]", polled))
    records = cast("Sequence[SourceRecord]", polled)
    runs = itertools.groupby(records, key=lambda record: (record.key_schema, record.value_schema))
    return [_frame(spark, list(run), headers, *schemas) for schemas, run in runs]


def halves(rows: pa.Table) -> list[pa.Table]:
    """Return the two halves of a table; none of a single row."""
    middle = rows.num_rows // 2
    if not middle:
        return []
    # Copied: Spark does not take slices of nested columns.
    return [rows.take(pa.array(part, pa.int64())) for part in (range(middle), range(middle, rows.num_rows))]


def _frame(
    spark: SparkSession,
    records: list[SourceRecord],
    headers: HeaderConverter,
    key_schema: Schema | None,
    value_schema: Schema | None,
) -> SourceFrame:
    fields: dict[str, tuple[spark_types.DataType, list[Any]]] = {
        "topic": (spark_types.StringType(), [record.topic for record in records]),
        "partition": (spark_types.IntegerType(), [record.partition for record in records]),
        "key": (_type(key_schema), [_value(record.key, key_schema) for record in records]),
        "value": (_type(value_schema), [_value(record.value, value_schema) for record in records]),
        "headers": (
            _HEADERS,
            [
                [{"key": h.key, "value": headers.to_bytes(h.schema, h.value)} for h in record.headers]
                for record in records
            ],
        ),
        "timestamp": (spark_types.LongType(), [record.timestamp for record in records]),
    }
    # A null key with a schema is written all the same: converters put the schema into the record.
    always = {"topic", "value"} | ({"key"} if key_schema is not None else set())
    kept = {name: column for name, column in fields.items() if name in always or _any(column[1])}
    latest = {repr(sorted(r.source_partition.items())): (r.source_partition, r.source_offset) for r in records}
    (partition, offset), *others = latest.values()
    return SourceFrame(
        df=spark.createDataFrame(_table(kept)),
        source_partition=partition,
        source_offset=offset,
        other_offsets=tuple(others),
        value_schema=value_schema,
        key_schema=key_schema,
    )


def _any(values: list[Any]) -> bool:
    return any(value is not None and value != [] for value in values)


def _table(columns: dict[str, tuple[spark_types.DataType, list[Any]]]) -> pa.Table:
    schema = spark_types.StructType([spark_types.StructField(name, type_) for name, (type_, _) in columns.items()])
    arrow = to_arrow_schema(schema)
    try:
        return pa.Table.from_pydict({name: values for name, (_, values) in columns.items()}, schema=arrow)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"A record does not fit its schema: {error}") from error


def _type(schema: Schema | None) -> spark_types.DataType:
    return spark_types.StringType() if schema is None else schema.to_spark()


def _value(value: Any, schema: Schema | None) -> Any:
    if schema is not None:
        return fitting(value, schema)
    try:
        return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"A value without schema must be what JSON knows: {error}: {value!r}") from error
