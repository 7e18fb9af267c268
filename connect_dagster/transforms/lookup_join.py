"""LookupJoin: adds columns of a table to the values of records, which Kafka Connect has nothing like.

Example:
    transforms.country.type=LookupJoin
    transforms.country.format=csv
    transforms.country.path=/data/countries.csv
    transforms.country.options.header=true
    transforms.country.fields=country_code
    transforms.country.keys=code
    transforms.country.columns=name:country_name,region

Each record is joined by itself: nothing is remembered of other records. The table is anything that Spark reads as a
batch; it is kept in memory, sent to where the records are, and read again after ``refresh.interval.ms``. Of rows with
equal keys one is taken. Records without a match get nulls, or are left out (``join.type=inner``); nulls match nothing.
Without a schema, objects of JSON get the columns as fields; what is none stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

from pydantic import model_validator
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.errors import ConfigError, DataError, RetriableError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.java_patterns import non_empty_list
from connect_dagster.expressions.spark_schemas import connect_schema
from connect_dagster.expressions.struct_edits import rebuilt, struct_of
from connect_dagster.plugin.config import ConfigDef, Importance, Type, at_least, config_key, non_empty_string, one_of
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_LEFT, _INNER = "left", "inner"
_FOUND, _KEY = "__found", "__lookup_key_"


class LookupJoinConfig(ConfigDef):
    """Options of the transform; ``options.<name>`` goes to the format as ``<name>``."""

    format: str = config_key(
        "format",
        default="parquet",
        importance=Importance.HIGH,
        validator=non_empty_string,
        doc="What the table is: a format of Spark, or one that spark.jars of the worker brings, such as delta.",
    )
    path: str | None = config_key(
        "path", default=None, importance=Importance.HIGH, doc="Where the table is, for formats that have a path."
    )
    fields_: tuple[str, ...] = config_key(
        "fields", importance=Importance.HIGH, validator=non_empty_list, doc="Fields of the value to look up."
    )
    keys_: tuple[str, ...] = config_key(
        "keys",
        default=(),
        doc="Columns of the table that they have to equal, in the order of the fields; left out, those of their names.",
    )
    columns: tuple[str, ...] = config_key(
        "columns",
        importance=Importance.HIGH,
        validator=non_empty_list,
        doc="Columns of the table to add, each as column or column:field.",
    )
    join_type: str = config_key(
        "join.type",
        default=_LEFT,
        validator=one_of(_LEFT, _INNER),
        doc="Whether records without a match stay, with nulls (left), or are left out (inner).",
    )
    refresh: int = config_key(
        "refresh.interval.ms",
        type=Type.LONG,
        default=300_000,
        importance=Importance.LOW,
        validator=at_least(-1),
        doc="How old the table in memory may get before it is read again; -1 for any age.",
    )

    @model_validator(mode="after")
    def _one_key_for_each_field(self) -> Self:
        if self.keys_ and len(self.keys_) != len(self.fields_):
            raise ConfigError.invalid("keys", list(self.keys_), f"There are {len(self.fields_)} fields to look up")
        return self


@dataclass(frozen=True, slots=True)
class _Table:
    """A table in memory: one column for each key, and one struct of what is added."""

    df: DataFrame
    keys: tuple[spark.DataType, ...]
    added: tuple[SchemaField, ...]
    read_at: float


class LookupJoin(Transform):
    """Adds what a table has for a record."""

    config_def: ClassVar[type[ConfigDef]] = LookupJoinConfig
    version = "1.0"

    def __init__(self) -> None:
        self._table: _Table | None = None

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options; the table is read with the first records.

        Raises:
            ConfigError: there are more keys than fields or fewer, or another option is wrong.
        """
        self._options = LookupJoinConfig.parse(config)
        self._keys = self._options.keys_ or self._options.fields_
        pairs = [column.partition(":") for column in self._options.columns]
        self._columns = {name or column: column for column, _, name in pairs}

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with more fields.

        Raises:
            RetriableError: the table cannot be read.
            DataError: the values have no fields, or not those to look up.
        """
        table = self._fresh(frame.df.sparkSession)
        wanted = [self._wanted(frame, name, kind) for name, kind in zip(self._options.fields_, table.keys, strict=True)]
        condition = F.lit(True)
        for i, value in enumerate(wanted):
            condition = condition & (value == F.col(f"{_KEY}{i}"))
        joined = frame.df.join(F.broadcast(table.df), condition, _LEFT)
        if self._options.join_type == _INNER:
            joined = joined.where(frame.or_failed(F.col(_FOUND).isNotNull()))
        column, schema = self._with_found(frame, table)
        df = joined.withColumn("value", column).select(*frame.df.columns)
        if self._options.join_type == _INNER:
            frame = frame.with_rows(df)
        return cast("Frame", replace(cast("Any", frame), df=df, value_schema=schema))

    def close(self) -> None:
        """Give the memory back."""
        self._table = None

    def _wanted(self, frame: RecordFrame, name: str, kind: spark.DataType) -> Column:
        """Return the key to look up in the type of the table's column; null where it does not fit that type."""
        value = frame.column("value")
        if frame.value_schema is None:
            return F.try_variant_get(json_objects.field(value, name), "$", kind.simpleString())
        if frame.value_schema.type is not SchemaType.STRUCT:
            found = frame.value_schema.type.name
            raise DataError(f"LookupJoin needs values that are structs or without a schema, found: {found}")
        names = [field.name for field in frame.value_schema.fields]
        if name not in names:
            raise DataError(f"{name} is not a valid field name; the value has {', '.join(names)}")
        return value.getField(name).try_cast(kind)

    def _with_found(self, frame: RecordFrame, table: _Table) -> tuple[Column, Schema | None]:
        value, found = frame.column("value"), F.col(_FOUND)
        added = {field.name: found.getField(field.name) for field in table.added}
        if frame.value_schema is None:
            return _in_json(value, added), None
        kept = [field for field in frame.value_schema.fields if field.name not in added]
        parts = [*(value.getField(field.name) for field in kept), *added.values()]
        fields = [*kept, *table.added]
        struct = struct_of(value, frame.value_schema, [field.name for field in fields], parts)
        return struct, rebuilt(frame.value_schema, fields, optional=frame.value_schema.optional)

    def _fresh(self, session: SparkSession) -> _Table:
        """Return the table, read again where it is too old."""
        known, oldest = self._table, self._options.refresh
        if known is not None and (oldest < 0 or (time.monotonic() - known.read_at) * 1000 < oldest):
            return known
        self._table = self._read(session)
        return self._table

    def _read(self, session: SparkSession) -> _Table:
        options = self._options.with_prefix("options.")
        started = time.monotonic()
        try:
            source = session.read.format(self._options.format).options(**options).load(self._options.path)
            names = source.columns
            absent = [name for name in (*self._keys, *self._columns.values()) if name not in names]
            if absent:
                raise DataError(f"The lookup table has no column {absent[0]}; it has {', '.join(names)}")
            return self._kept(source, started)
        except PySparkException as error:
            place = self._options.path or self._options.format
            raise RetriableError(f"The lookup table {place} cannot be read: {error}") from error

    def _kept(self, source: DataFrame, started: float) -> _Table:
        types = {field.name: field.dataType for field in source.schema}
        added = tuple(
            SchemaField(name, connect_schema(types[column], True, column)) for name, column in self._columns.items()
        )
        columns = [
            F.col(f"`{self._columns[field.name]}`").cast(field.schema.to_spark()).alias(field.name) for field in added
        ]
        keys = [F.col(f"`{name}`").alias(f"{_KEY}{i}") for i, name in enumerate(self._keys)]
        table = source.select(*keys, F.struct(*columns).alias(_FOUND))
        # Not persist(): Spark would take what it has kept of the same table before, here or in another task.
        kept = table.dropDuplicates([f"{_KEY}{i}" for i in range(len(keys))]).localCheckpoint()
        return _Table(kept, tuple(types[name] for name in self._keys), added, started)


def _in_json(text: Column, added: Mapping[str, Column]) -> Column:
    """Return JSON objects with more fields; other JSON stays."""
    members = [
        F.concat(F.lit(json_objects.key_text(name)), F.coalesce(json_objects.json_of(column), F.lit("null")))
        for name, column in added.items()
    ]
    kept = json_objects.text_of(json_objects.without(json_objects.fields_of(text), list(added)))
    return F.when(json_objects.is_object(text), json_objects.spliced(kept, members)).otherwise(text)
