"""Positions, offsets and times of a database's clock."""

import pytest

from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import (
    TimestampIncrementingOffset,
    Zone,
    java_map_text,
    java_maps_text,
    old_table_partition,
    table_partition,
)
from connect_dagster.errors import ConnectError
from connect_dagster.storage.offset_json import key_bytes, value_bytes

PRODUCTS = TableId("products", None, "kafkadb")


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (
            TimestampIncrementingOffset(1642904785000_000_000, 3),
            b'{"timestamp_nanos":0,"incrementing":3,"timestamp":1642904785000}',
        ),
        (
            TimestampIncrementingOffset(1642904785123_456_000),
            b'{"timestamp_nanos":123456000,"timestamp":1642904785123}',
        ),
        (TimestampIncrementingOffset(None, 3), b'{"incrementing":3}'),
        (TimestampIncrementingOffset(-1_500_000_000), b'{"timestamp_nanos":500000000,"timestamp":-1500}'),
    ],
)
def test_offsets_are_javas_and_are_read_again(position: TimestampIncrementingOffset, text: bytes) -> None:
    assert value_bytes(position.to_offset()) == text
    assert TimestampIncrementingOffset.of_offset(position.to_offset()) == position


def test_offsets_of_older_versions() -> None:
    assert TimestampIncrementingOffset.of_offset({"timestamp": 1642904785123}) == TimestampIncrementingOffset(
        1642904785123_000_000
    )
    assert TimestampIncrementingOffset.of_offset(None) == TimestampIncrementingOffset()
    assert (TimestampIncrementingOffset().begin_timestamp, TimestampIncrementingOffset().begin_incrementing) == (0, -1)


def test_an_offset_that_is_no_number_is_told() -> None:
    with pytest.raises(ConnectError, match="'incrementing' must be a whole number"):
        TimestampIncrementingOffset.of_offset({"incrementing": "3"})


def test_partitions() -> None:
    assert key_bytes("mysql-time-source", table_partition(PRODUCTS)) == (
        b'["mysql-time-source",{"protocol":"1","table":"kafkadb.products"}]'
    )
    assert old_table_partition(PRODUCTS) == {"table": "products"}


def test_maps_as_java_prints_them() -> None:
    offset = {"timestamp": 1642904785000, "timestamp_nanos": 0}
    found = [(table_partition(PRODUCTS), offset), (old_table_partition(PRODUCTS), None)]
    assert java_maps_text(found) == (
        "{{table=products}=null, {protocol=1, table=kafkadb.products}={timestamp_nanos=0, timestamp=1642904785000}}"
    )
    assert java_map_text(table_partition(PRODUCTS)) == "{protocol=1, table=kafkadb.products}"


@pytest.mark.parametrize(
    ("zone", "instant", "text"),
    [
        ("UTC", 0, "1970-01-01 00:00:00"),
        ("UTC", 1642904785_500_000_000, "2022-01-23 02:26:25.5"),
        ("Asia/Seoul", 1642693453_000_000_000, "2022-01-21 00:44:13"),
        ("Europe/Berlin", 1656000000_000_001_000, "2022-06-23 18:00:00.000001"),
        ("UTC", -1_000_000_000, "1969-12-31 23:59:59"),
        ("UTC", -62_135_596_800_000_000_000, "0001-01-01 00:00:00"),
    ],
)
def test_what_a_clock_shows(zone: str, instant: int, text: str) -> None:
    assert Zone(zone).text(instant) == text


@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul", "Europe/Berlin", "America/New_York"])
def test_a_clock_is_read_as_it_was_set(zone: str) -> None:
    for instant in range(1_600_000_000, 1_632_000_000, 1_234_567):
        clock = Zone(zone)
        nanos = instant * 1_000_000_000 + 7_000
        shown = Zone().instant(_nanos(clock.text(nanos)))
        assert clock.instant(shown) == nanos


def _nanos(text: str) -> int:
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000
