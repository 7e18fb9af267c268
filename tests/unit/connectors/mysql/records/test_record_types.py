"""Fields of records for columns of each type, in all modes."""

import datetime
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_type

from connect_dagster.connectors.mysql.decode.columns import decode
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.records.type_modes import (
    BigIntUnsignedMode,
    BinaryMode,
    DecimalMode,
    TimePrecisionMode,
    TypeModes,
)
from connect_dagster.connectors.mysql.records.types import (
    EPOCH_TIMESTAMP,
    field_type,
    row_type,
    short_timestamps,
    unscaled_unsigned,
)
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from tests import binlog

PLAIN = TypeModes()
CONNECT = TypeModes(times=TimePrecisionMode.CONNECT)
ISO = TypeModes(times=TimePrecisionMode.ISOSTRING)
MOMENT = (2020, 2, 29, 10, 20, 30, 123456)
MICROS = 1_582_971_630_123456
UTC = datetime.UTC
POINT = struct.pack("<IBIdd", 4326, 1, 1, 1.5, -2.0)

FIELDS: dict[str, tuple[Column, TypeModes, binlog.Column, Any, str, Any]] = {
    # name: column, modes, how it is stored, value, schema, what is sent
    "tinyint": (Column("c", "TINYINT"), PLAIN, binlog.integer(1, 1, signed=True), -1, "int16", -1),
    "tinyint unsigned": (
        Column("c", "TINYINT UNSIGNED"),
        PLAIN,
        binlog.integer(1, 1, signed=False),
        255,
        "int16",
        255,
    ),
    "boolean": (Column("c", "BOOLEAN"), PLAIN, binlog.integer(1, 1, signed=True), 1, "boolean", True),
    "smallint unsigned": (
        Column("c", "SMALLINT UNSIGNED ZEROFILL"),
        PLAIN,
        binlog.integer(2, 2, signed=False),
        65535,
        "int32",
        65535,
    ),
    "mediumint": (Column("c", "MEDIUMINT"), PLAIN, binlog.integer(9, 3, signed=True), -5, "int32", -5),
    "int": (Column("c", "INT"), PLAIN, binlog.integer(3, 4, signed=True), -5, "int32", -5),
    "int unsigned": (Column("c", "INT UNSIGNED"), PLAIN, binlog.integer(3, 4, signed=False), 1 << 31, "int64", 1 << 31),
    "bigint unsigned": (
        Column("c", "BIGINT UNSIGNED"),
        PLAIN,
        binlog.integer(8, 8, signed=False),
        (1 << 64) - 1,
        "int64",
        -1,
    ),
    "bigint unsigned, precise": (
        Column("c", "BIGINT UNSIGNED"),
        TypeModes(unsigned_bigints=BigIntUnsignedMode.PRECISE),
        binlog.integer(8, 8, signed=False),
        (1 << 64) - 1,
        "bytes org.apache.kafka.connect.data.Decimal scale=0 connect.decimal.precision=20",
        b"\0" + b"\xff" * 8,
    ),
    "float": (Column("c", "FLOAT"), PLAIN, binlog.floating(4, "<f"), 1.5, "float", 1.5),
    "float(7,2)": (Column("c", "FLOAT", 7, 2), PLAIN, binlog.floating(4, "<f"), 1.5, "double", 1.5),
    "double": (Column("c", "DOUBLE"), PLAIN, binlog.floating(5, "<d"), 0.1, "double", 0.1),
    "decimal": (
        Column("c", "DECIMAL", 10, 2),
        PLAIN,
        binlog.decimal(10, 2),
        Decimal("2.22"),
        "bytes org.apache.kafka.connect.data.Decimal scale=2 connect.decimal.precision=10",
        b"\0\xde",
    ),
    "decimal, string": (
        Column("c", "DECIMAL", 10, 2),
        TypeModes(decimals=DecimalMode.STRING),
        binlog.decimal(10, 2),
        Decimal("-2.20"),
        "string",
        "-2.20",
    ),
    "decimal, double": (
        Column("c", "DECIMAL", 10, 2),
        TypeModes(decimals=DecimalMode.DOUBLE),
        binlog.decimal(10, 2),
        Decimal("-2.20"),
        "double",
        -2.2,
    ),
    "bit(1)": (Column("c", "BIT", 1), PLAIN, binlog.bit(1), 1, "boolean", True),
    "bit(12)": (
        Column("c", "BIT", 12),
        PLAIN,
        binlog.bit(12),
        0x0102,
        "bytes io.debezium.data.Bits length=12",
        b"\2\1",
    ),
    "varchar": (Column("c", "VARCHAR", 9, charset="utf8mb4"), PLAIN, binlog.varchar(36), "별".encode(), "string", "별"),
    "char without charset": (Column("c", "CHAR", 9), PLAIN, binlog.char(9), b"a", "string", "a"),
    "blob": (Column("c", "BLOB"), PLAIN, binlog.prefixed(252, b"\2", 2), b"\xff\xfe", "bytes", b"\xff\xfe"),
    "blob, hex": (
        Column("c", "BLOB"),
        TypeModes(binary=BinaryMode.HEX),
        binlog.prefixed(252, b"\2", 2),
        b"\xff\xfe",
        "string",
        "fffe",
    ),
    "blob, base64": (
        Column("c", "BLOB"),
        TypeModes(binary=BinaryMode.BASE64),
        binlog.prefixed(252, b"\2", 2),
        b"\xff\xfe",
        "string",
        "//4=",
    ),
    "blob, base64-url-safe": (
        Column("c", "BLOB"),
        TypeModes(binary=BinaryMode.BASE64_URL_SAFE),
        binlog.prefixed(252, b"\2", 2),
        b"\xff\xfe",
        "string",
        "__4=",
    ),
    "enum": (
        Column("c", "ENUM", charset="utf8mb4", labels=("a", "b")),
        PLAIN,
        binlog.enum(1),
        2,
        "string io.debezium.data.Enum allowed=a,b",
        "b",
    ),
    "set": (
        Column("c", "SET", charset="utf8mb4", labels=("a", "b")),
        PLAIN,
        binlog.set_(1),
        3,
        "string io.debezium.data.EnumSet allowed=a,b",
        "a,b",
    ),
    "json": (
        Column("c", "JSON"),
        PLAIN,
        binlog.prefixed(245, b"\4", 4),
        b"\x04\x01",
        "string io.debezium.data.Json",
        "true",
    ),
    "year": (Column("c", "YEAR"), PLAIN, binlog.integer(13, 1, signed=False), 120, "int32 io.debezium.time.Year", 2020),
    "timestamp": (
        Column("c", "TIMESTAMP", 6),
        CONNECT,
        binlog.timestamp2(6),
        MICROS,
        "string io.debezium.time.ZonedTimestamp",
        "2020-02-29T10:20:30.123456Z",
    ),
    "date": (Column("c", "DATE"), PLAIN, binlog.date(), (1970, 1, 2), "int32 io.debezium.time.Date", 1),
    "date, connect": (
        Column("c", "DATE"),
        CONNECT,
        binlog.date(),
        (1970, 1, 2),
        "int32 org.apache.kafka.connect.data.Date",
        datetime.date(1970, 1, 2),
    ),
    "time": (Column("c", "TIME", 6), PLAIN, binlog.time2(6), -1, "int64 io.debezium.time.MicroTime", -1),
    "time, connect": (
        Column("c", "TIME", 6),
        CONNECT,
        binlog.time2(6),
        1999,
        "int32 org.apache.kafka.connect.data.Time",
        1,
    ),
    "time, nanoseconds": (
        Column("c", "TIME", 6),
        TypeModes(times=TimePrecisionMode.NANOSECONDS),
        binlog.time2(6),
        -1,
        "int64 io.debezium.time.NanoTime",
        -1000,
    ),
    "date, isostring": (
        Column("c", "DATE"),
        ISO,
        binlog.date(),
        (1970, 1, 2),
        "string io.debezium.time.IsoDate",
        "1970-01-02Z",
    ),
    "time, isostring": (
        Column("c", "TIME", 6),
        ISO,
        binlog.time2(6),
        3_723_450_000,
        "string io.debezium.time.IsoTime",
        "01:02:03.45Z",
    ),
    "time, isostring, whole": (
        Column("c", "TIME", 6),
        ISO,
        binlog.time2(6),
        36_600_000_000,
        "string io.debezium.time.IsoTime",
        "10:10:00Z",
    ),
    "time, isostring, negative": (
        Column("c", "TIME", 6),
        ISO,
        binlog.time2(6),
        -1,
        "string io.debezium.time.IsoTime",
        "23:59:59.999999Z",
    ),
    "datetime, isostring": (
        Column("c", "DATETIME", 6),
        ISO,
        binlog.datetime2(6),
        MOMENT,
        "string io.debezium.time.IsoTimestamp",
        "2020-02-29T10:20:30.123456Z",
    ),
    "datetime(3)": (
        Column("c", "DATETIME", 3),
        PLAIN,
        binlog.datetime2(3),
        MOMENT,
        "int64 io.debezium.time.Timestamp",
        MICROS // 1000,
    ),
    "datetime before 1970": (
        Column("c", "DATETIME", 3),
        PLAIN,
        binlog.datetime2(6),
        (1969, 12, 31, 23, 59, 59, 999999),
        "int64 io.debezium.time.Timestamp",
        -1,
    ),
    "datetime(6)": (
        Column("c", "DATETIME", 6),
        PLAIN,
        binlog.datetime2(6),
        MOMENT,
        "int64 io.debezium.time.MicroTimestamp",
        MICROS,
    ),
    "datetime(3), microseconds": (
        Column("c", "DATETIME", 3),
        TypeModes(times=TimePrecisionMode.MICROSECONDS),
        binlog.datetime2(6),
        MOMENT,
        "int64 io.debezium.time.MicroTimestamp",
        MICROS,
    ),
    "datetime, nanoseconds": (
        Column("c", "DATETIME", 6),
        TypeModes(times=TimePrecisionMode.NANOSECONDS),
        binlog.datetime2(6),
        MOMENT,
        "int64 io.debezium.time.NanoTimestamp",
        MICROS * 1000,
    ),
    "datetime, connect": (
        Column("c", "DATETIME", 6),
        CONNECT,
        binlog.datetime2(6),
        MOMENT,
        "int64 org.apache.kafka.connect.data.Timestamp",
        datetime.datetime(2020, 2, 29, 10, 20, 30, 123000, UTC),
    ),
    "point": (
        Column("c", "POINT"),
        PLAIN,
        binlog.prefixed(255, b"\4", 4),
        POINT,
        "struct io.debezium.data.geometry.Point",
        {"x": 1.5, "y": -2.0, "wkb": POINT[4:], "srid": 4326},
    ),
    "geometry": (
        Column("c", "LINESTRING"),
        PLAIN,
        binlog.prefixed(255, b"\4", 4),
        b"\0\0\0\0wkb",
        "struct io.debezium.data.geometry.Geometry",
        {"wkb": b"wkb", "srid": None},
    ),
}


def sent(column: Column, modes: TypeModes, stored: binlog.Column, *values: Any) -> pa.Array:
    """Return what becomes of values that are stored one after the other; ``None`` is a null."""
    offsets, data = [], b""
    for value in values:
        offsets.append(-1 if value is None else len(data))
        data += b"" if value is None else stored.write(value)
    kind = TableMap.parse(binlog.table_map(1, [stored])).columns[0]
    field = field_type(column, modes)
    found = field.convert(decode(writable(data), np.array(offsets, np.int32), kind, field.reading).values)
    found.validate(full=True)
    return found


@pytest.mark.parametrize("name", FIELDS)
def test_fields(name: str) -> None:
    column, modes, stored, value, described, expected = FIELDS[name]
    schema = field_type(column, modes).schema
    parameters = [f"{key}={content}" for key, content in schema.parameters]
    assert " ".join([schema.type.value, *filter(None, [schema.name]), *parameters]) == described
    assert (schema.version, schema.optional) == (1 if schema.name else None, True)
    assert sent(column, modes, stored, value, None).to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("kind", "stored", "value", "expected"),
    [
        ("DATE", binlog.date(), (0, 0, 0), 0),
        ("DATETIME", binlog.datetime2(0), (0, 0, 0, 0, 0, 0, 0), 0),
        ("JSON", binlog.prefixed(245, b"\4", 4), b"", "{}"),
    ],
)
def test_values_that_are_none(kind: str, stored: binlog.Column, value: Any, expected: Any) -> None:
    assert sent(Column("c", kind), PLAIN, stored, value).to_pylist() == [None]
    assert sent(Column("c", kind, optional=False), PLAIN, stored, value).to_pylist() == [expected]
    assert not field_type(Column("c", kind, optional=False), PLAIN).schema.optional


def test_a_time_beyond_a_day_is_not_connects() -> None:
    with pytest.raises(DataError, match="A TIME of -1 microseconds is not a time of a day"):
        sent(Column("c", "TIME"), CONNECT, binlog.time2(6), 5, -1)


def test_unsigned_numbers_as_bytes() -> None:
    numbers = [0, 127, 128, 255, 256, (1 << 63) - 1, 1 << 63]
    wrapped = pa.array([number if number < 1 << 63 else number - (1 << 64) for number in numbers], pa.int64())
    expected = [number.to_bytes(number.bit_length() // 8 + 1, "big") for number in numbers]
    assert unscaled_unsigned(wrapped).to_pylist() == expected


def test_a_type_that_is_not_known() -> None:
    with pytest.raises(DataError, match="Column c has the type VECTOR, which is not supported"):
        field_type(Column("c", "VECTOR"), PLAIN)


def test_decimal_without_digits_is_mysqls_default() -> None:
    schema = field_type(Column("c", "DECIMAL"), PLAIN).schema
    assert (schema.type, schema.parameters) == (
        SchemaType.BYTES,
        (("scale", "0"), ("connect.decimal.precision", "10")),
    )


def test_commas_in_labels_are_escaped() -> None:
    schema = field_type(Column("c", "ENUM", labels=("a,b", "c")), PLAIN).schema
    assert schema.parameters == (("allowed", r"a\,b,c"),)


def test_texts_of_the_character_set_binary_are_bytes() -> None:
    field = field_type(Column("c", "VARCHAR", length=9, charset="binary"), PLAIN)
    assert (field.schema.type, field.reading.charset) == (SchemaType.BYTES, None)


def test_spark_takes_geometries_for_structs() -> None:
    """PySpark 4.1 fails where a field of the name wkb has no metadata."""
    for name in ("POINT", "GEOMETRY"):
        values = field_type(Column("c", name), PLAIN).convert(pa.array([POINT]))
        assert from_arrow_type(values.type).simpleString().startswith("struct<")


def test_the_type_of_rows_is_that_of_their_values() -> None:
    for name in ("POINT", "GEOMETRY", "DATETIME"):
        field = field_type(Column("c", name, optional=False), CONNECT)
        stored = pa.array([0], pa.int64()) if name == "DATETIME" else pa.array([POINT])
        schema = Schema(SchemaType.STRUCT, fields=(SchemaField("c", field.schema),))
        assert row_type(schema) == pa.struct([pa.field("c", field.convert(stored).type)])


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("2020-01-01T00:00:00.120000Z", "2020-01-01T00:00:00.12Z"),
        ("2020-01-01T00:00:10.000Z", "2020-01-01T00:00:10Z"),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        (None, None),
    ],
)
def test_timestamps_of_a_snapshot_are_short(text: str | None, short: str | None) -> None:
    assert short_timestamps(pa.array([text], pa.string())).to_pylist() == [short]


def test_a_zero_timestamp_is_the_epoch_where_null_is_not_allowed() -> None:
    none = pa.array([None], pa.string())
    assert field_type(Column("c", "TIMESTAMP", optional=False), PLAIN).convert(none).to_pylist() == [EPOCH_TIMESTAMP]
    assert field_type(Column("c", "TIMESTAMP"), PLAIN).convert(none).to_pylist() == [None]


def test_times_that_have_too_many_nanoseconds_are_null() -> None:
    field = field_type(Column("c", "DATETIME"), TypeModes(times=TimePrecisionMode.NANOSECONDS))
    most = ((1 << 63) - 1) // 1000
    found = field.convert(pa.array([most, most + 1, -most, -most - 1, None], pa.int64())).to_pylist()
    assert found == [most * 1000, None, -most * 1000, None, None]
