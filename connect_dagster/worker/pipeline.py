"""The Spark plan between a plugin's frames and bytes: transforms, then converters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter, Transform
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.transforms import applied


@dataclass(frozen=True, slots=True)
class SourcePipeline:
    """What a connector's records pass on their way to Kafka, in this order."""

    transforms: Sequence[Transform]
    key_converter: Converter
    value_converter: Converter
    _made: dict[str, tuple[Schema | None, bool, Column]] = field(default_factory=dict)

    def transform(self, frame: SourceFrame) -> SourceFrame:
        """The frame after all transforms."""
        changed = applied(self.transforms, frame)
        return changed if changed is frame else replace(changed, ascii=False)

    def encode(self, frame: SourceFrame) -> DataFrame:
        """Bytes for the producer: column ``value``, and those of the others that the frame has."""
        columns: list[Column | str] = [
            name for name in ("topic", "partition", "headers", "timestamp") if frame.has(name)
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
