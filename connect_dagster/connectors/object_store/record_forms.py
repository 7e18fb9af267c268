"""Reading the records of one schema: the columns that decide about their files, and those that go into these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.connectors.object_store.formats import VALUE, with_nulls
from connect_dagster.connectors.object_store.partitioners import Extractor
from connect_dagster.connectors.object_store.rotation import Numbers
from connect_dagster.connectors.object_store.settings import FileSettings
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.frame_columns import ORIGINAL_COORDINATES
from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.schema import Schema

OFFSET, FILE = "__offset", "__file"
"""Columns of rows that wait: the record's place in its file, and the number of the file."""

_TOPIC, _READ_FROM, _PARTITION, _TIME, _TEXT, _SIZE = "topic", "read_from", "partition", "time", "text", "size"
_RECORD_COLUMNS: Mapping[str, tuple[Callable[[], Column], spark.DataType]] = {
    "topic": (lambda: F.col("topic"), spark.StringType()),
    "partition": (lambda: F.col("partition"), spark.IntegerType()),
    "offset": (lambda: F.col("offset"), spark.LongType()),
    "timestamp": (lambda: F.timestamp_millis(F.col("timestamp")), spark.TimestampType()),
}
_KEY = "key"


@dataclass(frozen=True, slots=True)
class RecordForm:
    """Records of one schema.

    Attributes:
        number: of the schema.
        columns: that are read.
        kept: names and types of those that wait for a file, in their order.
        rows: columns of a file, over those.
        time: of a record; ``None`` for the clock's, or where no time is needed.
    """

    number: int
    columns: Sequence[Column]
    kept: Mapping[str, spark.DataType]
    rows: Sequence[Column | str]
    time: Column | None


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The records of a frame that go to files."""

    form: RecordForm
    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def read_from(self) -> pa.ChunkedArray:
        """Return the topics that the records were read from."""
        return self.rows[_READ_FROM if _READ_FROM in self.rows.column_names else _TOPIC]

    @property
    def topics(self) -> pa.ChunkedArray:
        """Return the topics of the records, as transforms left them."""
        return self.rows[_TOPIC]

    @property
    def partitions(self) -> Numbers:
        """Return the Kafka partitions that the records were read from."""
        return self._numbers(_PARTITION)

    @property
    def offsets(self) -> Numbers:
        """Return the offsets at which the records were read."""
        return self._numbers(OFFSET)

    @property
    def texts(self) -> pa.ChunkedArray:
        """Return the directories by fields."""
        return self.rows[_TEXT]

    def times(self, now: int) -> Numbers:
        """Return the times of the records, or of the clock, in milliseconds since 1970."""
        return self._numbers(_TIME) if _TIME in self.rows.column_names else np.full(len(self), now, np.int64)

    def sizes(self) -> Numbers:
        """Return the bytes of the records; 0 where no rule asks for them."""
        return self._numbers(_SIZE) if _SIZE in self.rows.column_names else np.zeros(len(self), np.int64)

    def take(self, indices: Numbers, files: Numbers) -> pa.Table:
        """Return the rows of some records, as they wait.

        Args:
            indices: of the records.
            files: numbers of their files.
        """
        return self.rows.select(list(self.form.kept)[:-1]).take(indices).append_column(FILE, pa.array(files))

    def _numbers(self, name: str) -> Numbers:
        return np.asarray(self.rows[name].to_numpy()).astype(np.int64, copy=False)


class RecordForms:
    """The forms of all schemas that a task has seen.

    Args:
        settings: of the files.
        reporter: of records without a time; ``None`` makes the first of them an error.
    """

    def __init__(self, settings: FileSettings, reporter: ErrantRecordReporter | None) -> None:
        self._settings = settings
        self._reporter = reporter
        self._forms: dict[tuple[Schema | None, Schema | None, bool], RecordForm] = {}
        self._by_number: list[RecordForm] = []

    def form(self, number: int) -> RecordForm:
        """Return the form of a schema."""
        return self._by_number[number]

    def read(self, frame: SinkFrame) -> RecordTable:
        """Return the records of a frame that have a value and a time.

        Raises:
            ConnectError: one may not be without.
            DataError: the values have no fields, or not the types, that the options need.
        """
        form = self._form_of(frame)
        rows = frame.to_arrow(*form.columns)
        has_value = pc.is_valid(rows[VALUE])
        if not pc.all(has_value).as_py():
            if self._settings.fails_at_null:
                raise ConnectError(
                    "Null valued records are not writeable with current behavior.on.null.values 'settings': "
                    f"{_first_place(rows.filter(pc.invert(has_value)))} has no value"
                )
            if self._settings.reports_null and self._reporter is not None:
                self._reporter.report_frame(frame.where(F.col(VALUE).isNull()), "Skipping null value record.")
            rows = rows.filter(has_value)
        if form.time is not None and rows[_TIME].null_count:
            self._refuse_without_time(frame, form.time, rows)
            rows = rows.filter(pc.is_valid(rows[_TIME]))
        return RecordTable(form, rows)

    def _refuse_without_time(self, frame: SinkFrame, moment: Column, rows: pa.Table) -> None:
        partitioner = self._settings.partitioner
        origin = "" if partitioner.extractor is Extractor.RECORD else f" in the field '{partitioner.time_field}'"
        text = f"The record has no time{origin}, from which its directory or the end of its file is taken"
        if self._reporter is None:
            raise ConnectError(f"{text}: {_first_place(rows.filter(pc.is_null(rows[_TIME])))}")
        self._reporter.report_frame(frame.where(F.col(VALUE).isNotNull() & moment.isNull()), text)

    def _form_of(self, frame: SinkFrame) -> RecordForm:
        """Return the form of a frame; always with the same columns, so that Spark's plan of them is kept."""
        key = frame.key_schema if _KEY in self._settings.record_columns.values() else None
        known = (frame.value_schema, key, frame.has(ORIGINAL_COORDINATES))
        if known not in self._forms:
            self._forms[known] = self._new_form(frame)
            self._by_number.append(self._forms[known])
        return self._forms[known]

    def _new_form(self, frame: SinkFrame) -> RecordForm:
        schema, settings = frame.value_schema, self._settings
        encoded = settings.format.encode(schema)
        columns = [F.col(_TOPIC), frame.original_coordinate("partition").alias(_PARTITION)]
        columns.append(frame.original_coordinate("offset").alias(OFFSET))
        if frame.has(ORIGINAL_COORDINATES):
            columns.append(frame.original_coordinate("topic").alias(_READ_FROM))
        is_timed = settings.partitioner.times is not None or settings.rules.interval is not None
        moment = settings.partitioner.time(schema) if is_timed else None
        if moment is not None:
            columns.append(moment.alias(_TIME))
        if (text := settings.partitioner.field_text(schema)) is not None:
            columns.append(text.alias(_TEXT))
        if settings.rules.size is not None:
            columns.append(_size(encoded.column, encoded.type).alias(_SIZE))
        columns.append(encoded.column.alias(VALUE))
        kept: dict[str, spark.DataType] = {OFFSET: spark.LongType(), VALUE: encoded.type}
        for name, part in settings.record_columns.items():
            column, kept[name] = _record_column(part, frame.key_schema)
            columns.append(column.alias(name))
        kept[FILE] = spark.LongType()
        return RecordForm(len(self._by_number), columns, kept, [*encoded.rows, *settings.record_columns], moment)


def _record_column(part: str, key_schema: Schema | None) -> tuple[Column, spark.DataType]:
    if part == _KEY:
        return with_nulls(F.col(_KEY), key_schema)
    column, kind = _RECORD_COLUMNS[part]
    return column(), kind


def _size(column: Column, kind: spark.DataType) -> Column:
    """Return the bytes of a value, those of a struct as JSON."""
    if isinstance(kind, spark.StringType | spark.BinaryType):
        return F.octet_length(column)
    return F.octet_length(F.to_json(F.struct(column.alias(VALUE))))


def _first_place(rows: pa.Table) -> str:
    first = rows.select([name for name in (_READ_FROM, _TOPIC, _PARTITION, OFFSET) if name in rows.column_names])
    row = first.slice(0, 1).to_pylist()[0]
    return f"{row.get(_READ_FROM, row[_TOPIC])}-{row[_PARTITION]}@{row[OFFSET]}"
