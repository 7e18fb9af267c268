"""Reads a statement's rows with Spark, and their metadata: offsets, keys, columns.

A target is a table, or the user's query. Frames are ranges with both ends, so that a range that is read again after
the connection was lost has the same rows.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.database import Connection, HeldConnection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.connectors.jdbc.source.columns import (
    JdbcColumn,
    Options,
    ReadColumns,
    jdbc_columns,
    ordered,
    read_columns,
)
from connect_dagster.connectors.jdbc.source.config import JdbcSourceConfig
from connect_dagster.connectors.jdbc.source.query_slot import QuerySlot
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import Partition, Zone
from connect_dagster.plugin.frames import Offsets, SourceFrame, SourceQuery
from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

log = logging.getLogger(__name__)

Made = TypeVar("Made")

_FETCH_ROWS = 2_000
# An eighth of a batch is a megabyte, as estimated: rows that become 50 times larger have 50.
_FETCHES_OF_BATCH = 8
_SAMPLE_ROWS = 50
_BATCH_BYTES = 8 << 20
# Of encoded records; these have names of fields that rows lack.
_LARGE_BYTES = 4 * _BATCH_BYTES
_GROWTH = 4
_FIRST_ROWS, _MOST_ROWS = 200, 150_000
# A smaller batch is read as fast by one connection.
_PARALLEL_ROWS = 4_000
# Queries that are planned: over one connection and over several, before and after columns or sizes have changed.
_MOST_KEPT = 4


@dataclass(frozen=True, slots=True)
class Target:
    """The statement to read.

    Attributes:
        select: statement without conditions.
        name: its name in messages.
        topic: the topic of its records.
        partition: the source partition of its offsets.
        table: ``None`` for a query.
    """

    select: str
    name: str
    topic: str
    partition: Partition
    table: TableId | None = None

    @property
    def schema_name(self) -> str | None:
        """Return the name of the records' schema."""
        return None if self.table is None else self.table.name


_SparkOptions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Planned:
    slot: QuerySlot
    df: DataFrame


@dataclass(frozen=True, slots=True)
class Key:
    """The primary key of a table.

    Attributes:
        columns: their names, in the key's order.
        whole: whether it is one column of whole numbers.
    """

    columns: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Rows to read: a condition, empty for all, and ranges within it by a column of whole numbers.

    Attributes:
        where: the condition.
        column: the quoted column that divides them; ``None`` for one part.
        low, high: least and greatest value of that column.
        rows: an estimate of their number.
        full: whether they are as many as a batch had at that time.
    """

    where: str
    column: str | None = None
    low: int = 0
    high: int = 0
    rows: int = 0
    full: bool = False

    def parts(self, most: int) -> list[str]:
        """Return conditions that divide the rows among at most ``most`` connections."""
        count = min(most, self.high - self.low + 1) if self.column and self.rows >= _PARALLEL_ROWS else 1
        if count < 2:
            return []
        width = self.high - self.low + 1
        edges = [self.low + width * number // count for number in range(1, count)]
        between = [f"{self.column} >= {a} AND {self.column} < {b}" for a, b in itertools.pairwise(edges)]
        return [f"{self.column} < {edges[0]}", *between, f"{self.column} >= {edges[-1]}"]


class RowReader:
    """A reader of one target.

    Args:
        spark: the worker's session.
        config: the task's configuration.
        target: the target to read.
        connection: the task's connection.
        rate: of the task.

    Attributes:
        spark: the worker's session.
        target: the target to read.
        config: the task's configuration.
        zone: of the database's times without a zone.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: JdbcSourceConfig,
        target: Target,
        connection: HeldConnection,
        rate: Rate = UNLIMITED,
    ) -> None:
        self.target = target
        self.config = config
        self.zone = Zone(config.zone)
        self.spark = spark
        self._database = config.database()
        self._connection = connection
        given = config.most_rows
        self._given_rows = given if rate.records == math.inf else rate.cap_records(given or _MOST_ROWS)
        self._rows_of_batch: int | None = self._given_rows
        self._most_rows = self._given_rows or _MOST_ROWS
        self._guessed = False
        self._said: str | None = None
        self._key: Key | None = None
        self._schema = Schema(SchemaType.STRUCT)
        self._columns = Options(self.dialect, config.numeric_mapping, config.granularity, config.zone)
        self._read_columns = functools.lru_cache(maxsize=1)(self._columns_of)
        self._planned = functools.lru_cache(maxsize=_MOST_KEPT)(self._plan)

    @property
    def dialect(self) -> Dialect:
        """Return the dialect of the database."""
        return self._database.dialect

    @property
    def connection(self) -> Connection:
        """Return the task's own connection, for metadata and offsets. Raises DatabaseError."""
        return self._connection.get()

    def column(self, name: str) -> str:
        """Quote a column of the target."""
        return self.dialect.quoting.column(self.target.table, name)

    def selecting(self, columns: str) -> str:
        """Return the beginning of a statement about columns of the target's table, which must exist."""
        assert self.target.table is not None
        return f"SELECT {columns} FROM {self.dialect.quoting.table(self.target.table)}"

    def told_time(self, shown: int) -> int:
        """Return the instant of a time of the database's clock."""
        return self.zone.instant(shown) if self.dialect.now_on_wall else shown

    def announce(self, text: str) -> None:
        """Log the statement, unless it is the one that was logged last."""
        if text != self._said:
            shown = "[hidden]" if self.config.masked_query is not None else text
            log.info("Begin using SQL query: %s", shown)
            self._said = text

    def statement(self, where: str, *, select: str | None = None) -> str:
        """Return the target's statement with a condition.

        Args:
            where: the condition; empty for none.
            select: the statement without it, by default the target's.
        """
        return f"{select or self.target.select}{' WHERE ' if where else ''}{where}"

    def described(self) -> list[JdbcColumn]:
        """Return the target's current columns."""
        sql = self.statement("1 = 0") if self.target.table else f"SELECT * FROM ({self.target.select}) q WHERE 1 = 0"
        return list(self.connection.column_metadata(sql, jdbc_columns))

    def read_columns(self) -> ReadColumns:
        """Return the fields of the target's current columns."""
        return self._read_columns(tuple(self.described()))

    def key(self) -> Key | None:
        """Return the table's primary key; ``None`` without one."""
        if self.target.table is None:
            return None
        if self._key is None:
            names = self._key_columns(self.target.table)
            columns = self.read_columns()
            whole = [column for name in names if (column := columns.named(name)) and _is_whole(column.schema)]
            self._key = Key(tuple(names), len(names) == 1 and len(whole) == 1)
        return self._key if self._key.columns else None

    def is_indexed(self, column: str) -> bool:
        """Return whether an index begins with a column of the table."""
        if self.target.table is None:
            return False
        table = self.connection.located(self.target.table)
        first = self.connection.metadata(f"the indexes of {table}", lambda metadata: _first_columns(metadata, table))
        return column.lower() in first

    def batch_rows(self) -> int:
        """Return the number of rows in a batch: as configured, else for some megabytes, and few at first."""
        if self._rows_of_batch is None:
            rows = self.rows(self.dialect.some(self._unsorted(), _SAMPLE_ROWS), self.read_columns())
            with self.translated_errors():
                sample = rows.toArrow()
            bytes_each = max(1, sample.nbytes // max(1, sample.num_rows))
            self._guessed = sample.num_rows < _SAMPLE_ROWS
            most = _FIRST_ROWS if self._guessed else _MOST_ROWS
            self._most_rows = max(1, min(most, _BATCH_BYTES // bytes_each))
            self._rows_of_batch = self._most_rows
        return self._rows_of_batch

    def measured(self, rows: int, size: int) -> None:
        """Fit batches to their measured bytes; called by another thread than the other methods.

        Args:
            rows: in a batch.
            size: of its records, encoded, in bytes.
        """
        if self._given_rows is not None or self._rows_of_batch is None:
            return
        fitted = fitted_rows(self._rows_of_batch, self._most_rows, rows, size)
        if fitted != self._rows_of_batch:
            log.info("Batches of %s have %d rows now: %d had %d bytes", self.target.name, fitted, rows, size)
            self._rows_of_batch, self._guessed = fitted, False

    def outgrown(self, rows: int) -> bool:
        """Return whether ``rows`` fill a batch whose size was guessed; the size is then estimated again."""
        if not self._guessed or rows < self.batch_rows():
            return False
        self._rows_of_batch, self._guessed = None, False
        return True

    def rows(self, sql: str, columns: ReadColumns, parts: Sequence[str] = ()) -> DataFrame:
        """Return the rows of a statement, lazily.

        Args:
            sql: the statement, unsorted, as databases ignore the order of a derived table.
            columns: the columns to read.
            parts: conditions that divide the rows, each read over a separate connection.
        """
        options = dict(self._options(columns))
        url, table = options.pop("url"), _table(sql)
        with self.translated_errors():
            if parts:
                return self.spark.read.jdbc(url, table, predicates=list(parts), properties=options)
            return self.spark.read.jdbc(url, table, properties=options)

    def translated_errors(self) -> AbstractContextManager[None]:
        """Convert errors of Spark that come from the database to a ``DatabaseError``."""
        return self._database.translated_errors(f"Cannot read {self.target.name} of {self._database.shown}")

    def frame(
        self,
        rows: DataFrame,
        columns: ReadColumns,
        place: Partition,
        offset: dict[str, Any] | None,
        *others: tuple[Partition, dict[str, Any] | None],
    ) -> SourceFrame:
        """Return rows as records.

        Args:
            rows: as read, in their order.
            columns: the columns they were read with.
            place: source partition; empty for rows without one.
            offset: after the rows; ``None`` deletes the stored one.
            others: further source partitions with their offsets.
        """
        records = self._records(rows, columns)
        return self._batch(functools.partial(SourceFrame, records), columns, place, offset, others)

    def range_query(
        self,
        rows: Range,
        order: Sequence[Sequence[str]],
        place: Partition,
        offset: dict[str, Any] | None,
        *others: tuple[Partition, dict[str, Any] | None],
    ) -> SourceQuery | SourceFrame:
        """Return the rows of a range as records, sorted by columns of the target as :func:`ordered` does."""
        columns = self.read_columns()
        select = None if columns.all or self.target.table is None else self._named(columns)
        sql = self.statement(rows.where, select=select)
        parts = tuple(rows.parts(self.config.parallel_reads))
        sorted_by = tuple(map(tuple, order))

        def read() -> DataFrame:
            return self._records(ordered(self.rows(sql, columns, parts), columns, sorted_by), columns)

        planned = self._planned(columns, self._options(columns), sorted_by, len(parts))
        if planned is None:
            return self._batch(functools.partial(SourceFrame, read()), columns, place, offset, others)
        query = functools.partial(SourceQuery, planned.df, lambda: planned.slot.set(_table(sql), parts), read)
        return self._batch(query, columns, place, offset, others)

    def deleted_frame(self, keys: DataFrame, columns: ReadColumns) -> SourceFrame:
        """Return tombstones for keys, given as they were read."""
        schema = self._key_schema(columns)
        assert schema is not None
        key = columns.only([field.name for field in schema.fields]).struct().alias("key")
        return SourceFrame(
            df=keys.select(F.lit(None).cast("string").alias("value"), key),
            source_partition={},
            source_offset=None,
            topic=self.target.topic,
            value_schema=None,
            key_schema=schema,
        )

    def _columns_of(self, described: tuple[JdbcColumn, ...]) -> ReadColumns:
        return read_columns(described, self._columns, self.target.name)

    def _plan(
        self, columns: ReadColumns, _: _SparkOptions, order: Sequence[Sequence[str]], parts: int
    ) -> _Planned | None:
        """Return a DataFrame for ranges; ``None`` where this Spark plans for each."""
        rows = self.rows(self.target.select, columns, ["1 = 0"] * parts)
        try:
            slot = QuerySlot(rows)
        except (Py4JError, TypeError, AttributeError) as error:
            log.info("Spark's JDBC source has other parts than in Spark 4.1, each batch is planned: %s", error)
            return None
        return _Planned(slot, self._records(ordered(rows, columns, order), columns))

    def _records(self, rows: DataFrame, columns: ReadColumns) -> DataFrame:
        made = [columns.struct().alias("value")]
        key_schema = self._key_schema(columns)
        if key_schema is not None:
            made.append(columns.only([field.name for field in key_schema.fields]).struct().alias("key"))
        return rows.select(*made)

    def _batch(
        self,
        make: Callable[..., Made],
        columns: ReadColumns,
        place: Partition,
        offset: dict[str, Any] | None,
        others: Offsets,
    ) -> Made:
        return make(
            source_partition=place,
            source_offset=offset,
            other_offsets=others,
            topic=self.target.topic,
            value_schema=self._same(columns.schema(self.target.schema_name)),
            key_schema=self._key_schema(columns),
        )

    def _same(self, schema: Schema) -> Schema:
        """Return the object of an earlier equal schema: converters keep their expressions by it."""
        if schema != self._schema:
            self._schema = schema
        return self._schema

    def _key_schema(self, columns: ReadColumns) -> Schema | None:
        """Return the schema of the keys, where deletes are scanned for."""
        key = self.key() if self.config.delete_scan_interval_ms else None
        if key is None:
            return None
        found = [column for name in key.columns if (column := columns.named(name)) is not None]
        return Schema(SchemaType.STRUCT, fields=tuple(SchemaField(column.name, column.schema) for column in found))

    def _named(self, columns: ReadColumns) -> str:
        return self.selecting(", ".join(self.dialect.quoting.name(column.name) for column in columns.columns))

    def _unsorted(self) -> str:
        """Return unsorted rows: a query may end in a clause that another cannot follow."""
        return self.target.select if self.target.table else f"SELECT * FROM ({self.target.select}) q"

    def _key_columns(self, table: TableId) -> list[str]:
        table = self.connection.located(table)
        return list(
            self.connection.metadata(f"the primary key of {table}", lambda metadata: _key_names(metadata, table))
        )

    def _fetch_rows(self) -> int:
        if self.config.most_rows is not None:
            return min(_FETCH_ROWS, self.config.most_rows)
        of_batch = self._rows_of_batch or 0
        return min(_FETCH_ROWS, max(_SAMPLE_ROWS, of_batch // _FETCHES_OF_BATCH), of_batch or _SAMPLE_ROWS)

    @functools.cached_property
    def _connecting(self) -> Mapping[str, str]:
        return self._database.spark_options()  # asks all drivers for the URL

    def _options(self, columns: ReadColumns) -> _SparkOptions:
        options = {**self._connecting, **self._reading_options(), "customSchema": columns.custom_schema}
        return tuple(options.items())

    def _reading_options(self) -> dict[str, str]:
        # A driver holds the rows that it has fetched, in the JVM's heap.
        options = {"fetchsize": str(self._fetch_rows())}
        if self.config.isolation != "DEFAULT":
            level = self.config.isolation.replace("_", " ")
            options["sessionInitStatement"] = self.dialect.session_isolation.format(level)
        return options


def _table(sql: str) -> str:
    return f"({sql}) connect_rows"


def fitted_rows(current: int, most: int, rows: int, size: int) -> int:
    """Return the number of rows for further batches: fewer behind a large one, more again behind small ones.

    Args:
        current: number of rows in a batch.
        most: by the estimate.
        rows: in the batch that was measured, which may have been read before ``current`` was set.
        size: of its records, encoded, in bytes.
    """
    if size > _LARGE_BYTES:
        return max(1, min(current, _BATCH_BYTES * rows // size))
    if rows >= current and size * _GROWTH < _BATCH_BYTES:
        return max(current, min(most, current * _GROWTH))
    return current


def _is_whole(schema: Schema) -> bool:
    return schema.name is None and schema.type.value.startswith("int")


def _key_names(metadata: Any, table: TableId) -> list[str]:
    found = metadata.getPrimaryKeys(table.catalog, table.schema, table.name)
    places = {}
    while found.next():
        places[int(found.getShort("KEY_SEQ"))] = str(found.getString("COLUMN_NAME"))
    return [places[place] for place in sorted(places)]


def _first_columns(metadata: Any, table: TableId) -> set[str]:
    found = metadata.getIndexInfo(table.catalog, table.schema, table.name, False, True)
    names = set()
    while found.next():
        if int(found.getShort("ORDINAL_POSITION")) == 1:
            names.add(str(found.getString("COLUMN_NAME")).lower())
    return names
