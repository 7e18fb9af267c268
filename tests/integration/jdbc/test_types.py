"""Columns of every type: the field that each becomes, and its value."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from connect_dagster.plugin.frames import SourceFrame, SourceQuery
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema
from tests.databases import Database
from tests.integration.jdbc.queriers import taken, task

AT = datetime(2022, 1, 23, 2, 26, 25, 123456, tzinfo=UTC)

# Column definition, literal, type and logical name of the field, value.
MARIADB: dict[str, tuple[str, str, str, str | None, Any]] = {
    "bool": ("BOOLEAN", "TRUE", "boolean", None, True),
    "tiny": ("TINYINT", "-128", "int8", None, -128),
    "tiny_u": ("TINYINT UNSIGNED", "255", "int16", None, 255),
    "small": ("SMALLINT", "-32768", "int16", None, -32768),
    "small_u": ("SMALLINT UNSIGNED", "65535", "int32", None, 65535),
    "medium": ("MEDIUMINT", "-8388608", "int32", None, -8388608),
    "integer": ("INT", "-2147483648", "int32", None, -(2**31)),
    "integer_u": ("INT UNSIGNED", "4294967295", "int64", None, 2**32 - 1),
    "big": ("BIGINT", "-9223372036854775808", "int64", None, -(2**63)),
    "real": ("FLOAT", "1.5", "float", None, 1.5),
    "double": ("DOUBLE", "1e300", "double", None, 1e300),
    "decimal": ("DECIMAL(12,3)", "-123456789.125", "bytes", DECIMAL, Decimal("-123456789.125")),
    "char": ("CHAR(3)", "'ab'", "string", None, "ab"),
    "varchar": ("VARCHAR(20)", "'서울 😀 \\\\ \"'", "string", None, '서울 😀 \\ "'),
    "text": ("TEXT", "'t'", "string", None, "t"),
    "enum": ("ENUM('a','b')", "'b'", "string", None, "b"),
    "json": ("JSON", "'{\"a\": 1}'", "string", None, '{"a": 1}'),
    "bits": ("BIT(12)", "b'101'", "bytes", None, b"\x00\x05"),
    "binary": ("BINARY(2)", "x'00ff'", "bytes", None, b"\x00\xff"),
    "blob": ("BLOB", "x'ff00'", "bytes", None, b"\xff\x00"),
    "date": ("DATE", "'2022-01-23'", "int32", DATE, date(2022, 1, 23)),
    "time": ("TIME(3)", "'23:59:59.789'", "int32", TIME, 86399789),
    "datetime": ("DATETIME(6)", "'2022-01-23 02:26:25.123456'", "int64", TIMESTAMP, AT),
    "timestamp": ("TIMESTAMP(6)", "'2022-01-23 02:26:25.123456'", "int64", TIMESTAMP, AT),
    "year": ("YEAR", "2022", "int32", DATE, date(2022, 1, 1)),
}
POSTGRESQL: dict[str, tuple[str, str, str, str | None, Any]] = {
    "bool": ("BOOLEAN", "TRUE", "boolean", None, True),
    "bit_1": ("BIT(1)", "B'1'", "boolean", None, True),
    "bits": ("VARBIT(12)", "B'101'", "string", None, "101"),
    "small": ("SMALLINT", "-32768", "int16", None, -32768),
    "integer": ("INT", "-2147483648", "int32", None, -(2**31)),
    "big": ("BIGINT", "-9223372036854775808", "int64", None, -(2**63)),
    "real": ("REAL", "1.5", "float", None, 1.5),
    "double": ("DOUBLE PRECISION", "1e300", "double", None, 1e300),
    "decimal": ("NUMERIC(12,3)", "-123456789.125", "bytes", DECIMAL, Decimal("-123456789.125")),
    "any": ("NUMERIC", "1.25", "bytes", DECIMAL, Decimal("1.25")),
    "char": ("CHAR(3)", "'abc'", "string", None, "abc"),
    "text": ("TEXT", "'서울 😀'", "string", None, "서울 😀"),
    "uuid": ("UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "string", None, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "json": ("JSON", "'{\"a\": 1}'", "string", None, '{"a": 1}'),
    "jsonb": ("JSONB", "'{\"a\": 1}'", "string", None, '{"a": 1}'),
    "bytes": ("BYTEA", "'\\x00ff'", "bytes", None, b"\x00\xff"),
    "date": ("DATE", "'2022-01-23'", "int32", DATE, date(2022, 1, 23)),
    "time": ("TIME(3)", "'23:59:59.789'", "int32", TIME, 86399789),
    "timestamp": ("TIMESTAMP", "'2022-01-23 02:26:25.123456'", "int64", TIMESTAMP, AT),
    "instant": ("TIMESTAMPTZ", "'2022-01-23 11:26:25.123456+09'", "int64", TIMESTAMP, AT),
}
LEFT_OUT = {"points": "POINT", "list": "INT[]"}


def fill(database: Database, columns: dict[str, tuple[str, str, str, str | None, Any]], quote: str) -> None:
    """A table with a row of values and a row of nulls."""
    defined = ", ".join(f"{quote}{name}{quote} {row[0]} NULL" for name, row in columns.items())
    database.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, {defined})",
        f"INSERT INTO t VALUES (1, {', '.join(row[1] for row in columns.values())})",
        "INSERT INTO t (id) VALUES (2)",
    )


def only_frame(spark: SparkSession, database: Database, **more: str) -> SourceFrame:
    with task(spark, database, "incrementing", "t", incrementing_column_name="id", **more) as running:
        (query,) = running.frames()
        assert isinstance(query, SourceQuery)
        return query.frame(spark)


def fields(schema: Schema | None) -> dict[str, Schema]:
    assert schema is not None
    return {field.name: field.schema for field in schema.fields}


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_every_type(spark: SparkSession, request: pytest.FixtureRequest, kind: str) -> None:
    database: Database = request.getfixturevalue(f"{kind}_database")
    columns, quote = (MARIADB, "`") if kind == "mariadb" else (POSTGRESQL, '"')
    fill(database, columns, quote)
    frame = only_frame(spark, database)
    found = fields(frame.value_schema)
    assert {name: (schema.type.value, schema.name) for name, schema in found.items() if name != "id"} == {
        name: row[2:4] for name, row in columns.items()
    }
    assert not found["id"].optional
    assert all(found[name].optional for name in columns)
    values, nulls = taken(frame)
    shown = {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in values.items()}
    assert {name: shown[name] for name in columns} == {name: row[4] for name, row in columns.items()}
    assert {nulls[name] for name in columns} == {None}


def test_times_of_a_zone_and_of_none(spark: SparkSession, postgresql_database: Database) -> None:
    fill(postgresql_database, {name: POSTGRESQL[name] for name in ("timestamp", "instant")}, '"')
    row = taken(only_frame(spark, postgresql_database, db_timezone="Asia/Seoul"))[0]
    assert row["timestamp"].astimezone(UTC) == AT.replace(hour=17, day=22)
    assert row["instant"].astimezone(UTC) == AT


@pytest.mark.parametrize(
    ("granularity", "value"),
    [
        ("micros_long", 1642904785123456),
        ("micros_string", "1642904785123456"),
        ("micros_iso_datetime_string", "2022-01-23T02:26:25.123456"),
        ("nanos_long", 1642904785123456000),
        ("nanos_string", "1642904785123456000"),
        ("nanos_iso_datetime_string", "2022-01-23T02:26:25.123456000"),
    ],
)
def test_finer_times(spark: SparkSession, mariadb_database: Database, granularity: str, value: Any) -> None:
    fill(mariadb_database, {"datetime": MARIADB["datetime"]}, "`")
    frame = only_frame(spark, mariadb_database, timestamp_granularity=granularity)
    assert taken(frame)[0]["datetime"] == value


@pytest.mark.parametrize(
    ("mapping", "types"),
    [
        ("none", ["bytes"] * 5),
        ("precision_only", ["int8", "int64", "bytes", "bytes", "bytes"]),
        ("best_fit", ["int8", "int64", "double", "bytes", "bytes"]),
        ("best_fit_eager_double", ["int8", "int64", "double", "double", "bytes"]),
    ],
)
def test_numeric_mapping(spark: SparkSession, postgresql_database: Database, mapping: str, types: list[str]) -> None:
    postgresql_database.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a NUMERIC(2), b NUMERIC(18), c NUMERIC(9,2), d NUMERIC(30,2), e NUMERIC)",
        "INSERT INTO t VALUES (1, 12, 123456789012345678, 1.5, 1.5, 1.25)",
    )
    frame = only_frame(spark, postgresql_database, numeric_mapping=mapping)
    assert [fields(frame.value_schema)[name].type.value for name in "abcde"] == types
    assert [taken(frame)[0][name] for name in "abcde"] == [12, 123456789012345678, 1.5, 1.5, Decimal("1.25")]


def test_types_without_a_field_are_left_out(
    spark: SparkSession, postgresql_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    fill(
        postgresql_database,
        {"a": ("INT", "7", "", None, 7), **{name: (kind, "NULL", "", None, None) for name, kind in LEFT_OUT.items()}},
        '"',
    )
    frame = only_frame(spark, postgresql_database)
    assert list(fields(frame.value_schema)) == ["id", "a"]
    assert taken(frame)[0] == {"id": 1, "a": 7}
    assert "column points" in caplog.text
