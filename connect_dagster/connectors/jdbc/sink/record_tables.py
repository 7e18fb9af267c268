"""The records of a batch as Arrow tables, one for each topic, created by one Spark job for each frame.

Records that no table can hold are removed here, and reported if there is a reporter.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.sink.config import JdbcSinkConfig, KeyMode
from connect_dagster.connectors.jdbc.sink.fields import SinkFields
from connect_dagster.connectors.jdbc.sink.merge_order import KEY, OFFSET, PARTITION, TOMBSTONE, TOPIC
from connect_dagster.connectors.jdbc.sink.values import SinkValues
from connect_dagster.errors import ConnectError
from connect_dagster.expressions.value_classes import simple_class_of
from connect_dagster.plugin.frame_columns import ORIGINAL_COORDINATES
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import Schema, SchemaType

_WRONG, _READ_FROM = "wrong", "read_from"
_KEPT = 100
_NO_KEYS = (SchemaType.ARRAY, SchemaType.MAP)
_VALUES = (SchemaType.STRUCT, SchemaType.STRING)

Columns = Callable[[SinkFields], Sequence[Column]]
"""The columns to write, by the fields of records, such as one with the lines of a bulk load."""

Reported = Callable[[SinkFrame, Column], None]
"""Takes records that have no place in a table, with the text for each."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Records of one frame and one topic.

    Attributes:
        topic: names the table.
        read_from: the topic they were read from; another one where transforms have changed that.
        fields: the columns they fill.
        rows: ``topic``; ``partition`` and ``offset`` they were read from; ``key`` (the line of the key's columns) and
            ``tombstone`` where there are keys; and what is written of them.
        frame: the frame itself, for reports.
    """

    topic: str
    read_from: str
    fields: SinkFields
    rows: pa.Table
    frame: SinkFrame

    def taken(self, numbers: Sequence[int]) -> RecordTable:
        """Return the rows of these numbers."""
        return replace(self, rows=self.rows.take(pa.array(numbers, pa.int64())))

    def where(self, condition: pa.ChunkedArray) -> RecordTable:
        """Return the rows for which a condition is true."""
        return replace(self, rows=self.rows.filter(condition))

    def first_offset(self) -> int:
        """Return the lowest offset."""
        return int(pc.min(self.rows[OFFSET]).as_py())

    def starts(self) -> dict[TopicPartition, int]:
        """Return the offset of the first record of each partition."""
        return self._of_partitions("min")

    def ends(self) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each partition."""
        return {place: last + 1 for place, last in self._of_partitions("max").items()}

    def _of_partitions(self, which: str) -> dict[TopicPartition, int]:
        found = self.rows.group_by(PARTITION).aggregate([(OFFSET, which)])
        columns = (found[PARTITION].to_pylist(), found[f"{OFFSET}_{which}"].to_pylist())
        return {TopicPartition(self.read_from, partition): offset for partition, offset in zip(*columns, strict=True)}


@dataclass(frozen=True, slots=True)
class _Form:
    """The columns selected of records of two schemas, which it keeps alive: their identity is its key."""

    key: Schema | None
    value: Schema | None
    fields: SinkFields
    wrong: Column | None
    columns: Sequence[Column]


@dataclass(slots=True)
class RecordTables:
    """A factory of record tables.

    Attributes:
        config: the connector's configuration.
        columns: what is written.
        key_text: text of the columns of a key, by which equal keys are known.
        report: for records without a place; ``None`` makes the first of them an error.
    """

    config: JdbcSinkConfig
    columns: Columns
    key_text: Callable[[SinkFields], Column]
    report: Reported | None
    _usual: str = field(default="", init=False)
    _forms: dict[tuple[int, int, str], _Form] = field(default_factory=dict, init=False)

    def of(self, batch: SinkBatch) -> list[RecordTable]:
        """Return the records of a batch that have a place in a table.

        Raises:
            ConnectError: one has none, without a ``report``.
        """
        return [table for frame in batch for table in self._of_frame(frame)]

    def _of_frame(self, frame: SinkFrame) -> Iterator[RecordTable]:
        if self._fits_nowhere(frame):
            self._refuse(frame, self._text(frame))
            return
        try:
            form = self._form(frame)
        except ConnectError as error:
            self._refuse(frame, F.lit(str(error)), error)
            return
        rows = frame.to_arrow(*form.columns)
        if form.wrong is not None:
            rows = self._without_wrong(frame, rows, form)
        for topic, of_topic in self._by_topic(rows):
            for read_from, together in _by_origin(of_topic, topic):
                yield RecordTable(topic, read_from, form.fields, together, frame)

    def _form(self, frame: SinkFrame) -> _Form:
        """Return the columns selected of records of two schemas; cached, as it takes hundreds of calls into the JVM."""
        key, value = frame.key_schema, frame.value_schema
        wanted = (id(key), id(value), self._usual)
        if wanted not in self._forms:
            fields = SinkFields.of(self.config, self._usual or "?", key, value)
            wrong = self._wrong(value, fields)
            if len(self._forms) >= _KEPT:
                self._forms.clear()
            self._forms[wanted] = _Form(key, value, fields, wrong, self._columns(frame, fields, wrong))
        return self._forms[wanted]

    def _columns(self, frame: SinkFrame, fields: SinkFields, wrong: Column | None) -> list[Column]:
        # Hardly ever another topic than that of the record before: its name is not written a million times.
        columns = [F.nullif(F.col(TOPIC), F.lit(self._usual)).alias(TOPIC)]
        columns += [frame.original_coordinate(name).alias(name) for name in (PARTITION, OFFSET)]
        if frame.has(ORIGINAL_COORDINATES):
            columns.append(frame.original_coordinate(TOPIC).alias(_READ_FROM))
        if self.config.keyed:
            columns += [self.key_text(fields).alias(KEY), F.col("value").isNull().alias(TOMBSTONE)]
        if wrong is not None:
            columns.append(wrong.alias(_WRONG))
        return [*columns, *self.columns(fields)]

    def _by_topic(self, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        named = rows[TOPIC].fill_null(self._usual)
        place = rows.schema.get_field_index(TOPIC)
        parts = list(_parted(rows.set_column(place, TOPIC, named), TOPIC))
        if len(parts) == 1:
            self._usual = parts[0][0]
        yield from parts

    # Records without a place

    @property
    def _needs_key(self) -> bool:
        return self.config.pk_mode is KeyMode.RECORD_KEY

    @property
    def _needs_value(self) -> bool:
        return not self.config.delete_enabled

    def _fits_nowhere(self, frame: SinkFrame) -> bool:
        """Return whether no record of such schemas has a place."""
        key, value = frame.key_schema, frame.value_schema
        return (self._needs_key and (key is None or key.type in _NO_KEYS)) or (
            self._needs_value and (value is None or value.type not in _VALUES)
        )

    def _wrong(self, value: Schema | None, fields: SinkFields) -> Column | None:
        """Return whether a record has no place; ``None`` when all have one."""
        needed = [part for part, is_needed in (("key", self._needs_key), ("value", self._needs_value)) if is_needed]
        missing = [F.col(part).isNull() for part in needed]
        if value is None:  # only tombstones do without a schema
            missing.append(F.col("value").isNotNull())
        missing += self._no_numbers(fields).values()
        return functools.reduce(operator.or_, missing) if missing else None

    def _no_numbers(self, fields: SinkFields) -> dict[str, Column]:
        """Return text fields of ``timestamp.fields.list``, with whether the text is not a number."""
        values = SinkValues(self.config)
        counted = [field for field in fields.all if values.is_counted(field)]
        return {field.name: values.is_no_number(field) for field in counted if field.schema.type is SchemaType.STRING}

    def _without_wrong(self, frame: SinkFrame, rows: pa.Table, form: _Form) -> pa.Table:
        if form.wrong is not None and pc.any(rows[_WRONG]).as_py():
            text = self._text(frame)
            for name, is_none in self._no_numbers(form.fields).items():
                text = F.when(is_none, F.lit(f"Field {name} of timestamp.fields.list holds no number")).otherwise(text)
            self._refuse(frame.where(form.wrong), text)
            rows = rows.filter(pc.invert(rows[_WRONG]))
        return rows.drop_columns(_WRONG)

    def _refuse(self, frame: SinkFrame, text: Column, error: ConnectError | None = None) -> None:
        if self.report is not None:
            self.report(frame, text)
            return
        if error is None:
            (row,) = frame.df.orderBy(PARTITION, OFFSET).limit(1).select(text.alias("text")).collect()
            error = ConnectError(row["text"])
        raise error

    def _text(self, frame: SinkFrame) -> Column:
        """Return Java's text about a record without the key or the value it needs."""
        of_key = self._needs("key", frame.key_schema, "key and non-null Struct or primitive key schema")
        of_value = self._needs(
            "value", frame.value_schema, "Struct or String value and non-null Struct or String schema"
        )
        if not self._needs_key:
            return of_value
        key = frame.key_schema
        return (
            of_key if key is None or key.type in _NO_KEYS else F.when(F.col("key").isNull(), of_key).otherwise(of_value)
        )

    def _needs(self, part: str, schema: Schema | None, needed: str) -> Column:
        name = self.config.originals.get("name", "")
        deletes = str(self.config.delete_enabled).lower()
        head = (
            f"Sink connector '{name}' is configured with 'delete.enabled={deletes}' and "
            f"'pk.mode={self.config.pk_mode.value}' and therefore requires records with a non-null {needed}, "
            "but found record at (topic='"
        )
        kind = "HashMap" if schema is None else simple_class_of(schema.type)
        found = F.when(F.col(part).isNull(), F.lit("null")).otherwise(F.lit(kind))
        schema_text = "null" if schema is None else "Struct" if schema.type is SchemaType.STRUCT else schema.type.value
        timestamp = F.coalesce(F.col("timestamp").cast("string"), F.lit("null"))
        place = (F.col(TOPIC), F.lit("',partition="), F.col(PARTITION), F.lit(",offset="), F.col(OFFSET))
        tail = F.lit(f" {part} and {schema_text} {part} schema.")
        return F.concat(F.lit(head), *place, F.lit(",timestamp="), timestamp, F.lit(") with a "), found, tail)


def starts(tables: Sequence[RecordTable]) -> dict[TopicPartition, int]:
    """Return the offset of the first record of each partition."""
    found: dict[TopicPartition, int] = {}
    for table in tables:
        for place, first in table.starts().items():
            found[place] = min(first, found.get(place, first))
    return found


def _by_origin(rows: pa.Table, topic: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the records by the topic they were read from, which is the given one where no transform can change it."""
    if _READ_FROM not in rows.column_names:
        yield topic, rows
        return
    yield from _parted(rows, _READ_FROM)


def _parted(rows: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows by the texts in a column; not copied where all are the same."""
    texts = pc.unique(rows[column]).to_pylist()
    for text in texts:
        yield text, rows if len(texts) == 1 else rows.filter(pc.equal(rows[column], text))
