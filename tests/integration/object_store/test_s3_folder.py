"""The S3 sink's formats, in a folder: what Confluent's connector writes of the same records."""

import datetime as dt
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import fastavro
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from connect_dagster.connectors.object_store.s3_sink import S3SinkTask
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import (
    BYTES_SCHEMA,
    DATE,
    DECIMAL,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIME,
    TIMESTAMP,
    Schema,
    SchemaField,
    SchemaType,
)
from connect_dagster.testing.contexts import CollectedReports
from tests.integration.object_store.file_batches import Record, batch, files, orders, task_context

PLACE = TopicPartition("orders", 0)
ROOT = "lake/topics/orders/partition=0/orders+0+000000000"
FORMATS = "io.confluent.connect.s3.format"


@contextmanager
def started(
    spark: SparkSession,
    folder: Path,
    format: str,
    options: Mapping[str, str] | None = None,
    reporter: ErrantRecordReporter | None = None,
) -> Iterator[S3SinkTask]:
    """A task of one partition, whose files have two records."""
    task = S3SinkTask()
    task.context = task_context(spark, PLACE, reporter=reporter)
    config = {
        "name": "s",
        "topics": "orders",
        "s3.bucket.name": "lake",
        "store.url": folder.as_uri(),
        "format.class": f"{FORMATS}.{format}",
        "flush.size": "2",
    }
    task.start({**config, **(options or {})})
    try:
        task.open([PLACE])
        yield task
    finally:
        task.close([PLACE])
        task.stop()


def of(name: str, schema: Schema) -> SchemaField:
    return SchemaField(name, schema)


def logical(kind: SchemaType, name: str, **parameters: str) -> Schema:
    return Schema(kind, True, name, 1, parameters=tuple(parameters.items()))


ROW = Schema(
    SchemaType.STRUCT,
    fields=(
        of("text", OPTIONAL_STRING_SCHEMA),
        of("bytes", BYTES_SCHEMA),
        of("price", logical(SchemaType.BYTES, DECIMAL, scale="2")),
        of("day", logical(SchemaType.INT32, DATE)),
        of("time", logical(SchemaType.INT32, TIME)),
        of("at", logical(SchemaType.INT64, TIMESTAMP)),
        of("tags", Schema(SchemaType.ARRAY, value_schema=STRING_SCHEMA)),
        of("days", Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=logical(SchemaType.INT32, DATE))),
    ),
)
DAY = dt.date(1970, 1, 11)
AT = dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, dt.UTC)
ROWS = [
    Record(0, (None, b"\x00\xff", Decimal("1.50"), DAY, 7, AT, ["a", "b"], {"x": DAY})),
    Record(1, ("é", b"", None, None, None, None, [], {})),
]


def test_json(spark: SparkSession, tmp_path: Path) -> None:
    """As JsonConverter without schemas writes: null fields, base64, days and milliseconds."""
    with started(spark, tmp_path, "json.JsonFormat") as task:
        task.put(batch(spark, ROWS, ROW))
        assert task.pre_commit({PLACE: 2}) == {PLACE: 2}
    assert (tmp_path / f"{ROOT}0.json").read_text() == (
        '{"text":null,"bytes":"AP8=","price":"AJY=","day":10,"time":7,"at":1500,"tags":["a","b"],"days":{"x":10}}\n'
        '{"text":"é","bytes":"","price":null,"day":null,"time":null,"at":null,"tags":[],"days":{}}\n'
    )


def test_json_with_numeric_decimals_compressed(spark: SparkSession, tmp_path: Path) -> None:
    options = {"json.decimal.format": "numeric", "s3.compression.type": "gzip"}
    with started(spark, tmp_path, "json.JsonFormat", options) as task:
        task.put(batch(spark, ROWS, ROW))
    lines = gzip.decompress((tmp_path / f"{ROOT}0.json.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["price"] for line in lines] == [1.5, None]


@pytest.mark.parametrize(
    ("schema", "values", "lines"),
    [
        (STRING_SCHEMA, ['say "a"', ""], ['"say \\"a\\""', '""']),
        (Schema(SchemaType.INT64), [1, -2], ["1", "-2"]),
        (None, [{"a": [1, None]}, "x"], ['{"a": [1, null]}', '"x"']),
    ],
)
def test_json_of_other_values(
    spark: SparkSession, tmp_path: Path, schema: Schema | None, values: Sequence[object], lines: list[str]
) -> None:
    with started(spark, tmp_path, "json.JsonFormat") as task:
        task.put(batch(spark, [Record(offset, value) for offset, value in enumerate(values)], schema))
    assert (tmp_path / f"{ROOT}0.json").read_text().splitlines() == lines


def test_bytes(spark: SparkSession, tmp_path: Path) -> None:
    options = {"format.bytearray.separator": "\\n--", "format.bytearray.extension": ".raw"}
    with started(spark, tmp_path, "bytearray.ByteArrayFormat", options) as task:
        task.put(batch(spark, [Record(0, b"\xff\x00\xfe"), Record(1, b"b")], BYTES_SCHEMA))
    assert (tmp_path / f"{ROOT}0.raw").read_bytes() == b"\xff\x00\xfe\n--b\n--"
    with (
        started(spark, tmp_path, "bytearray.ByteArrayFormat") as task,
        pytest.raises(ConnectError, match="ByteArrayFormat writes bytes, and the values are struct"),
    ):
        task.put(batch(spark, orders(0)))


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    with started(spark, tmp_path, "parquet.ParquetFormat", {"parquet.codec": "gzip"}) as task:
        task.put(batch(spark, ROWS, ROW))
    first, _ = pq.read_table(tmp_path / f"{ROOT}0.gz.parquet").to_pylist()
    assert (first["price"], first["day"], first["at"], first["tags"]) == (Decimal("1.50"), DAY, AT, ["a", "b"])


def test_avro(spark: SparkSession, tmp_path: Path) -> None:
    with started(spark, tmp_path, "avro.AvroFormat", {"avro.codec": "deflate"}) as task:
        task.put(batch(spark, ROWS, ROW))
    with (tmp_path / f"{ROOT}0.avro").open("rb") as file:
        reader = fastavro.reader(file)
        first, second = cast("list[dict[str, Any]]", list(reader))
    assert reader.codec == "deflate"
    assert (first["price"], first["day"], first["at"], second["text"]) == (Decimal("1.50"), DAY, AT, "é")


def test_records_without_a_value(spark: SparkSession, tmp_path: Path) -> None:
    records = [*orders(0), Record(1, None), *orders(2)]
    with (
        started(spark, tmp_path, "json.JsonFormat") as task,
        pytest.raises(ConnectError, match=r"behavior.on.null.values 'settings': orders-0@1 has no value"),
    ):
        task.put(batch(spark, records))
    reports = CollectedReports()
    ignore = {"behavior.on.null.values": "ignore"}
    with started(spark, tmp_path, "json.JsonFormat", ignore, reports) as task:
        task.put(batch(spark, records))
    assert files(tmp_path) == [f"{ROOT}0.json"]
    assert [offset for _, _, offset, _ in reports.reported] == [1]
