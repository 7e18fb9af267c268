"""Columns that converters change: schemas, defaults and values."""

from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.connectors.mysql.records.captured_table import CapturedField, captured_table
from connect_dagster.connectors.mysql.records.column_conversions import TinyIntOneToBoolean, ZeroDateFallback
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.plugin.schema import SchemaType
from tests.unit.connectors.mysql.stream.test_change_tables import rules


def field(column: Column, *conversions: Any) -> CapturedField:
    (found,) = captured_table(Table("shop", "goods", (column,)), rules(conversions=conversions)).row
    return found


@pytest.mark.parametrize(
    ("column", "settings", "is_boolean"),
    [
        (Column("x", "TINYINT", 1), {}, True),
        (Column("x", "TINYINT UNSIGNED", 1), {}, True),
        (Column("x", "TINYINT", 4), {}, False),
        (Column("x", "TINYINT"), {"length.checker": "false"}, True),
        (Column("x", "INT", 1), {}, False),
        (Column("x", "TINYINT", 1), {"selector": r"shop\.other\..*"}, False),
        (Column("x", "TINYINT", 1), {"selector": r"shop\.goods\.x"}, True),
    ],
)
def test_numbers_of_one_digit(column: Column, settings: dict[str, str], is_boolean: bool) -> None:
    found = field(column, TinyIntOneToBoolean.of("tiny", settings))
    assert (found.type.schema.type is SchemaType.BOOLEAN) == is_boolean
    if is_boolean:
        assert found.values(pa.array([1, 0, None, 2, -1], pa.int64())).to_pylist() == [True, False, None, True, False]


def test_the_default_of_a_number() -> None:
    column = Column("x", "TINYINT", 1, optional=False, has_default=True, default="1")
    schema = field(column, TinyIntOneToBoolean.of("tiny", {})).type.schema
    assert (schema.default, schema.optional) == (True, False)


@pytest.mark.parametrize(
    ("type", "value", "settings", "name", "expected"),
    [
        ("DATE", pa.array([1, None], pa.int32()), {}, "Date", [1, None]),
        ("DATE", pa.array([1, None], pa.int32()), {"fallback.date": "1970-01-11"}, "Date", [1, 10]),
        ("DATETIME", pa.array([1_999, None]), {"fallback.datetime": "1970-01-01 00:00:02"}, "Timestamp", [1, 2000]),
        (
            "TIMESTAMP",
            pa.array(["2024-01-01T00:00:00.500Z", None]),
            {"column.shop.goods.x.fallback": "1970-01-01T01:00:00+01:00", "fallback.timestamp": "NULL"},
            "ZonedTimestamp",
            ["2024-01-01T00:00:00.5Z", "1970-01-01T00:00:00Z"],
        ),
    ],
)
def test_dates_that_are_none(
    type: str, value: pa.Array, settings: dict[str, str], name: str, expected: list[Any]
) -> None:
    column = Column(
        "x", type, optional=False, has_default=True, default="2000-01-01 00:00:00"[: 10 if type == "DATE" else 19]
    )
    found = field(column, ZeroDateFallback.of("zero", settings))
    has_value = expected[1] is not None
    schema = found.type.schema
    assert (schema.name, schema.optional) == (f"io.debezium.time.{name}", not has_value)
    assert schema.default == (expected[1] if has_value else None)
    assert found.values(value).to_pylist() == expected


def test_microseconds() -> None:
    found = field(Column("x", "DATETIME", 6), ZeroDateFallback.of("zero", {"fallback.datetime": "1970-01-01 00:00:01"}))
    assert found.type.schema.name == "io.debezium.time.MicroTimestamp"
    assert found.values(pa.array([7, None])).to_pylist() == [7, 1_000_000]


def test_other_types() -> None:
    found = field(Column("x", "DATE"), ZeroDateFallback.of("zero", {"target.types": "TIMESTAMP"}))
    assert found.type.schema.name == "io.debezium.time.Date"
    assert field(Column("x", "INT"), ZeroDateFallback.of("zero", {})).type.schema.type is SchemaType.INT32
