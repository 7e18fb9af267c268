"""The Spark plan between a plugin's frames and bytes: transforms, then converters."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.frame_columns import FAILURE, RAW_RECORD, RECEIPT, ROW, TOMBSTONE
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.errors.failures import KEY_CONVERTER, VALUE_CONVERTER, exception_class, exception_text
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.frames import Acting, in_worker
from connect_dagster.worker.transforms import TransformationStage, apply_chain

_KEPT = 100


@dataclass(frozen=True, slots=True)
class _Side:
    """Keys or values of a schema on their way through their converter.

    Attributes:
        head: common prefix of their bytes.
        rest: the bytes after the prefix.
        unwritable: error text of each record that the converter cannot write; ``None`` when it can write all.
        exception: class of that error; ``None`` for the usual one.
    """

    schema: Schema | None
    head: bytes
    rest: Column
    unwritable: Column | None
    exception: str | None = None

    @property
    def bytes(self) -> Column:
        """Return the bytes with their prefix."""
        return F.concat(F.lit(bytearray(self.head)), self.rest) if self.head else self.rest


@dataclass(frozen=True, slots=True)
class SourcePipeline:
    """Transforms and converters of a source connector.

    Attributes:
        transforms: applied before the converters, in this order.
        key_converter: of the connector.
        value_converter: of the connector.
        header_converter: of the connector.
        tolerance: applies the error policy to transforms and converters; ``None`` lets their errors through.
        alike: equal for pipelines that encode alike; ``None`` where nothing is known of others.
    """

    transforms: Sequence[TransformationStage]
    key_converter: Converter
    value_converter: Converter
    header_converter: HeaderConverter
    tolerance: ToleranceOperator | None = None
    alike: Hashable | None = None
    _made: dict[tuple[str, str | None], _Side] = field(default_factory=dict)

    @property
    def needs_topic(self) -> bool:
        """Return whether a converter encodes the records of each topic in another way."""
        return self.key_converter.needs_topic or self.value_converter.needs_topic

    def transform(self, frame: SourceFrame) -> list[SourceFrame]:
        """Return the frame after all transforms; several when schemas differ, or topics that a converter needs."""
        frames = [frame]
        if self.transforms:
            frame = in_worker(frame, header_converter=self.header_converter)
            run = TransformationStage.apply if self.tolerance is None else self.tolerance.apply_stage
            frames = list(apply_chain(self.transforms, frame, run))
        if self.needs_topic:
            return [part for one in frames for part in _by_topic(one)]
        return frames

    def encode(self, frames: Sequence[SourceFrame]) -> DataFrame:
        """Return the bytes for the producer: column ``value``, the other columns of the frames, and ``ROW`` of several.

        Where records can fail there is a column ``FAILURE``, and ``RAW_RECORD`` of those that did if a frame has it.
        """
        if len(frames) == 1:
            return self._bytes(frames[0])
        parts = [self._bytes(_with_topic_column(frame)) for frame in frames]
        return functools.reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def encode_with_prefix(self, frame: SourceFrame) -> tuple[DataFrame, Mapping[str, bytes]]:
        """Return the bytes of one frame without common prefixes, and these prefixes by column."""
        heads = {name: side.head for name, side in self._sides(frame).items() if side.head}
        return self._bytes(frame, parted=True), heads

    def _sides(self, frame: SourceFrame) -> dict[str, _Side]:
        sides = {"key": self._side("key", frame)} if frame.has("key") else {}
        return {**sides, "value": self._side("value", frame)}

    def _bytes(self, frame: SourceFrame, *, parted: bool = False) -> DataFrame:
        sides = self._sides(frame)
        made = {name: side.rest if parted else side.bytes for name, side in sides.items()}
        if frame.has(TOMBSTONE):
            made["value"] = F.when(_has_value(frame), made["value"])
        for name, side in sides.items():
            frame = self._with_unwritable(frame, name, side)
        columns: list[Column] = [
            F.col(name) for name in ("topic", "partition", "headers", "timestamp", RECEIPT, ROW) if frame.has(name)
        ]
        if not frame.has(FAILURE):
            return frame.df.select(*columns, *(bytes.alias(name) for name, bytes in made.items()))
        failed = F.col(FAILURE).isNotNull()
        columns += [F.when(~failed, bytes).alias(name) for name, bytes in made.items()]
        # Arrow takes no null for a struct whose fields are never null.
        columns += [
            F.when(failed, F.col(name).cast(_nullable(frame.df.schema[name].dataType))).alias(name)
            for name in (RAW_RECORD, FAILURE)
            if frame.has(name)
        ]
        return frame.df.select(*columns)

    def _with_unwritable(self, frame: SourceFrame, name: str, side: _Side) -> SourceFrame:
        if side.unwritable is None:
            return frame
        stage, converter = self._converter(name)
        acting = in_worker(frame, acting=Acting(stage, class_name(type(converter))))
        fails = side.unwritable.isNotNull()
        if name == "value" and frame.has(TOMBSTONE):
            fails &= _has_value(frame)
        if side.exception is None:
            return acting.fail_where(fails, side.unwritable)
        return acting.fail_where(fails, side.unwritable, side.exception)

    def _converter(self, name: str) -> tuple[str, Converter]:
        return (KEY_CONVERTER, self.key_converter) if name == "key" else (VALUE_CONVERTER, self.value_converter)

    def _side(self, name: str, frame: SourceFrame) -> _Side:
        """Return the converter's expressions; cached for a schema, since building them takes calls into the JVM."""
        schema = frame.key_schema if name == "key" else frame.value_schema
        _, converter = self._converter(name)
        kept = (name, frame.topic if converter.needs_topic else None)
        made = self._made.get(kept)
        if made is not None and made.schema is schema:
            return made

        def make() -> _Side:
            column = F.col(name)
            head, rest = _expression(converter, frame, schema, column)
            return _Side(schema, head, rest, converter.encode_errors(schema, column))

        def failing(error: Exception) -> _Side:
            nothing = F.lit(None).cast("binary")
            return _Side(schema, b"", nothing, F.lit(exception_text(error)), exception_class(error))

        made = make() if self.tolerance is None else self.tolerance.build(make, failing)
        if made.exception is None:
            if len(self._made) > _KEPT:
                self._made.clear()
            self._made[kept] = made
        return made


def _expression(
    converter: Converter, frame: SourceFrame, schema: Schema | None, column: Column
) -> tuple[bytes, Column]:
    if not converter.needs_topic:
        return converter.encode_with_prefix(schema, column)
    if frame.topic is None:
        return b"", F.lit(None).cast("binary")
    return b"", converter.encode_for(frame.topic, schema, column)


def _with_topic_column(frame: SourceFrame) -> SourceFrame:
    """Return the frame with its topic in a column as well; converters that encode by topics still know it."""
    return frame if frame.topic is None else frame.with_rows(frame.df.withColumn("topic", F.lit(frame.topic)))


def _has_value(frame: SourceFrame) -> Column:
    return ~F.coalesce(frame.column(TOMBSTONE), F.lit(False))


def _nullable(type: DataType) -> DataType:
    """Return the type with all its parts nullable."""
    match type:
        case StructType():
            return StructType([StructField(field.name, _nullable(field.dataType)) for field in type.fields])
        case ArrayType():
            return ArrayType(_nullable(type.elementType))
        case MapType():
            return MapType(_nullable(type.keyType), _nullable(type.valueType))
        case _:
            return type


def _by_topic(frame: SourceFrame) -> list[SourceFrame]:
    """Return the parts of a frame by topic, with the order in ``ROW``; records without a topic keep the column."""
    if not frame.has("topic"):
        return [frame]
    topics = [row.topic for row in frame.df.select("topic").distinct().collect()]
    if not topics:
        return [frame]
    if len(topics) > 1 and not frame.has(ROW):
        frame = frame.with_column(ROW, F.monotonically_increasing_id())
    known = [topic for topic in topics if topic is not None]
    parts = [
        replace(frame, df=frame.df.where(F.col("topic") == topic).drop("topic"), topic=topic) for topic in sorted(known)
    ]
    return parts if len(known) == len(topics) else [*parts, replace(frame, df=frame.df.where(F.col("topic").isNull()))]
