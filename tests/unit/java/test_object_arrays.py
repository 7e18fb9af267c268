"""Arrays of values as Java's ``ObjectOutputStream`` writes them: golden bytes of OpenJDK 17, with UTC as its zone."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.errors import DataError
from connect_dagster.java.object_arrays import Value, serialized_array
from connect_dagster.java.object_classes import JavaType
from connect_dagster.java.object_reader import parsed_array

T = JavaType
GOLDEN = dict(
    line.rsplit(" ", 1)
    for line in (Path(__file__).parents[2] / "golden" / "java_object_arrays.txt").read_text().splitlines()
)
DURATION = -timedelta(hours=838, seconds=59, microseconds=500_000)

WRITTEN: dict[str, list[tuple[JavaType, Value]] | None] = {
    "null": None,
    "empty": [],
    "integer": [(T.INTEGER, 42)],
    "integers": [(T.INTEGER, 1000), (T.INTEGER, 2000)],
    "same integers": [(T.INTEGER, 7), (T.INTEGER, 7)],
    "equal integers": [(T.INTEGER, 1000), (T.INTEGER, 1000)],
    "negative": [(T.INTEGER, -5), (T.LONG, -(2**63))],
    "long": [(T.LONG, 5_000_000_000)],
    "same longs": [(T.LONG, 3), (T.LONG, 3)],
    "text": [(T.TEXT, "별😀\0")],
    "texts": [(T.TEXT, "ab"), (T.TEXT, "ab")],
    "bytes": [(T.BYTES, b"\x01\xff"), (T.BYTES, b"")],
    "booleans": [(T.BOOLEAN, True), (T.BOOLEAN, False), (T.BOOLEAN, True)],
    "float": [(T.FLOAT, 1.5)],
    "double": [(T.DOUBLE, -0.1)],
    "decimal": [(T.BIG_DECIMAL, Decimal("-12345678901234567890.12"))],
    "big integer": [(T.BIG_INTEGER, 18446744073709551615), (T.BIG_INTEGER, 0)],
    "timestamp": [(T.TIMESTAMP, datetime(2024, 2, 29, 13, 14, 15, 123456))],
    "timestamps": [
        (T.TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 500_000)),
        (T.TIMESTAMP, datetime(2024, 2, 29)),
    ],
    "local date": [(T.LOCAL_DATE, date(2024, 2, 29)), (T.LOCAL_DATE, date(1, 1, 1))],
    "durations": [(T.DURATION, DURATION), (T.DURATION, timedelta(microseconds=2))],
    "mixed": [
        (T.INTEGER, 1),
        (T.TEXT, "a"),
        (T.TEXT, None),
        (T.LONG, 2),
        (T.TEXT, "b"),
        (T.INTEGER, 1),
    ],
}
READ: dict[str, tuple[Value, ...]] = {
    "short": (7,),
    "byte": (7,),
    "decimals": (Decimal("0.00"), Decimal("7.25"), Decimal("500")),
    "sql date": (date(2024, 2, 29),),
    "sql time": (timedelta(hours=13, minutes=14, seconds=15),),
    "local date time": (
        datetime(2024, 2, 29, 13, 14, 15, 123456),
        datetime(2024, 2, 29, 13),
        datetime(2024, 2, 29, 13, 14),
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_bytes_are_those_of_java(name: str) -> None:
    assert serialized_array(WRITTEN[name]).hex() == GOLDEN[name]


@pytest.mark.parametrize("name", WRITTEN)
def test_java_is_read(name: str) -> None:
    values = WRITTEN[name]
    assert parsed_array(bytes.fromhex(GOLDEN[name])) == (None if values is None else tuple(one for _, one in values))


@pytest.mark.parametrize("name", READ)
def test_other_classes_are_read(name: str) -> None:
    assert parsed_array(bytes.fromhex(GOLDEN[name])) == READ[name]


VALUES = st.one_of(
    st.tuples(st.just(T.INTEGER), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(T.LONG), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(T.BIG_INTEGER), st.integers(0, 2**64 - 1)),
    st.tuples(st.just(T.BIG_DECIMAL), st.decimals(allow_nan=False, allow_infinity=False, places=5)),
    st.tuples(st.just(T.TEXT), st.text()),
    st.tuples(st.just(T.BYTES), st.binary()),
    st.tuples(st.just(T.BOOLEAN), st.booleans()),
    st.tuples(st.just(T.DOUBLE), st.floats(allow_nan=False)),
    st.tuples(st.just(T.TIMESTAMP), st.datetimes()),
    st.tuples(st.just(T.LOCAL_DATE), st.dates()),
    st.tuples(st.just(T.DURATION), st.timedeltas(timedelta(hours=-839), timedelta(hours=839))),
    st.tuples(st.sampled_from(T), st.none()),
)


@given(st.lists(VALUES, max_size=5))
def test_what_is_written_is_read(values: list[tuple[JavaType, Value]]) -> None:
    assert parsed_array(serialized_array(values)) == tuple(value for _, value in values)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "ends in the middle"),
        (b"\0\0\0\0", "does not begin"),
        (serialized_array([(T.INTEGER, 300)])[:-2], "ends in the middle"),
        (serialized_array([(T.INTEGER, 300)]) + b"x", "more after"),
        (bytes.fromhex("aced0005740001" + "61"), "not an Object"),
        (bytes.fromhex("aced000571007e0000"), "index"),
    ],
)
def test_damage_is_reported(content: bytes, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parsed_array(content)


@given(st.binary(max_size=80))
def test_no_bytes_raise_another_error(content: bytes) -> None:
    try:
        parsed_array(bytes.fromhex("aced0005") + content)
    except DataError:
        return


def test_a_zone_does_not_matter() -> None:
    moment = datetime(2024, 2, 29, 13, tzinfo=UTC)
    assert serialized_array([(T.TIMESTAMP, moment)]) == serialized_array([(T.TIMESTAMP, moment.replace(tzinfo=None))])
