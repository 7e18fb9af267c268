"""Frames of change events, and the records that a transform makes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark_types

from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import RecordFrame, SinkFrame, SourceFrame
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.frames import WorkerSinkFrame, WorkerSourceFrame
from connect_dagster.worker.transforms import TransformationStage, apply_chain
from tests.unit.transforms.debezium.change_events import ENVELOPE, KEY

TOPIC = "shop.ops.goods"
SOURCE_FIELDS = {"name": "shop", "ts_ms": 1000, "snapshot": None, "db": "ops", "table": "goods", "pos": 7}
Headers = Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Event:
    """A record of a frame, in Python's terms.

    Attributes:
        value: a struct's fields, text, or null.
        key: the same.
        headers: texts by their names.
    """

    value: Any
    key: Any = None
    headers: Headers = ()
    topic: str = TOPIC


@dataclass(frozen=True)
class Made:
    """A record after a transform, with the schemas of its frame.

    Attributes:
        failed: message of its failure.
        timestamp: and partition, in milliseconds and as a number, where the frame has them.
    """

    value: Any
    key: Any
    value_schema: Schema | None
    key_schema: Schema | None
    topic: str | None
    headers: Headers = ()
    failed: str | None = None
    timestamp: int | None = None
    partition: int | None = None


def row(id: int, name: str | None = "x", color: str | None = None) -> dict[str, Any]:
    """Return a row of the table of `change_events`."""
    return {"id": id, "name": name, "color": color}


def change(op: str, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    """Return the value of a change event."""
    fields = {"before": before, "after": after, "source": SOURCE_FIELDS, "transaction": None, "op": op, "ts_ms": 2000}
    return {**fields, **more}


def changes() -> list[Event]:
    """Return an insert, an update, a delete with its tombstone, and a truncate."""
    return [
        Event(change("c", None, row(1)), {"id": 1}),
        Event(change("u", row(1), row(1, "y")), {"id": 1}),
        Event(change("d", row(1, "y")), {"id": 1}),
        Event(None, {"id": 1}),
        Event(change("t"), None),
        Event(change("r", None, row(2, None, "blue")), {"id": 2}),
    ]


def source(
    spark: SparkSession,
    events: Sequence[Event],
    value_schema: Schema | None = ENVELOPE,
    key_schema: Schema | None = KEY,
) -> SourceFrame:
    """Return events of one topic on their way to Kafka."""
    df = _df(spark, events, value_schema, key_schema).drop("topic")
    return WorkerSourceFrame(
        df,
        {},
        {},
        topic=events[0].topic,
        value_schema=value_schema,
        key_schema=key_schema,
        header_converter=_header_converter(),
    )


def sink(
    spark: SparkSession,
    events: Sequence[Event],
    value_schema: Schema | None = ENVELOPE,
    key_schema: Schema | None = KEY,
) -> SinkFrame:
    """Return events from Kafka."""
    df = _df(spark, events, value_schema, key_schema).withColumns(
        {"partition": F.lit(0), "offset": F.col(ROW), "timestamp": F.lit(5).cast("long")}
    )
    return WorkerSinkFrame(df, value_schema, key_schema, header_converter=_header_converter())


def made(transform: Transform, config: Mapping[str, str], frame: RecordFrame) -> list[Made]:
    """Return the records after a transform, in their order."""
    transform.configure(config)
    parts = apply_chain([TransformationStage("t", transform)], frame)
    found = [(one[ROW], _made(one, part)) for part in parts for one in part.df.collect()]
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def values(records: Sequence[Made]) -> list[Any]:
    """Return the values of the records."""
    return [record.value for record in records]


def _header_converter() -> SimpleHeaderConverter:
    converter = SimpleHeaderConverter()
    converter.configure_headers({})
    return converter


def _df(spark: SparkSession, events: Sequence[Event], value: Schema | None, key: Schema | None) -> DataFrame:
    columns = spark_types.StructType(
        [
            spark_types.StructField(ROW, spark_types.LongType(), False),
            spark_types.StructField("topic", spark_types.StringType()),
            spark_types.StructField("key", _type(key)),
            spark_types.StructField("value", _type(value)),
            spark_types.StructField(
                "headers",
                spark_types.ArrayType(
                    spark_types.StructType(
                        [
                            spark_types.StructField("key", spark_types.StringType()),
                            spark_types.StructField("value", spark_types.BinaryType()),
                        ]
                    )
                ),
            ),
        ]
    )
    rows = [
        (
            number,
            event.topic,
            event.key,
            event.value,
            [(name, None if text is None else bytearray(text.encode())) for name, text in event.headers],
        )
        for number, event in enumerate(events)
    ]
    return spark.createDataFrame(rows, columns).coalesce(1).localCheckpoint()


def _type(schema: Schema | None) -> spark_types.DataType:
    return spark_types.StringType() if schema is None else schema.to_spark()


def _made(one: Row, frame: RecordFrame) -> Made:
    fields = one.asDict(recursive=True)
    failure = fields.get(FAILURE)
    topic = fields["topic"] if frame.has("topic") else getattr(frame, "topic", None)
    return Made(
        value=fields["value"],
        key=fields["key"],
        value_schema=frame.value_schema,
        key_schema=frame.key_schema,
        topic=topic,
        headers=tuple((part["key"], _text(part["value"])) for part in fields["headers"] or ()),
        failed=None if failure is None else failure["message"],
        timestamp=fields.get("timestamp"),
        partition=fields.get("partition"),
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).decode()


def optional(schema: Schema) -> Schema:
    """Return the schema with nulls allowed."""
    return replace(schema, optional=True)
