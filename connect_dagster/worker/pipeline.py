"""The Spark plan between a plugin's frames and bytes: transforms, then converters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter, Transform
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.worker.transforms import applied


@dataclass(frozen=True, slots=True)
class SourcePipeline:
    """What a connector's records pass on their way to Kafka, in this order."""

    transforms: Sequence[Transform]
    key_converter: Converter
    value_converter: Converter

    def transform(self, frame: SourceFrame) -> SourceFrame:
        """The frame after all transforms."""
        changed = applied(self.transforms, frame)
        return changed if changed is frame else replace(changed, ascii=False)

    def encode(self, frame: SourceFrame) -> DataFrame:
        """Bytes for the producer: column ``value``, and those of the others that the frame has."""
        kept: list[Column] = [F.col(name) for name in ("topic", "partition", "headers", "timestamp") if frame.has(name)]
        if frame.has("key"):
            key = self.key_converter.encode(frame.key_schema, F.col("key"), ascii=frame.ascii)
            kept.append(key.alias("key"))
        value = self.value_converter.encode(frame.value_schema, F.col("value"), ascii=frame.ascii)
        return frame.df.select(*kept, value.alias("value"))
