"""Bases of transforms of keys and values: of one side of a record, and of the fields there.

Java's transforms come in two halves, ``X$Key`` for keys and ``X$Value`` for values:

    >>> class Upper(SidedTransform):
    ...     def apply(self, frame: Frame) -> Frame:
    ...         return self.replaced(frame, F.upper(self.operating_column(frame)), self.operating_schema(frame))
    >>> UpperKey, UpperValue = both_sides(Upper, "org.example.Upper")

A change of fields is planned once for each schema and then applied to each batch. Making an expression takes calls into
the JVM, a hundred for a wide struct; a steady stream has one schema.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar, cast

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.value_classes import class_of, class_of_json
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import Importance, Type, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaType

_PARSED = "__parsed"
_KINDS = "__kinds"
_REMEMBERED = 16

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


@dataclass(frozen=True, slots=True)
class Wrong:
    """Records that fail (see ``RecordFrame.fail_where``)."""

    condition: Column
    message: Column | str
    exception: type[ConnectError] | str = DataError


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the keys or values of one schema.

    Attributes:
        column: the new ones; ``None`` where none can be made.
        schema: their schema.
        wrong: the records that fail, the first reason first; of columns as they were.
        parsed: worked out before all else, known to the other expressions as ``parsed()``.
        kinds: worked out next, known as ``kinds()``: what branches ask for often and Spark would work out each time.
    """

    column: Column | None
    schema: Schema | None
    wrong: tuple[Wrong, ...] = ()
    parsed: Column | None = None
    kinds: Column | None = None


def parsed() -> Column:
    """Return the column that ``Change.parsed`` becomes."""
    return F.col(_PARSED)


def kinds() -> Column:
    """Return the column that ``Change.kinds`` becomes."""
    return F.col(_KINDS)


def replace_null_setting() -> Any:
    """Return the option that most of these transforms have."""
    return config_key(
        "replace.null.with.default",
        type=Type.BOOLEAN,
        default=True,
        importance=Importance.MEDIUM,
        doc="Whether a field that is null takes its schema's default value, where there is one.",
    )


class FieldTransform(SidedTransform):
    """A transform that reads and writes one side of the records.

    Attributes:
        purpose: what Java's error texts call it.
        nulls: whether nulls ``pass`` as they are, or are ``wrong``.
    """

    purpose: str
    nulls: Literal["pass", "wrong"] = "pass"
    deterministic = True

    def __init__(self) -> None:
        self._changes: list[tuple[Schema | None, object, Change]] = []

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with the change for its schema."""
        change = self._change(frame)
        before = {_PARSED: change.parsed, _KINDS: change.kinds}
        for name, column in before.items():
            if column is not None:
                frame = _with_df(frame, frame.df.withColumn(name, column))
        for wrong in change.wrong:
            frame = frame.fail_where(wrong.condition, wrong.message, wrong.exception)
        if change.column is not None:
            frame = self.written(frame, change.column, change.schema)
        return frame if change.parsed is None else _with_df(frame, frame.df.drop(*before))

    def written(self, frame: Frame, column: Column, schema: Schema | None) -> Frame:
        """Return the frame with the new column."""
        return self.replaced(frame, column, schema)

    def facts(self, frame: RecordFrame) -> object:
        """Return the facts of a frame, except its schema, that the change depends on."""
        return None

    @abstractmethod
    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the change of structs (or whatever ``fits``)."""

    @abstractmethod
    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the change of JSON text."""

    def fits(self, schema: Schema) -> bool:
        """Return whether the transform is for data of this schema: structs."""
        return schema.type is SchemaType.STRUCT

    def unfit(self, column: Column, schema: Schema) -> Change:
        """Return the change where the schema does not fit."""
        found = F.when(column.isNull(), "null").otherwise(class_of(schema))
        text = F.concat(F.lit(f"Only Struct objects supported for [{self.purpose}], found: "), found)
        return refused(self._not_null(column), text)

    def null_structs(self, column: Column, schema: Schema) -> tuple[Wrong, ...]:
        """Return the error of nulls, where they are wrong."""
        if self.nulls == "pass" or not schema.optional:
            return ()
        return (Wrong(column.isNull(), f"Only Struct objects supported for [{self.purpose}], found: null"),)

    def not_objects(self, text: Column) -> tuple[Wrong, ...]:
        """Return the error of JSON that is not an object."""
        wrong = ~json_objects.is_object(text)
        if self.nulls == "pass":
            wrong = wrong & ~json_objects.is_null(text)
        start = f"Only Map objects supported in absence of schema for [{self.purpose}], found: "
        return (Wrong(wrong, F.concat(F.lit(start), class_of_json(text))),)

    def unreadable(self, text: Column) -> Wrong:
        """Return the error of objects that ``Change.parsed`` could not take apart."""
        wrong = json_objects.is_object(text) & parsed().isNull()
        return Wrong(wrong, f"An object has a field twice, which [{self.purpose}] cannot tell apart")

    def _not_null(self, column: Column) -> Column:
        return column.isNotNull() if self.nulls == "pass" else F.lit(True)

    def _change(self, frame: RecordFrame) -> Change:
        schema, facts = self.operating_schema(frame), self.facts(frame)
        for known, known_facts, change in self._changes:
            if known_facts == facts and (known is schema or known == schema):
                return change
        made = self._made(schema, frame)
        self._changes = [*self._changes[1 - _REMEMBERED :], (schema, facts, made)]
        return made

    def _made(self, schema: Schema | None, frame: RecordFrame) -> Change:
        column = self.operating_column(frame)
        if schema is None:
            return self.schemaless(column, frame)
        return self.with_schema(column, schema, frame) if self.fits(schema) else self.unfit(column, schema)


def refused(condition: Column, message: Column | str, exception: type[ConnectError] | str = DataError) -> Change:
    """Return no change: the records for which the condition is true fail."""
    return Change(None, None, (Wrong(condition, message, exception),))


def _with_df(frame: Frame, df: Any) -> Frame:
    return cast("Frame", replace(cast("Any", frame), df=df))
