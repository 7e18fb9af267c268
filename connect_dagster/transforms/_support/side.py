"""The two halves of a record that Java's transforms come for: ``X$Key`` works on keys, ``X$Value`` on values.

Example:
    >>> class Upper(SidedTransform):
    ...     def apply(self, frame: Frame) -> Frame:
    ...         return self.replaced(frame, F.upper(self.operating_column(frame)), self.operating_schema(frame))
    >>> UpperKey, UpperValue = both_sides(Upper, "org.example.Upper")
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

from pyspark.sql import Column

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema

Side = Literal["key", "value"]


class SidedTransform(Transform):
    """A transform that works on one side of the records.

    Attributes:
        side: the column it works on; set by ``both_sides``.
    """

    side: ClassVar[Side] = "value"
    version = KAFKA_VERSION

    def operating_column(self, frame: RecordFrame) -> Column:
        """Return the keys or the values (Java: ``operatingValue``)."""
        return frame.column(self.side)

    def operating_schema(self, frame: RecordFrame) -> Schema | None:
        """Return their schema (Java: ``operatingSchema``); ``None`` for schemaless."""
        return frame.key_schema if self.side == "key" else frame.value_schema

    def replaced(self, frame: Frame, column: Column, schema: Schema | None) -> Frame:
        """Return the frame with other keys or values (Java: ``newRecord``)."""
        return frame.with_key(column, schema) if self.side == "key" else frame.with_value(column, schema)


Sided = TypeVar("Sided", bound=SidedTransform)


def both_sides(transform: type[Sided], java_class: str) -> tuple[type[Sided], type[Sided]]:
    """Return the transform for keys and the one for values, under Java's names ``java_class$Key`` and
    ``java_class$Value``.
    """
    return _on(transform, java_class, "key"), _on(transform, java_class, "value")


def _on(transform: type[Sided], java_class: str, side: Side) -> type[Sided]:
    name = f"{transform.__name__}{side.capitalize()}"
    members = {
        "__doc__": f"{transform.__name__} of {side}s. {transform.__doc__ or ''}",
        "__module__": transform.__module__,
        "__qualname__": name,
        "java_class": f"{java_class}${side.capitalize()}",
        "side": side,
    }
    return type(name, (transform,), members)
