"""Record frames: records as Spark DataFrames, the form in which data moves through a worker.

A frame has one key schema and one value schema. Records of several schemas are several frames.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.plugin.frame_columns import FAILURE, ORIGINAL_COORDINATES, ROW
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.records import Header, SinkRecord
from connect_dagster.plugin.schema import OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA, Schema

_PLACE = ("topic", "partition", "offset")

_OUTSIDE = ("TASK_POLL", "")


class RecordFrame:
    """The common part of source and sink frames: columns by name, and copies with other columns.

    Attributes:
        df: the records.
        key_schema: schema of ``key``; ``None`` for schemaless.
        value_schema: schema of ``value``.
    """

    __slots__ = ()
    df: DataFrame
    key_schema: Schema | None
    value_schema: Schema | None

    @property
    def header_converter(self) -> HeaderConverter | None:
        """Return the converter of the bytes in ``headers``; ``None`` outside a worker."""
        return None

    @property
    def stage(self) -> tuple[str, str]:
        """Return stage and class that a failure of a record names (Java: ``Stage``)."""
        return _OUTSIDE

    def has(self, name: str) -> bool:
        """Return whether ``df`` has this column."""
        return name in self.df.columns

    def column(self, name: str) -> Column:
        """Return a column by its name, also one that is constant."""
        return F.col(name) if self.has(name) else F.lit(None)

    def with_column(self, name: str, column: Column) -> Self:
        """Return the frame with a column replaced or added; ``key`` and ``value`` keep their schema."""
        return self._with(df=self.df.withColumn(name, column))

    def with_value(self, column: Column, schema: Schema | None) -> Self:
        """Return the frame with other values and their schema."""
        return self._with(df=self.df.withColumn("value", column), value_schema=schema)

    def with_key(self, column: Column, schema: Schema | None) -> Self:
        """Return the frame with other keys and their schema."""
        return self._with(df=self.df.withColumn("key", column), key_schema=schema)

    def where(self, condition: Column) -> Self:
        """Return the frame with the records for which the condition is true, and failed records."""
        return self.with_rows(self.df.where(self.or_failed(condition)))

    def with_rows(self, df: DataFrame) -> Self:
        """Return the frame with fewer records, more, or in another order; columns stay."""
        return self._with(df=df)

    def split(self, condition: Column) -> tuple[Self, Self]:
        """Return the records for which the condition is true, and the others: two frames that may get two schemas.

        A worker sends the records of both in the order that they have in this frame.
        """
        ordered = self if self.has(ROW) else self.with_column(ROW, F.monotonically_increasing_id())
        holds = F.coalesce(condition, F.lit(False))
        return ordered.with_rows(ordered.df.where(holds)), ordered.with_rows(ordered.df.where(~holds))

    def or_failed(self, condition: Column) -> Column:
        """Return the condition extended by failed records: a failed record that is dropped is never reported."""
        return condition | F.col(FAILURE).isNotNull() if self.has(FAILURE) else condition

    def fail_where(
        self, condition: Column, message: Column | str, exception: type[ConnectError] | str = DataError
    ) -> Self:
        """Return the frame whose records fail where the condition is true.

        ``errors.tolerance`` decides whether they are skipped or fail the task. Later stages still see them, so an
        expression over a frame must return null for an invalid value (``try_cast`` and the like) instead of raising,
        and this method fails the record. A record keeps its first failure.

        Args:
            condition: over the columns before their change; null is false.
            message: the error's text, Java's where it has one.
            exception: an error class, or the name of a Java class.
        """
        name = exception if isinstance(exception, str) else exception.java_name
        text = F.lit(message) if isinstance(message, str) else message
        stage, executor = self.stage
        parts = {"stage": stage, "executor": executor, "exception": name}
        failure = F.when(
            condition, F.struct(*(F.lit(part).alias(key) for key, part in parts.items()), text.alias("message"))
        )
        found = F.coalesce(F.col(FAILURE), failure) if self.has(FAILURE) else failure
        return self._with(df=self.df.withColumn(FAILURE, found))

    def _with(self, **changes: Any) -> Self:
        return cast("Self", replace(cast("Any", self), **changes))


Frame = TypeVar("Frame", bound=RecordFrame)


Offsets = tuple[tuple[Mapping[str, Any], Mapping[str, Any] | None], ...]
"""Partitions of a source, each with the offset after the records; ``None`` deletes the stored one."""


class Positioned:
    """The offsets that become committable with records."""

    __slots__ = ()
    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any] | None
    other_offsets: Offsets

    @property
    def offsets(self) -> Offsets:
        """Return each source partition with the offset after the records."""
        own = ((self.source_partition, self.source_offset),) if self.source_partition else ()
        return (*own, *self.other_offsets)


@dataclass(frozen=True, slots=True)
class SourceFrame(RecordFrame, Positioned):
    """Records on their way to Kafka.

    ``df`` has the column ``value`` and may have ``topic`` (string), ``partition`` (int), ``key``, ``headers``
    (array of struct<key: string, value: binary>) and ``timestamp`` (long, epoch milliseconds). A column left out is
    constant: the frame's topic, the partitioner's choice, no key, no headers, the time of sending. A column ``receipt``
    (of any type) is not sent: ``SourceTask.received`` gets it back. Where a column ``tombstone`` (boolean) is true, the
    record has no value, and no schema of one, whatever the others have; ``value`` is null there.

    Attributes:
        df: the records; column types follow the schemas (``Schema.to_spark``), schemaless data is JSON text.
        source_partition: the partition of the source; empty for records without an offset.
        source_offset: the offset right after the last record; ``None`` deletes the stored offset of the partition.
        other_offsets: further partitions and offsets, for records of several partitions.
        topic: topic of all records; ``None`` where ``df`` has a column for it.
        value_schema: schema of ``value``; ``None`` for schemaless.
        key_schema: schema of ``key``.

    Example:
        >>> df = spark.createDataFrame([("hello",)], "value string")
        >>> SourceFrame(df, {"filename": "a.txt"}, {"position": 6}, topic="lines")
    """

    df: DataFrame
    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any] | None
    other_offsets: Offsets = ()
    topic: str | None = None
    value_schema: Schema | None = field(default=STRING_SCHEMA)
    key_schema: Schema | None = None

    def column(self, name: str) -> Column:
        """Return a column by its name, also one that is constant."""
        if name == "topic" and not self.has(name):
            return F.lit(self.topic)
        return RecordFrame.column(self, name)

    def with_column(self, name: str, column: Column) -> Self:
        """Return the frame with a column replaced or added; a column ``topic`` replaces the common topic."""
        topic = None if name == "topic" else self.topic
        return self._with(df=self.df.withColumn(name, column), topic=topic)


class Framed(Positioned):
    """Records that become a frame: the attributes of a ``SourceFrame`` apart from ``df``."""

    __slots__ = ()
    topic: str | None
    value_schema: Schema | None
    key_schema: Schema | None

    def over(self, df: DataFrame) -> SourceFrame:
        """Return a frame of other records with the attributes of these."""
        return SourceFrame(
            df,
            self.source_partition,
            self.source_offset,
            self.other_offsets,
            self.topic,
            self.value_schema,
            self.key_schema,
        )


@dataclass(frozen=True, slots=True)
class SourceTable(Framed):
    """Records on their way to Kafka in an Arrow table.

    The worker plans the tables of equal columns, topic and schemas once, and runs no Spark job for a few records: from
    ``poll`` to the brokers they take a few milliseconds. A table of about 16 MB is a good size for many. The attributes
    are those of :class:`SourceFrame`.

    Attributes:
        table: columns as in ``SourceFrame.df``, in the Arrow types that ``createDataFrame`` takes.

    Example:
        >>> SourceTable(pa.table({"value": ["hello"]}), {"filename": "a.txt"}, {"position": 6}, topic="lines")
    """

    table: pa.Table
    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any] | None
    other_offsets: Offsets = ()
    topic: str | None = None
    value_schema: Schema | None = field(default=STRING_SCHEMA)
    key_schema: Schema | None = None

    def frame(self, spark: SparkSession) -> SourceFrame:
        """Return the records as a frame."""
        return self.over(spark.createDataFrame(self.table))


@dataclass(frozen=True, slots=True)
class SourceQuery(Framed):
    """Records on their way to Kafka, read by a DataFrame that Spark plans once for any number of polls.

    The other attributes are those of ``SourceFrame``.

    Attributes:
        df: the same object for all batches that differ in their rows alone; runs one at a time.
        set_rows: called right before ``df`` runs: it reads the rows of this batch from then on.
        read: returns the rows of this batch as a separate DataFrame, for what cannot use ``df``.
    """

    df: DataFrame
    set_rows: Callable[[], object]
    read: Callable[[], DataFrame]
    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any] | None
    other_offsets: Offsets = ()
    topic: str | None = None
    value_schema: Schema | None = field(default=STRING_SCHEMA)
    key_schema: Schema | None = None

    def frame(self, _: SparkSession) -> SourceFrame:
        """Return the records as a frame, which is planned by itself."""
        return self.over(self.read())


@dataclass(frozen=True, slots=True)
class SinkFrame(RecordFrame):
    """Records from Kafka with one key schema and one value schema.

    ``df`` has ``topic`` (string), ``partition`` (int), ``offset`` (long), ``timestamp`` (long, epoch milliseconds),
    ``key``, ``value`` and, when the task asked for them, ``headers`` (array of struct<key: string, value: binary>).
    """

    df: DataFrame
    value_schema: Schema | None
    key_schema: Schema | None

    def original_coordinate(self, name: str) -> Column:
        """Return the column ``topic``, ``partition`` or ``offset`` of the records as they were read."""
        return F.col(ORIGINAL_COORDINATES)[name] if self.has(ORIGINAL_COORDINATES) else F.col(name)

    def to_arrow(self, *columns: Column | str) -> pa.Table:
        """Return columns of the records as an Arrow table, all without arguments; records are in no order.

        A worker evaluates the columns of few records without a Spark job: select the same ``Column`` objects for each
        batch, as building them and planning for them takes longer than evaluating them.

        Args:
            columns: over the columns of ``df``.
        """
        return self.df.select(*(columns or ("*",))).toArrow()

    def records(self) -> list[SinkRecord]:
        """Return the single records by partition and offset; a new list for each call."""
        # Sorted here: Spark would read the batch twice, first to find its partition bounds.
        rows = self.to_arrow().sort_by([(name, "ascending") for name in _PLACE]).to_pylist()
        return [self._record(row) for row in rows]

    def _record(self, row: dict[str, Any]) -> SinkRecord:
        place = row.get(ORIGINAL_COORDINATES, row)
        return SinkRecord(
            topic=row["topic"],
            partition=row["partition"],
            offset=row["offset"],
            key=_from_column(row["key"], self.key_schema),
            value=_from_column(row["value"], self.value_schema),
            key_schema=self.key_schema,
            value_schema=self.value_schema,
            timestamp=row["timestamp"],
            headers=tuple(self._header(h["key"], h["value"]) for h in row.get("headers") or ()),
            original_topic=place["topic"],
            original_kafka_partition=place["partition"],
            original_kafka_offset=place["offset"],
        )

    def _header(self, key: str, data: bytes | None) -> Header:
        if self.header_converter is None:
            return Header(key, data, OPTIONAL_BYTES_SCHEMA)
        schema, value = self.header_converter.to_value(data)
        return Header(key, value, schema)


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """The records of one ``SinkTask.put``, one frame for each pair of schemas."""

    frames: tuple[SinkFrame, ...]

    def records(self) -> list[SinkRecord]:
        """Return all records by partition and offset; a new list for each call."""
        found = [record for frame in self.frames for record in frame.records()]
        if len(self.frames) > 1:
            found.sort(key=lambda record: (record.topic, record.partition, record.offset))
        return found

    def __iter__(self) -> Iterator[SinkFrame]:
        return iter(self.frames)


def _from_column(value: Any, schema: Schema | None) -> Any:
    """Return a value of a record: schemaless data is JSON text in a frame and plain Python in a record."""
    return json.loads(value) if schema is None and value is not None else value


def executors_are_local(spark: SparkSession) -> bool:
    """Return whether Spark's executors run within the worker's own JVM, and so see its files and its memory.

    Elsewhere a task must not write files for them, nor read theirs, unless users name a shared folder.
    """
    return (spark.sparkContext.master or "").partition("[")[0] == "local"
