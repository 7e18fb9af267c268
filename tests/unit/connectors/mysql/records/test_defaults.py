"""Default values of fields as Debezium 3.6.1 has them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.records.defaults import default_of_field
from connect_dagster.connectors.mysql.records.type_modes import (
    BigIntUnsignedMode,
    BinaryMode,
    DecimalMode,
    TimePrecisionMode,
    TypeModes,
)
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Column, Tables
from connect_dagster.errors import DataError

MODES = TypeModes()


def column(definition: str) -> Column:
    tables = Tables()
    DdlParser(tables, Flavor.MYSQL, server_charset="utf8mb4").parse(f"CREATE TABLE t (c {definition})", "d")
    return next(iter(tables)).columns[0]


@pytest.mark.parametrize(
    ("definition", "default"),
    [
        ("INT DEFAULT ' -5 '", -5),
        ("INT DEFAULT 2.5", 3),
        ("INT DEFAULT -2.5", -2),
        ("INT DEFAULT TRUE", 1),
        ("INT DEFAULT 1e3", 1000),
        ("INT DEFAULT NULL", None),
        ("INT NOT NULL", None),
        ("INT NOT NULL DEFAULT (5)", None),
        ("TINYINT UNSIGNED DEFAULT 200", 200),
        ("BIGINT UNSIGNED DEFAULT 18446744073709551615", 9223372036854775807),
        ("BOOLEAN DEFAULT TRUE", True),
        ("BOOLEAN DEFAULT 0", False),
        ("FLOAT DEFAULT FALSE", 0.0),
        ("DOUBLE DEFAULT -1.5e3", -1500.0),
        ("DECIMAL(5,2) DEFAULT -1.555", Decimal("-1.56")),
        ("DECIMAL(5,2) DEFAULT TRUE", Decimal("1.00")),
        ("DECIMAL(65,30) DEFAULT 1", Decimal("1." + 30 * "0")),
        ("BIT DEFAULT b'1'", True),
        ("BIT DEFAULT FALSE", False),
        ("BIT(12) DEFAULT b'101010101010'", b"\xaa\x0a"),
        ("BIT(64) DEFAULT b'1'", b"\x01" + bytes(7)),
        ("VARCHAR(5) DEFAULT ' a '", " a "),
        ("VARCHAR(5) DEFAULT 'it''s'", "it''s"),
        ("VARCHAR(5) DEFAULT 5", "5"),
        ("ENUM('a','b,c') DEFAULT 'b,c'", "b,c"),
        ("SET('a','b') DEFAULT ''", ""),
        ("BINARY(3) DEFAULT 'ab'", b"ab"),
        ("YEAR DEFAULT 2020", 2020),
        ("YEAR DEFAULT '69'", 2069),
        ("YEAR DEFAULT 70", 1970),
        ("YEAR DEFAULT '0000'", 2000),
        ("DATE DEFAULT '2020-01-02 03:04:05'", 18263),
        ("DATE DEFAULT '0000-00-00'", None),
        ("DATE NOT NULL DEFAULT '2020-00-10'", 0),
        ("DATE NOT NULL DEFAULT '2020-1-2'", 0),
        ("DATETIME DEFAULT '2020-01-02'", 1577923200000),
        ("DATETIME(6) DEFAULT '2020-01-02 03:04:05.1'", 1577934245100000),
        ("DATETIME NOT NULL DEFAULT 0", 0),
        ("DATETIME DEFAULT CURRENT_TIMESTAMP", 0),
        ("DATETIME DEFAULT 'x'", None),
        ("TIMESTAMP DEFAULT '2020-1-2 3:4:5'", "2020-01-02T03:04:05Z"),
        ("TIMESTAMP(3) DEFAULT '2020-01-02 03:04:05.12'", "2020-01-02T03:04:05.120Z"),
        ("TIMESTAMP DEFAULT CURRENT_TIMESTAMP", None),
        ("TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)", "1970-01-01T00:00:00Z"),
        ("TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00.000'", "1970-01-01T00:00:00Z"),
        ("TIME DEFAULT '-100:02:03.5'", -360123500000),
        ("TIME DEFAULT '2020-01-01 01:02'", 3720000000),
        ("JSON DEFAULT ('{}')", None),
    ],
)
def test_default_values(definition: str, default: Any) -> None:
    found = default_of_field(column(definition), MODES)
    assert found == default
    assert type(found) is type(default)


@pytest.mark.parametrize(
    ("modes", "definition", "default"),
    [
        (TypeModes(decimals=DecimalMode.DOUBLE), "DECIMAL(5,2) DEFAULT 1.555", 1.56),
        (TypeModes(decimals=DecimalMode.STRING), "DECIMAL(20,10) DEFAULT 0", "0.0000000000"),
        (TypeModes(unsigned_bigints=BigIntUnsignedMode.PRECISE), "BIGINT UNSIGNED DEFAULT 5", Decimal(5)),
        (TypeModes(binary=BinaryMode.HEX), "VARBINARY(5) DEFAULT '~~~'", "7e7e7e"),
        (TypeModes(binary=BinaryMode.BASE64_URL_SAFE), "VARBINARY(5) DEFAULT '~~~'", "fn5-"),
        (TypeModes(times=TimePrecisionMode.CONNECT), "DATE DEFAULT '2020-01-02'", date(2020, 1, 2)),
        (TypeModes(times=TimePrecisionMode.CONNECT), "TIME(3) DEFAULT '01:02:03.12'", 3723120),
        (
            TypeModes(times=TimePrecisionMode.CONNECT),
            "DATETIME(6) DEFAULT '2020-01-02 03:04:05.123456'",
            datetime(2020, 1, 2, 3, 4, 5, 123000, UTC),
        ),
        (TypeModes(times=TimePrecisionMode.ISOSTRING), "DATE NOT NULL DEFAULT 0", "1970-01-01Z"),
        (TypeModes(times=TimePrecisionMode.ISOSTRING), "TIME(3) DEFAULT '01:02:03.120'", "01:02:03.12Z"),
        (TypeModes(times=TimePrecisionMode.NANOSECONDS), "TIME DEFAULT '100:02:03'", 360123000000000),
        (TypeModes(times=TimePrecisionMode.MICROSECONDS), "DATETIME DEFAULT '2020-01-02'", 1577923200000000),
    ],
)
def test_default_values_by_mode(modes: TypeModes, definition: str, default: Any) -> None:
    assert default_of_field(column(definition), modes) == default


@pytest.mark.parametrize(
    ("definition", "times"),
    [
        ("INT DEFAULT 'abc'", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("DOUBLE DEFAULT ''", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("DECIMAL(5,2) DEFAULT ''", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("BIT(5) DEFAULT 5", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("TIME DEFAULT 0", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("TIMESTAMP DEFAULT '20200102030405'", TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS),
        ("TIME DEFAULT '100:02:03'", TimePrecisionMode.CONNECT),
        ("TIME DEFAULT '-01:02:03'", TimePrecisionMode.ISOSTRING),
    ],
)
def test_default_values_that_are_not_of_the_type(definition: str, times: TimePrecisionMode) -> None:
    with pytest.raises(DataError, match=r"The default value '.*' of column c is not one of the type"):
        default_of_field(column(definition), TypeModes(times=times))
