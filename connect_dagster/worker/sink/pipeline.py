"""The Spark plan between a batch of Kafka records and the frames a sink task receives: converters, then transforms.

Most streams have one schema, so a batch is first planned for the schemas of the batch before, with a check inside
the plan. When the check fails, the batch is cached and searched for its schemas. So most batches are read once, and
none with a wrong schema.

Where failed records are tolerated, frames have a column ``FAILURE``, which ``BatchPlans`` filters. Where they are
not, the plan itself fails at the first of them, with ``UNREADABLE`` in the text.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError
from connect_dagster.expressions.java_calls import kept_in_jvm
from connect_dagster.expressions.offset_ranges import OffsetRange
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.frame_columns import FAILURE, ORIGINAL_COORDINATES, RAW_RECORD
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import OPTIONAL_BYTES_SCHEMA
from connect_dagster.worker.errors.failures import KEY_CONVERTER, VALUE_CONVERTER, exception_text
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.frames import WorkerSinkFrame
from connect_dagster.worker.sink.few_records import (
    FewRecords,
    KeptFrame,
    KeptSelections,
    PlannedRecords,
)
from connect_dagster.worker.sink.planned_frame import Planned, PlannedFrame
from connect_dagster.worker.sink.range_queries import IdleQueries, PlannedRanges, RangeQueries
from connect_dagster.worker.spark.kept_projection import MadeOnce
from connect_dagster.worker.transforms import TransformationStage, apply_chain, is_deterministic

OTHER_SCHEMA = "connect_dagster: a record has another schema than the batch before"
UNREADABLE = "connect_dagster: a record cannot be read by its converter"
Watch = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The expressions for records of two decoders; cached, since building them takes hundreds of calls into the JVM."""

    key: Decoder
    value: Decoder
    conditions: Sequence[Column]
    columns: Mapping[str, Column]  # by their names
    kept: KeptSelections = field(default_factory=KeptSelections)
    frame: MadeOnce[KeptFrame] = field(default_factory=MadeOnce)
    idle: IdleQueries = field(default_factory=IdleQueries)

    def over(self, df: DataFrame) -> DataFrame:
        """Return the records as a frame has them.

        Args:
            df: columns of Spark's Kafka source.
        """
        for condition in self.conditions:
            df = df.where(condition)
        return df.select(*self.columns.values())


@dataclass(frozen=True, slots=True)
class Mode:
    """Options of a plan.

    Attributes:
        as_data: whether the column ``FAILURE`` marks records that fail.
        originals: whether those that fail are in the column ``RAW_RECORD``.
        watch: wraps the records before the transforms.
    """

    as_data: bool = False
    raw_records: bool = False
    watch: Watch = lambda df: df


@dataclass(slots=True)
class SinkPipeline:
    """The converters and transforms of a sink connector.

    Attributes:
        tolerate: whether unreadable records are skipped (``errors.tolerance=all``).
        headers: whether the task or a transform reads headers.
        reported: whether failed records are reported as they were read, with their headers.
        transforms: applied after the converters, in this order.
        tolerance: applies the error policy to transforms and converters; ``None`` lets their errors through.
    """

    key_converter: Converter
    value_converter: Converter
    header_converter: HeaderConverter
    tolerate: bool
    headers: bool
    transforms: Sequence[TransformationStage] = ()
    tolerance: ToleranceOperator | None = None
    reported: bool = False
    _kept: _Plan | None = field(default=None, init=False)
    _seen: _Plan | None = field(default=None, init=False)
    _guessed: bool = field(default=False, init=False)

    @property
    def reads_headers(self) -> bool:
        """Return whether to read headers."""
        return self.headers or self.reported

    def expected(self, df: DataFrame, mode: Mode | None = None) -> SinkBatch | None:
        """Return the batch for the schemas of the one before; ``None`` when none is known yet.

        Evaluating it fails with ``OTHER_SCHEMA`` in the text when a record has another schema.
        """
        mode = mode or Mode(as_data=self.tolerate)
        plan = self._expected_plan(mode)
        return None if plan is None else SinkBatch(tuple(self._planned(df, plan, mode)))

    def expected_of_few(self, few: FewRecords) -> PlannedFrame | None:
        """Return the frame of :meth:`expected`, as one that needs no job.

        Args:
            few: the records.

        Returns:
            ``None`` also where a record fails, or transforms may change the plan.
        """
        plan = self._expected_plan(Mode(as_data=self.tolerate))
        if plan is None:
            return None
        if self.transforms or FAILURE in plan.columns:
            return self._transformed(few, plan)
        return self._frame(plan, PlannedRecords(few, plan.over, frozenset(plan.columns), plan.kept))

    def expected_of_ranges(
        self, ranges: Sequence[OffsetRange], read: Callable[[], DataFrame], queries: RangeQueries
    ) -> PlannedFrame | None:
        """Return the frame of :meth:`expected`, as one whose queries are planned once.

        Args:
            ranges: of the batch.
            read: returns the batch as a DataFrame.
            queries: of the task.

        Returns:
            ``None`` also where records may fail as data, or are transformed.
        """
        plan = self._expected_plan(Mode(as_data=self.tolerate))
        if plan is None or self.transforms or FAILURE in plan.columns:
            return None
        return self._frame(plan, PlannedRanges(queries, ranges, read, plan.over, frozenset(plan.columns), plan.idle))

    def _frame(self, plan: _Plan, planned: Planned) -> PlannedFrame:
        schemas = {"value_schema": plan.value.schema, "key_schema": plan.key.schema}
        return PlannedFrame.of(planned, **schemas, header_converter=self.header_converter)

    def _transformed(self, few: FewRecords, plan: _Plan) -> PlannedFrame | None:
        """Return the frame behind the transforms without failed records; ``None`` where there are some."""
        if self._seen is not plan:
            self._seen = plan
            return None  # it pays for a plan that is used again
        if not is_deterministic(self.transforms):
            return None
        mode = Mode(as_data=self.tolerate)
        return plan.frame.use(
            lambda: KeptFrame(few.spark, few.rows.schema, lambda df: self._planned(df, plan, mode)),
            lambda kept: kept.of(few.rows),
        )

    def _expected_plan(self, mode: Mode) -> _Plan | None:
        """Return the plan for the schemas of the batch before; ``None`` when none is known yet."""
        key, value = self.key_converter.expected_decoder("key"), self.value_converter.expected_decoder("value")
        if key is None or value is None:
            return None
        if mode.raw_records:
            return self._plan(key, value, mode, checked=True)
        if self._kept is None or self._kept.key is not key or self._kept.value is not value:
            self._kept = self._plan(key, value, mode, checked=True)
        return self._kept

    def guess(self, spark: SparkSession, first_record: Callable[[], pa.Table]) -> None:
        """Expect the schemas of one record, unless some are expected already; once, as some converters expect none."""
        sides = ((self.key_converter, "key"), (self.value_converter, "value"))
        unknown = [(converter, column) for converter, column in sides if converter.expected_decoder(column) is None]
        if not unknown or self._guessed:
            return
        self._guessed = True
        record = first_record()
        searched = [
            (converter, column)
            for converter, column in unknown
            if not (record.num_rows and converter.expect(record.column(column)[0].as_py()))
        ]
        if searched:
            # In memory: Catalyst reduces the search of a single row to no job.
            df = spark.createDataFrame(record)
            for converter, column in searched:
                self._decoders(converter, df, column)

    @contextmanager
    def searched(self, df: DataFrame, mode: Mode | None = None) -> Iterator[SinkBatch]:
        """Yield the batch for all its schemas, cached while the block runs."""
        kept = df.persist()
        try:
            values = self._decoders(self.value_converter, kept, "value")
            keys = self._decoders(self.key_converter, kept, "key")
            yield SinkBatch(tuple(self._frames(kept, keys, values, mode or Mode(as_data=self.tolerate))))
        finally:
            kept.unpersist()

    def _decoders(self, converter: Converter, df: DataFrame, column: str) -> Sequence[Decoder]:
        def unreadable(error: Exception) -> Sequence[Decoder]:
            nothing, text = F.lit(None).cast("binary"), F.lit(exception_text(error))
            return [Decoder(OPTIONAL_BYTES_SCHEMA, nothing, readable=F.lit(False), error=text)]

        if self.tolerance is None:
            return converter.decoders(df, column)
        return self.tolerance.build(lambda: converter.decoders(df, column), unreadable)

    def _frames(
        self, df: DataFrame, keys: Sequence[Decoder], values: Sequence[Decoder], mode: Mode
    ) -> Iterator[SinkFrame]:
        for key in keys:
            for value in values:
                matching = [one.matches for one in (key, value) if one.matches is not None]
                rows = df.where(functools.reduce(operator.and_, matching)) if matching else df
                if len(keys) * len(values) == 1 or not rows.isEmpty():
                    yield from self._planned(rows, self._plan(key, value, mode, checked=False), mode)

    def _planned(self, df: DataFrame, plan: _Plan, mode: Mode) -> list[SinkFrame]:
        frame: SinkFrame = WorkerSinkFrame(
            mode.watch(plan.over(df)),
            value_schema=plan.value.schema,
            key_schema=plan.key.schema,
            header_converter=self.header_converter,
        )
        run = TransformationStage.apply if self.tolerance is None else self.tolerance.apply_stage
        frames = apply_chain(self.transforms, frame, run)
        return frames if mode.as_data else list(map(_strict, frames))

    def _plan(self, key: Decoder, value: Decoder, mode: Mode, *, checked: bool) -> _Plan:
        expressions = _Expressions(
            key_converter=type(self.key_converter),
            value_converter=type(self.value_converter),
            headers=self.headers,
            reads_headers=self.reads_headers,
            transformed=bool(self.transforms),
            as_data=mode.as_data,
            raw_records=mode.raw_records,
            checked=checked,
        )
        # The decoders of a search are new each time, and what transforms make is kept with their plan.
        is_shared = checked and not self.transforms
        return _shared_plan(expressions, key, value) if is_shared else expressions.plan(key, value)


@dataclass(frozen=True, slots=True)
class _Expressions:
    """All that the expressions of a plan depend on, beside its decoders.

    Attributes:
        key_converter: class of the converter.
        value_converter: class of the converter.
        headers: whether there is a column of headers.
        reads_headers: whether there are headers to report.
        transformed: whether transforms follow.
        as_data: as in ``Mode``.
        raw_records: as in ``Mode``.
        checked: whether to check that each record has the expected schema.
    """

    key_converter: type[Converter]
    value_converter: type[Converter]
    headers: bool
    reads_headers: bool
    transformed: bool
    as_data: bool
    raw_records: bool
    checked: bool

    def plan(self, key: Decoder, value: Decoder) -> _Plan:
        """Return the plan for records of two decoders."""
        conditions = []
        if (checks := self._checks(key)) is not None:
            # A sink may not read the key: a filter, unlike a column, is always evaluated.
            conditions.append(checks)
        names = ("topic", "partition", "offset", "headers") if self.headers else ("topic", "partition", "offset")
        columns = {
            **{name: F.col(name) for name in names},
            "timestamp": F.unix_millis("timestamp"),
            "key": self._column(key),
            "value": self._column(value),
        }
        if self.as_data and (failure := self._failure(key, value)) is not None:
            columns[FAILURE] = failure
        if self.transformed:
            columns[ORIGINAL_COORDINATES] = F.struct("topic", "partition", "offset")
        if self.raw_records:
            columns[RAW_RECORD] = raw_record_column(headers=self.reads_headers)
        return _Plan(key, value, conditions, {name: column.alias(name) for name, column in columns.items()})

    def _failure(self, key: Decoder, value: Decoder) -> Column | None:
        """Return the failure of an unreadable record; ``None`` when all can be read."""
        sides = ((KEY_CONVERTER, self.key_converter, key), (VALUE_CONVERTER, self.value_converter, value))
        found = [
            F.when(_is_unreadable(decoder, self.checked), _failed(stage, converter, decoder))
            for stage, converter, decoder in sides
            if decoder.readable is not None
        ]
        return F.coalesce(*found) if found else None

    def _checks(self, decoder: Decoder) -> Column | None:
        """Return a check that is true or raises; ``None`` when no record can be wrong."""
        wrong = []
        if self.checked and decoder.matches is not None:
            wrong.append((_other(decoder), F.raise_error(F.lit(OTHER_SCHEMA))))
        if decoder.readable is not None and not self.as_data:
            wrong.append((decoder.value.isNull() & ~decoder.readable, _unreadable(decoder)))
        checks = F.lit(True)
        for condition, error in reversed(wrong):
            checks = F.when(condition, error).otherwise(checks)
        return checks if wrong else None

    def _column(self, decoder: Decoder) -> Column:
        # Not when(…, value): Spark evaluates a branch apart from its condition, and reads records twice.
        errors = []
        if self.checked and decoder.matches is not None:
            errors.append(F.when(_other(decoder), F.raise_error(F.lit(OTHER_SCHEMA))))
        if decoder.readable is not None and not self.as_data:
            errors.append(F.when(~decoder.readable, _unreadable(decoder)))
        return F.coalesce(decoder.value, *errors) if errors else decoder.value


@kept_in_jvm(100)
def _shared_plan(expressions: _Expressions, key: Decoder, value: Decoder) -> _Plan:
    return expressions.plan(key, value)


def raw_record_column(*, headers: bool) -> Column:
    """Return the column of records as they were read, over the columns of Spark's source.

    Args:
        headers: whether headers were read.
    """
    millis = F.unix_millis("timestamp").alias("timestamp")
    parts: list[Column | str] = ["topic", "partition", "offset", "timestampType", millis, "key", "value"]
    return F.struct([*parts, "headers"] if headers else parts)


def _strict(frame: SinkFrame) -> SinkFrame:
    """Return the frame whose evaluation fails at the first failed record."""
    if not frame.has(FAILURE):
        return frame
    failure = F.col(FAILURE)
    texts = (F.lit(f"{UNREADABLE}: "), failure["exception"], F.lit(": "), F.coalesce(failure["message"], F.lit("")))
    check = F.when(failure.isNotNull(), F.raise_error(F.concat(*texts))).otherwise(F.lit(True))
    return replace(frame, df=frame.df.where(check).drop(FAILURE))


def _is_unreadable(decoder: Decoder, checked: bool) -> Column:
    assert decoder.readable is not None
    unreadable = decoder.value.isNull() & ~decoder.readable
    # A record of another schema is left to the check of the schema.
    return unreadable & ~_other(decoder) if checked else unreadable


def _failed(stage: str, converter: type[Converter], decoder: Decoder) -> Column:
    parts = {"stage": stage, "executor": class_name(converter), "exception": DataError.java_name}
    message = F.lit("") if decoder.error is None else decoder.error
    return F.struct(*(F.lit(text).alias(name) for name, text in parts.items()), message.alias("message"))


def _other(decoder: Decoder) -> Column:
    """Return whether a record has another schema."""
    return F.lit(False) if decoder.matches is None else ~F.coalesce(decoder.matches, F.lit(False))


def _unreadable(decoder: Decoder) -> Column:
    return F.raise_error(F.concat(F.lit(f"{UNREADABLE}: "), F.lit("") if decoder.error is None else decoder.error))
