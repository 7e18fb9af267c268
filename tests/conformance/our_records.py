"""Our transforms over the records that Java's get: read from envelopes, changed in frames, written as envelopes."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json import text as json_text
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Converter, Predicate, Transform
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import SinkFrame, SourceFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.frames import WorkerSinkFrame, WorkerSourceFrame
from connect_dagster.worker.transforms import TransformationStage, apply_chain
from tests.conformance.java_records import Failed, Record

_COLUMNS = (
    f"{ROW} long, topic string, partition int, timestamp long, offset long, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)

AnyFrame = SourceFrame | SinkFrame


class EnvelopeHeaders(HeaderConverter):
    """Headers as envelopes, which tests compare with Java's."""

    config_def = ConfigDef

    def configure_headers(self, config: Mapping[str, str]) -> None: ...

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        return envelopes().encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        payload = json_text.dumps(json_envelope.value_to_json(schema, value) if schema else value)
        return f'{{"schema":{json_envelope.schema_text(schema)},"payload":{payload}}}'.encode()

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        raise NotImplementedError


def envelopes() -> JsonConverter:
    """The converter that reads and writes the envelopes of these tests."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, is_key=False)
    return converter


def transformed(spark: SparkSession, transform: Transform, records: Sequence[Record]) -> list[Record | Failed | None]:
    """Each record after a configured transform; ``None`` where it was dropped."""
    return transformed_frames(list(frames(spark, records)), transform, records)


def transformed_frames(
    frames: Sequence[AnyFrame], transform: Transform, records: Sequence[Record]
) -> list[Record | Failed | None]:
    """Likewise, of records whose frames were made before."""
    answers: list[Record | Failed | None] = [None] * len(records)
    written: list[DataFrame] = []
    for frame in frames:
        try:
            written += map(_written, apply_chain([TransformationStage("t", transform)], frame))
        except ConnectError as error:
            for row in frame.df.select(ROW).collect():
                answers[row[ROW]] = Failed(error.java_name, str(error))
    if written:
        for row in functools.reduce(DataFrame.unionByName, written).collect():
            answers[row[ROW]] = _answer(row, records[row[ROW]])
    return answers


def tested(spark: SparkSession, predicate: Predicate, records: Sequence[Record]) -> list[bool]:
    """What a configured predicate says of each record."""
    answers: dict[int, bool] = {}
    for frame in frames(spark, records):
        answers |= {row[ROW]: row.holds for row in frame.df.select(ROW, predicate.test(frame).alias("holds")).collect()}
    return [answers[i] for i in range(len(records))]


def frames(spark: SparkSession, records: Sequence[Record]) -> Iterator[AnyFrame]:
    """Frames of the records, one for each pair of schemas; sources and sinks apart."""
    rows = [
        (i, one.topic, one.partition, one.timestamp, one.offset, one.key, one.value, list(one.headers))
        for i, one in enumerate(records)
    ]
    df = spark.createDataFrame(rows, _COLUMNS).localCheckpoint()
    for is_sink in (False, True):
        part = df.where(F.col("offset").isNotNull() == F.lit(is_sink))
        if not part.isEmpty():
            yield from _frames(part, is_sink=is_sink)


def _frames(df: DataFrame, *, is_sink: bool) -> Iterator[AnyFrame]:
    for key in envelopes().decoders(df, "key"):
        for value in envelopes().decoders(df, "value"):
            matching = [one.matches for one in (key, value) if one.matches is not None]
            rows = df
            for condition in matching:
                rows = rows.where(condition)
            if rows.isEmpty():
                continue
            read = rows.withColumns({"key": key.value, "value": value.value}).localCheckpoint()
            if is_sink:
                yield WorkerSinkFrame(read, value.schema, key.schema, header_converter=EnvelopeHeaders())
            else:
                source = read.drop("offset")
                yield WorkerSourceFrame(
                    source, {}, {}, value_schema=value.schema, key_schema=key.schema, header_converter=EnvelopeHeaders()
                )


def _written(frame: AnyFrame) -> DataFrame:
    converter: Converter = envelopes()
    failure = F.col(FAILURE) if frame.has(FAILURE) else F.lit(None)

    def bytes_of(schema: Schema | None, name: str) -> Column:
        return F.when(failure.isNull(), converter.encode(schema, frame.column(name))).alias(name)

    return frame.df.select(
        ROW,
        frame.column("topic").alias("topic"),
        frame.column("partition").alias("partition"),
        frame.column("timestamp").alias("timestamp"),
        frame.column("headers").alias("headers"),
        bytes_of(frame.key_schema, "key"),
        bytes_of(frame.value_schema, "value"),
        failure.alias("failure"),
    )


def _answer(row: Row, before: Record) -> Record | Failed:
    if row.failure is not None:
        return Failed(row.failure.exception, row.failure.message)
    return Record(
        value=None if row.value is None else bytes(row.value),
        key=None if row.key is None else bytes(row.key),
        topic=row.topic,
        partition=row.partition,
        timestamp=row.timestamp,
        offset=before.offset,
        headers=tuple((one.key, None if one.value is None else bytes(one.value)) for one in row.headers or ()),
    )
