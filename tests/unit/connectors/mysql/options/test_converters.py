"""Converters of columns that a configuration names."""

import pytest

from connect_dagster.connectors.mysql.options.converters import (
    ColumnConverter,
    ConverterKind,
    column_converters,
    converter_prefixes,
    unused_converters,
    wrong_converters,
)
from connect_dagster.errors import ConfigError

BINLOG, MYSQL = "io.debezium.connector.binlog.converters", "io.debezium.connector.mysql.converters"


def test_converters() -> None:
    given = {
        "converters": "bool, zero,sink",
        "bool.type": f"{MYSQL}.TinyIntOneToBooleanConverter",
        "bool.selector": "shop.orders.paid",
        "zero.type": f"{BINLOG}.ZeroDateFallbackConverter",
        "sink.type": f"{BINLOG}.JdbcSinkDataTypesConverter",
    }
    assert column_converters(given) == (
        ColumnConverter("bool", ConverterKind.TINYINT_ONE, {"selector": "shop.orders.paid"}),
        ColumnConverter("zero", ConverterKind.ZERO_DATE, {}),
    )
    assert list(unused_converters(given)) == [
        "The converter sink is without effect here: JdbcSinkDataTypesConverter is not supported"
    ]
    assert list(wrong_converters(given)) == []
    assert converter_prefixes(given) == ("bool.", "zero.", "sink.")


def test_none() -> None:
    assert column_converters({}) == ()
    assert converter_prefixes({"converters": " , "}) == ()


def test_wrong() -> None:
    given = {"converters": "a,b", "b.type": "com.example.Isbn"}
    first, second = wrong_converters(given)
    assert (first.name, second.name) == ("a.type", "b.type")
    assert second.message == (
        "Invalid value com.example.Isbn for configuration b.type: Classes of the JVM cannot be loaded: "
        f"TinyIntOneToBooleanConverter and ZeroDateFallbackConverter of {BINLOG} are supported"
    )
    with pytest.raises(ConfigError, match=r"a\.type"):
        column_converters(given)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("selector", "a.("),
        ("length.checker", "maybe"),
        ("target.types", "DATE,TIME"),
        ("fallback.date", "1.1.1970"),
        ("fallback.datetime", "1970-01-01"),
        ("fallback.timestamp", "1970-01-01T00:00:00"),
    ],
)
def test_wrong_setting(setting: str, value: str) -> None:
    given = {"converters": "a", "a.type": f"{BINLOG}.TinyIntOneToBooleanConverter", f"a.{setting}": value}
    (error,) = wrong_converters(given)
    assert error.name == f"a.{setting}"
    assert f"Invalid value {value} for configuration a.{setting}: " in error.message
