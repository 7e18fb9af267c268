"""The Spark plan between a plugin's frames and bytes: transforms, then converters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.frames import ROW, SourceFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.transforms import Step, applied


@dataclass(frozen=True, slots=True)
class SourcePipeline:
    """What a connector's records pass on their way to Kafka, in this order."""

    transforms: Sequence[Step]
    key_converter: Converter
    value_converter: Converter
    header_converter: HeaderConverter
    _made: dict[str, tuple[Schema | None, bool, Column]] = field(default_factory=dict)

    def transform(self, frame: SourceFrame) -> list[SourceFrame]:
        """The frame after all transforms; several when their schemas differ."""
        if not self.transforms:
            return [frame]
        frame = replace(frame, header_converter=self.header_converter)
        return [replace(one, ascii=False) for one in applied(self.transforms, frame)]

    def encode(self, frames: Sequence[SourceFrame]) -> DataFrame:
        """Bytes for the producer: column ``value``, those of the others that a frame has, and ``ROW`` of several."""
        if len(frames) == 1:
            return self._bytes(frames[0])
        parts = [
            self._bytes(frame if frame.topic is None else frame.with_column("topic", F.lit(frame.topic)))
            for frame in frames
        ]
        return functools.reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def _bytes(self, frame: SourceFrame) -> DataFrame:
        columns: list[Column | str] = [
            name for name in ("topic", "partition", "headers", "timestamp", ROW) if frame.has(name)
        ]
        if frame.has("key"):
            columns.append(self._encoded("key", self.key_converter, frame.key_schema, frame.ascii))
        return frame.df.select(*columns, self._encoded("value", self.value_converter, frame.value_schema, frame.ascii))

    def _encoded(self, name: str, converter: Converter, schema: Schema | None, ascii: bool) -> Column:
        """The converter's expression; kept while the schema stays, as making it takes calls into the JVM."""
        made = self._made.get(name)
        if made is None or made[0] is not schema or made[1] is not ascii:
            made = (schema, ascii, converter.encode(schema, F.col(name), ascii=ascii).alias(name))
            self._made[name] = made
        return made[2]
