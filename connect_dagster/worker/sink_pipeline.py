"""The Spark plan between a batch of Kafka records and the frames a sink task receives: converters.

A steady stream has one schema, so a batch is first planned as if it had the schemas of the batch before, with a check
inside the plan. Only when the check fails is the batch kept in memory and searched for its schemas: one pass over the
data in the ordinary case, and no schema is ever guessed wrong.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.worker.transforms import Step, applied

OTHER_SCHEMA = "connect_dagster: a record has another schema than the batch before"
UNREADABLE = "connect_dagster: a record cannot be read by its converter"


class ToleranceExceededError(ConnectError):
    """A record could not be converted and ``errors.tolerance`` is ``none``."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The expressions for records of two decoders; kept, since making them takes hundreds of calls into the JVM."""

    key: Decoder
    value: Decoder
    conditions: Sequence[Column]
    columns: Sequence[Column]


@dataclass(slots=True)
class SinkPipeline:
    """The converters of a sink connector.

    Attributes:
        tolerate: whether records that cannot be read are left out (``errors.tolerance=all``).
        headers: whether the task wants the headers.
        transforms: what the records pass after the converters, in this order.
    """

    key_converter: Converter
    value_converter: Converter
    tolerate: bool
    headers: bool
    transforms: Sequence[Step] = ()
    header_converter: HeaderConverter | None = None
    _kept: _Plan | None = field(default=None, init=False)

    def likely(self, df: DataFrame) -> SinkBatch | None:
        """The batch if its schemas are those of the one before; ``None`` when none is known yet.

        Evaluating it fails with ``OTHER_SCHEMA`` in the text when they are not.
        """
        key, value = self.key_converter.likely("key"), self.value_converter.likely("value")
        if key is None or value is None:
            return None
        return SinkBatch(tuple(self._planned(df, self._likely_plan(key, value))))

    def _likely_plan(self, key: Decoder, value: Decoder) -> _Plan:
        if self._kept is None or self._kept.key is not key or self._kept.value is not value:
            self._kept = self._plan(key, value, checked=True)
        return self._kept

    @contextmanager
    def searched(self, df: DataFrame) -> Iterator[SinkBatch]:
        """The batch with all its schemas found, kept in memory for as long as the block runs."""
        kept = df.persist()
        try:
            values = self.value_converter.decoders(kept, "value")
            keys = self.key_converter.decoders(kept, "key")
            yield SinkBatch(tuple(self._frames(kept, keys, values)))
        finally:
            kept.unpersist()

    def _frames(self, df: DataFrame, keys: Sequence[Decoder], values: Sequence[Decoder]) -> Iterator[SinkFrame]:
        for key in keys:
            for value in values:
                matching = [one.matches for one in (key, value) if one.matches is not None]
                rows = df.where(functools.reduce(operator.and_, matching)) if matching else df
                if len(keys) * len(values) == 1 or not rows.isEmpty():
                    yield from self._planned(rows, self._plan(key, value, checked=False))

    def _planned(self, df: DataFrame, plan: _Plan) -> list[SinkFrame]:
        for condition in plan.conditions:
            df = df.where(condition)
        frame = SinkFrame(
            df.select(*plan.columns),
            value_schema=plan.value.schema,
            key_schema=plan.key.schema,
            header_converter=self.header_converter,
        )
        return applied(self.transforms, frame)

    def _plan(self, key: Decoder, value: Decoder, *, checked: bool) -> _Plan:
        # A record of another schema stays: the check of the schema has to find it.
        conditions = [
            decoder.readable | _other(decoder) if checked else decoder.readable
            for decoder in (key, value)
            if self.tolerate and decoder.readable is not None
        ]
        if (checks := self._checks(key, checked)) is not None:
            # A sink may not look at the key: a filter, unlike a column, is worked out all the same.
            conditions.append(checks)
        columns = [
            *map(
                F.col, ("topic", "partition", "offset", "headers") if self.headers else ("topic", "partition", "offset")
            ),
            F.unix_millis("timestamp").alias("timestamp"),
            self._column(key, checked).alias("key"),
            self._column(value, checked).alias("value"),
        ]
        return _Plan(key, value, conditions, columns)

    def _checks(self, decoder: Decoder, checked: bool) -> Column | None:
        """True for a record that is as it should be, an error for any other; ``None`` when nothing can be wrong."""
        wrong = []
        if checked and decoder.matches is not None:
            wrong.append((_other(decoder), F.raise_error(F.lit(OTHER_SCHEMA))))
        if decoder.readable is not None and not self.tolerate:
            wrong.append((decoder.value.isNull() & ~decoder.readable, _unreadable(decoder)))
        checks = F.lit(True)
        for condition, error in reversed(wrong):
            checks = F.when(condition, error).otherwise(checks)
        return checks if wrong else None

    def _column(self, decoder: Decoder, checked: bool) -> Column:
        # Not when(…, value): Spark evaluates what stands in a branch apart from its condition, reading records twice.
        errors = []
        if checked and decoder.matches is not None:
            errors.append(F.when(_other(decoder), F.raise_error(F.lit(OTHER_SCHEMA))))
        if decoder.readable is not None and not self.tolerate:
            errors.append(F.when(~decoder.readable, _unreadable(decoder)))
        return F.coalesce(decoder.value, *errors) if errors else decoder.value


def _other(decoder: Decoder) -> Column:
    """Whether a record has another schema."""
    return F.lit(False) if decoder.matches is None else ~F.coalesce(decoder.matches, F.lit(False))


def _unreadable(decoder: Decoder) -> Column:
    return F.raise_error(F.concat(F.lit(f"{UNREADABLE}: "), F.lit("") if decoder.error is None else decoder.error))
