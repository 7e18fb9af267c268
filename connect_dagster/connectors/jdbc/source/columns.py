"""The columns of a query: how Spark reads each over JDBC, and the field of a record it becomes.

Java: ``GenericDatabaseDialect.addFieldToSchema``; a type that has no field is left out, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType

log = logging.getLogger(__name__)

# java.sql.Types
BIT, TINYINT, SMALLINT, INTEGER, BIGINT = -7, -6, 5, 4, -5
FLOAT, REAL, DOUBLE, NUMERIC, DECIMAL_TYPE = 6, 7, 8, 2, 3
DATE_TYPE, TIME_TYPE, TIMESTAMP_TYPE, TIME_WITH_ZONE, TIMESTAMP_WITH_ZONE = 91, 92, 93, 2013, 2014
BOOLEAN, OTHER = 16, 1111
_TEXTS = frozenset({1, 12, -1, -15, -9, -16, 2005, 2011, 70, 2009})
_BYTES = frozenset({-2, -3, -4, 2004})
_POSTGRESQL_TEXTS = frozenset(
    {"json", "jsonb", "uuid", "inet", "cidr", "macaddr", "interval", "xml", "citext", "varbit"}
)

PRECISION = "connect.decimal.precision"
_MOST_DIGITS = 38
_UNSET_SCALES = (-127, 127)
# PostgreSQL's NUMERIC without precision holds any number: this number of decimal places is kept.
_SCALE_OF_UNBOUNDED = 18

Made = Callable[[SparkColumn], SparkColumn]


@dataclass(frozen=True, slots=True)
class JdbcColumn:
    """A column as the driver describes it.

    Attributes:
        type: one of ``java.sql.Types``.
        type_name: the database's own word.
        optional: whether it may be null, as far as the driver knows.
        incrementing: whether the database numbers it.
    """

    name: str
    type: int
    type_name: str = ""
    precision: int = 0
    scale: int = 0
    signed: bool = True
    optional: bool = True
    incrementing: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """The options that decide on fields.

    Attributes:
        dialect: of the database.
        numeric_mapping: ``numeric.mapping``, in lower case.
        granularity: ``timestamp.granularity``, in lower case.
        zone: ``db.timezone``.
    """

    dialect: Dialect
    numeric_mapping: str = "none"
    granularity: str = "connect_logical"
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column that becomes a field.

    Attributes:
        name: its name.
        schema: of the field.
        read_as: Spark's type for reading it, as in CREATE TABLE.
        made: the field's value from what was read.
    """

    name: str
    schema: Schema
    read_as: str
    made: Made


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """All columns of a query that become fields.

    Attributes:
        columns: in their order.
        all: whether the query has only these.
    """

    columns: tuple[ReadColumn, ...]
    all: bool

    def schema(self, name: str | None) -> Schema:
        """Return the schema of the records."""
        return Schema(SchemaType.STRUCT, name=name, fields=tuple(SchemaField(c.name, c.schema) for c in self.columns))

    @property
    def custom_schema(self) -> str:
        """Return Spark's option ``customSchema``."""
        return ", ".join(f"{spark_name(column.name)} {column.read_as}" for column in self.columns)

    def struct(self) -> SparkColumn:
        """Return the values of all fields."""
        fields = (
            column.made(F.col(spark_name(column.name))).cast(column.schema.to_spark()).alias(column.name)
            for column in self.columns
        )
        return F.struct(*fields)

    def only(self, names: Sequence[str]) -> ReadColumns:
        """Return the columns of these names, in the names' order."""
        return ReadColumns(tuple(column for name in names if (column := self.named(name)) is not None), False)

    def named(self, name: str) -> ReadColumn | None:
        """Return a column by its name, else by its name in another case."""
        exact = [column for column in self.columns if column.name == name]
        alike = [column for column in self.columns if column.name.lower() == name.lower()]
        return next(iter(exact or alike), None)


def spark_name(column: str) -> str:
    """Return a column's name quoted for Spark."""
    return f"`{column.replace('`', '``')}`"


def ordered(rows: DataFrame, columns: ReadColumns, order: Sequence[Sequence[str]]) -> DataFrame:
    """Sort the rows of each partition; of several columns for one sort key the first that is not null counts."""
    places = [[column.name for name in names if (column := columns.named(name)) is not None] for names in order]
    by = [F.coalesce(*map(F.col, map(spark_name, names))) for names in places if names]
    return rows.sortWithinPartitions(*by) if by else rows


def has_zone(column: JdbcColumn) -> bool:
    """Return whether a column holds instants rather than local times."""
    return column.type == TIMESTAMP_WITH_ZONE or column.type_name.lower() == "timestamptz"


def jdbc_columns(metadata: Any) -> list[JdbcColumn]:
    """Return the columns of a ``ResultSetMetaData``."""
    return [_jdbc_column(metadata, place) for place in range(1, int(metadata.getColumnCount()) + 1)]


def read_columns(columns: Sequence[JdbcColumn], options: Options, place: str) -> ReadColumns:
    """Return the fields of columns.

    Args:
        columns: as the driver knows them.
        options: what decides on fields.
        place: table or query, for the log.
    """
    found = [_read_column(column, options) for column in columns]
    for column, read in zip(columns, found, strict=True):
        if read is None:
            log.warning(
                "JDBC type %d (%s) not currently supported: column %s of %s is left out",
                column.type,
                column.type_name,
                column.name,
                place,
            )
    return ReadColumns(tuple(read for read in found if read is not None), all(found))


def _jdbc_column(metadata: Any, place: int) -> JdbcColumn:
    return JdbcColumn(
        name=str(metadata.getColumnLabel(place)),
        type=int(metadata.getColumnType(place)),
        type_name=str(metadata.getColumnTypeName(place) or ""),
        precision=int(metadata.getPrecision(place)),
        scale=int(metadata.getScale(place)),
        signed=bool(metadata.isSigned(place)),
        optional=int(metadata.isNullable(place)) != 0,
        incrementing=bool(metadata.isAutoIncrement(place)),
    )


def _read_column(column: JdbcColumn, options: Options) -> ReadColumn | None:
    found = _special(column, options) or _by_type(column, options)
    if found is None:
        return None
    schema, read_as, made = found
    return ReadColumn(column.name, schema, read_as, made)


_Field = tuple[Schema, str, Made]


def _by_type(column: JdbcColumn, options: Options) -> _Field | None:
    make = _FIELDS.get(column.type)
    return None if make is None else make(column, options)


def _special(column: JdbcColumn, options: Options) -> _Field | None:
    """Return the field of a column that drivers report differently."""
    if options.dialect.is_mysql and column.type == BIT and column.precision > 1:
        return _bits(column)
    if not options.dialect.is_postgresql:
        return None
    name = column.type_name.lower()
    if column.type == BIT:
        if column.precision <= 1:
            return _plain(SchemaType.BOOLEAN, "BOOLEAN")(column, options)
        return _plain(SchemaType.STRING, "STRING")(column, options)
    if name in _POSTGRESQL_TEXTS:
        return _plain(SchemaType.STRING, "STRING")(column, options)
    if name == "timestamptz":
        return _instant(column, options)
    return None


def _bits(column: JdbcColumn) -> _Field:
    """Return the field of MySQL's BIT(n), which Spark's dialect reads as a number."""
    digits = 2 * ((column.precision + 7) // 8)

    def made(number: SparkColumn) -> SparkColumn:
        return F.when(number.isNotNull(), F.unhex(F.lpad(F.hex(number), digits, "0")))

    return Schema(SchemaType.BYTES, column.optional), "BIGINT", made


def _plain(kind: SchemaType, read_as: str) -> Callable[[JdbcColumn, Options], _Field]:
    return lambda column, _: (Schema(kind, column.optional), read_as, lambda value: value)


def _whole(signed: str, unsigned: str) -> Callable[[JdbcColumn, Options], _Field]:
    def field(column: JdbcColumn, options: Options) -> _Field:
        return _integers[signed if column.signed else unsigned](column, options)

    return field


def _numeric(column: JdbcColumn, options: Options) -> _Field:
    precision, scale = column.precision, column.scale
    if _is_unbounded(column, options):
        return _decimal(column, options)
    fits, whole = precision <= 18, -84 <= scale < 1
    match options.numeric_mapping:
        case "precision_only" if fits and scale == 0:
            return _integer_of(precision)(column, options)
        case "best_fit" | "best_fit_eager_double" if fits and whole:
            return _integer_of(precision)(column, options)
        case "best_fit" if fits and scale > 0:
            return _double(column, options)
        case "best_fit_eager_double" if scale > 0:
            return _double(column, options)
    return _decimal(column, options)


def _is_unbounded(column: JdbcColumn, options: Options) -> bool:
    return options.dialect.is_postgresql and column.precision == 0


def _integer_of(precision: int) -> Callable[[JdbcColumn, Options], _Field]:
    return _integers["BIGINT" if precision > 9 else "INT" if precision > 4 else "SMALLINT" if precision > 2 else "BYTE"]


def _decimal(column: JdbcColumn, options: Options) -> _Field:
    scale = column.scale
    if scale in _UNSET_SCALES or _is_unbounded(column, options):
        scale = _SCALE_OF_UNBOUNDED
    parameters = (("scale", str(scale)), (PRECISION, str(column.precision)))
    schema = Schema(SchemaType.BYTES, column.optional, DECIMAL, 1, parameters=parameters)
    digits = column.precision if 0 < column.precision <= _MOST_DIGITS else _MOST_DIGITS
    if scale < 0:  # Spark knows none: the number is whole
        return schema, "DECIMAL(38,0)", lambda value: value
    return schema, f"DECIMAL({max(digits, scale)},{scale})", lambda value: value


def _time(column: JdbcColumn, _: Options) -> _Field:
    return Schema(SchemaType.INT32, column.optional, TIME, 1), "STRING", _milliseconds_of_day


def _milliseconds_of_day(text: SparkColumn) -> SparkColumn:
    """Return milliseconds of ``12:34:56.789``; a zone after it is ignored, as the time is local."""
    parts = F.split(F.regexp_extract(text, r"^\d+:\d+(?::\d+(?:\.\d+)?)?", 0), ":")
    hours, minutes = parts[0].cast("int"), parts[1].cast("int")
    seconds = F.coalesce(F.get(parts, F.lit(2)).cast("decimal(12,9)"), F.lit(0))
    return ((hours * 60 + minutes) * 60_000 + F.floor(seconds * 1000)).cast("int")


def _timestamp(column: JdbcColumn, options: Options) -> _Field:
    """Return the field of a local time, which depends on ``db.timezone``.

    JVMs and sessions run in UTC: the local time is read as an instant of UTC, for half of what ``TIMESTAMP_NTZ`` costs.
    """

    def made(shown: SparkColumn) -> SparkColumn:
        return shown if options.zone == "UTC" else F.to_utc_timestamp(shown, options.zone)

    return _granular(column, options, made)


def _instant(column: JdbcColumn, options: Options) -> _Field:
    return _granular(column, options, lambda value: value)


def _granular(column: JdbcColumn, options: Options, instant: Made) -> _Field:
    optional = column.optional
    if options.granularity == "connect_logical":
        return Schema(SchemaType.INT64, optional, TIMESTAMP, 1), "TIMESTAMP", instant
    kind, written = _GRANULARITIES[options.granularity]
    return Schema(kind, optional), "TIMESTAMP", lambda value: written(instant(value), options.zone)


def _iso(digits: int) -> Callable[[SparkColumn, str], SparkColumn]:
    def text(instant: SparkColumn, zone: str) -> SparkColumn:
        shown = instant if zone == "UTC" else F.from_utc_timestamp(instant, zone)
        return F.concat(F.date_format(shown, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"), F.lit("0" * (digits - 6)))

    return text


# Spark's times have six digits: nanoseconds end in three zeros.
_GRANULARITIES: Mapping[str, tuple[SchemaType, Callable[[SparkColumn, str], SparkColumn]]] = {
    "micros_long": (SchemaType.INT64, lambda instant, _: F.unix_micros(instant)),
    "micros_string": (SchemaType.STRING, lambda instant, _: F.unix_micros(instant).cast("string")),
    "micros_iso_datetime_string": (SchemaType.STRING, _iso(6)),
    "nanos_long": (SchemaType.INT64, lambda instant, _: F.unix_micros(instant) * 1000),
    "nanos_string": (SchemaType.STRING, lambda instant, _: (F.unix_micros(instant) * 1000).cast("string")),
    "nanos_iso_datetime_string": (SchemaType.STRING, _iso(9)),
}
NUMERIC_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")
GRANULARITIES = ("connect_logical", *_GRANULARITIES)

_integers = {
    "BYTE": _plain(SchemaType.INT8, "BYTE"),
    "SMALLINT": _plain(SchemaType.INT16, "SMALLINT"),
    "INT": _plain(SchemaType.INT32, "INT"),
    "BIGINT": _plain(SchemaType.INT64, "BIGINT"),
}
_double = _plain(SchemaType.FLOAT64, "DOUBLE")
_FIELDS: Mapping[int, Callable[[JdbcColumn, Options], _Field]] = {
    BOOLEAN: _plain(SchemaType.BOOLEAN, "BOOLEAN"),
    BIT: _plain(SchemaType.INT8, "BYTE"),
    TINYINT: _whole("BYTE", "SMALLINT"),
    SMALLINT: _whole("SMALLINT", "INT"),
    INTEGER: _whole("INT", "BIGINT"),
    BIGINT: _integers["BIGINT"],
    REAL: _plain(SchemaType.FLOAT32, "FLOAT"),
    FLOAT: _double,
    DOUBLE: _double,
    NUMERIC: _numeric,
    DECIMAL_TYPE: _decimal,
    DATE_TYPE: lambda column, _: (Schema(SchemaType.INT32, column.optional, DATE, 1), "DATE", lambda value: value),
    TIME_TYPE: _time,
    TIME_WITH_ZONE: _time,
    TIMESTAMP_TYPE: _timestamp,
    TIMESTAMP_WITH_ZONE: _instant,
    **dict.fromkeys(_TEXTS, _plain(SchemaType.STRING, "STRING")),
    **dict.fromkeys(_BYTES, _plain(SchemaType.BYTES, "BINARY")),
}
