"""Statements of chunks, and keys as parameters and as Java's values."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan, ChunkPlans
from connect_dagster.connectors.mysql.incremental.chunk_queries import ChunkQuery, chunk_query, maximum_query
from connect_dagster.connectors.mysql.incremental.key_columns import KeyColumn
from connect_dagster.connectors.mysql.incremental.key_sets import found_in
from connect_dagster.connectors.mysql.incremental.keys import NO_KEY, Key
from connect_dagster.connectors.mysql.incremental.snapshot_tables import (
    SnapshotTable,
    parsed_tables,
    stored_tables,
    table_id,
)
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError
from connect_dagster.java.object_arrays import Value
from connect_dagster.java.object_classes import JavaType
from tests.unit.connectors.mysql.stream.test_change_tables import rules

LINES = Table(
    "ops",
    "order lines",
    (
        Column("order", "INT", optional=False),
        Column("line", "BIGINT UNSIGNED", optional=False),
        Column("note", "VARCHAR", 20),
        Column("kind", "ENUM", optional=False, labels=("b", "a")),
    ),
    key=("order", "line"),
)


def plan(condition: str | None = None, surrogate: str | None = None, **changes: Any) -> ChunkPlan:
    tables = Tables()
    tables.put(LINES)
    return ChunkPlans(tables, rules(**changes)).plan(SnapshotTable(LINES.id, condition, surrogate))


def key(*values: Value) -> Key:
    return Key(values, "")


def test_the_first_chunk_has_no_bounds() -> None:
    assert chunk_query(plan(), None, key(9, 9), 100) == ChunkQuery(
        "SELECT `order`, `line`, `note`, `kind` FROM `ops`.`order lines` ORDER BY `order`, `line` LIMIT 100"
    )


def test_the_next_chunk_of_a_key_of_two_columns() -> None:
    beyond = "((`order` > ?) OR (`order` = ? AND `line` > ?))"
    assert chunk_query(plan("(note <> '')"), key(1, 2), key(8, 9), 100) == ChunkQuery(
        f"SELECT `order`, `line`, `note`, `kind` FROM `ops`.`order lines` WHERE {beyond} AND NOT {beyond} "
        "AND (note <> '') ORDER BY `order`, `line` LIMIT 100",
        (1, 1, 2, 8, 8, 9),
    )


def test_the_largest_key() -> None:
    assert maximum_query(plan("(order > 5)")).statement == (
        "SELECT `order`, `line` FROM `ops`.`order lines` WHERE (order > 5) ORDER BY `order` DESC, `line` DESC LIMIT 1"
    )


def test_a_surrogate_key_may_be_null() -> None:
    found = plan(surrogate="NOTE")
    assert chunk_query(found, key("x"), key("y"), 5) == ChunkQuery(
        "SELECT `order`, `line`, `note`, `kind` FROM `ops`.`order lines` WHERE ((`note` > ? AND `note` IS NOT NULL)) "
        "AND NOT ((`note` > ? AND `note` IS NOT NULL)) ORDER BY `note` LIMIT 5",
        ("x", "y"),
    )
    assert chunk_query(found, key(None), key("y"), 5).statement.count("(`note` IS NOT NULL) AND NOT") == 1


def test_labels_are_compared_by_their_numbers() -> None:
    assert chunk_query(plan(surrogate="kind"), key("b"), key("a"), 5).parameters == (1, 2)


def column(kind: str, length: int | None = None, scale: int | None = None, **more: Any) -> Column:
    return Column("k", kind, length, scale, optional=False, **more)


MOMENT = datetime(2024, 2, 29, 13, 14, 15, 123456)
UNSCALED = (-1234).to_bytes(2, signed=True)


@pytest.mark.parametrize(
    ("of", "decoded", "value", "java", "parameter"),
    [
        (column("TINYINT"), 5, 5, JavaType.INTEGER, 5),
        (column("INT UNSIGNED"), 5, 5, JavaType.LONG, 5),
        (column("BIGINT"), -5, -5, JavaType.LONG, -5),
        (column("BIGINT UNSIGNED"), -1, 2**64 - 1, JavaType.BIG_INTEGER, 2**64 - 1),
        (column("YEAR"), 2024, 2024, JavaType.INTEGER, 2024),
        (column("DECIMAL", 10, 2), UNSCALED, Decimal("-12.34"), JavaType.BIG_DECIMAL, Decimal("-12.34")),
        (column("DECIMAL", 10, 2), "-12.34", Decimal("-12.34"), JavaType.BIG_DECIMAL, Decimal("-12.34")),
        (column("VARCHAR", 5), "별", "별", JavaType.TEXT, "별"),
        (column("VARBINARY", 5), b"\1\2", b"\1\2", JavaType.BYTES, b"\1\2"),
        (column("BIT", 1), True, True, JavaType.BOOLEAN, 1),
        (column("BIT", 12), b"\1\2", b"\2\1", JavaType.BYTES, 0x201),
        (column("DATE"), 19782, date(2024, 2, 29), JavaType.LOCAL_DATE, "2024-02-29"),
        (column("DATETIME", 6), 1_709_212_455_123_456, MOMENT, JavaType.TIMESTAMP, "2024-02-29 13:14:15.123456"),
        (
            column("TIMESTAMP", 6),
            "2024-02-29T13:14:15.123456Z",
            MOMENT,
            JavaType.TIMESTAMP,
            "2024-02-29 13:14:15.123456",
        ),
        (column("TIME", 6), -3_601_500_000, -timedelta(seconds=3601.5), JavaType.DURATION, "-01:00:01.500000"),
        (column("ENUM", labels=("b", "a")), "a", "a", JavaType.TEXT, 2),
        (column("SET", labels=("x", "y", "z")), "x,z", "x,z", JavaType.TEXT, 5),
        (column("DOUBLE"), 0.5, 0.5, JavaType.DOUBLE, 0.5),
    ],
)
def test_values_of_keys(of: Column, decoded: Any, value: Value, java: JavaType, parameter: Any) -> None:
    found = KeyColumn.of(of, Reading(scale=of.scale or 0))
    assert found.type is java
    assert found.value(pa.scalar(decoded)) == value
    assert type(found.value(pa.scalar(decoded))) is type(value)
    assert found.parameter(value) == parameter
    assert Key.parse(Key.of([(java, value)]).stored) == Key.of([(java, value)])
    assert found.value(pa.scalar(None, pa.int64())) is None


def test_a_year_of_java_is_a_date() -> None:
    assert KeyColumn.of(column("YEAR"), Reading()).parameter(date(2024, 1, 1)) == 2024


def test_keys_as_notifications_have_them() -> None:
    values = (1, None, "a", Decimal("1E+2"), datetime(2024, 2, 29), MOMENT, True, b"\xff")
    assert str(Key(values, "")) == "1,<null>,a,100,2024-02-29 00:00:00.0,2024-02-29 13:14:15.123456,true,ff"


@pytest.mark.parametrize("stored", ["xyz", "aced0005", "00"])
def test_damaged_keys(stored: str) -> None:
    with pytest.raises(DataError):
        Key.parse(stored)


def test_no_key() -> None:
    assert (NO_KEY, Key.parse(NO_KEY)) == ("aced000570", None)


def test_tables_in_offsets() -> None:
    tables = [SnapshotTable(TableId("ops", "goods"), "(id > 5)", "n"), SnapshotTable(TableId("my.db", "a b"))]
    text = stored_tables(tables)
    assert text == (
        '[{"incremental_snapshot_collections_id":"ops.goods",'
        '"incremental_snapshot_collections_additional_condition":"(id > 5)",'
        '"incremental_snapshot_collections_surrogate_key":"n"},'
        '{"incremental_snapshot_collections_id":"my.db.a b",'
        '"incremental_snapshot_collections_additional_condition":null,'
        '"incremental_snapshot_collections_surrogate_key":null}]'
    )
    assert parsed_tables(text)[0] == tables[0]
    assert table_id("`my.db`.`a b`") == TableId("my.db", "a b")


def rows(*values: dict[str, Any]) -> pa.StructArray:
    return pa.array(list(values))


@pytest.mark.parametrize(
    ("keys", "others", "expected"),
    [
        (rows({"id": 1}, {"id": 2}, {"id": 3}), rows({"id": 3}, {"id": 1}), [True, False, True]),
        (rows({"id": 1}, {"id": None}), rows({"id": None}), [False, True]),
        (rows({"a": "x", "b": 1}, {"a": "y", "b": 1}), rows({"a": "x", "b": 2}, {"a": "y", "b": 1}), [False, True]),
        (rows({"a": b"\1", "b": None}, {"a": None, "b": None}), rows({"a": b"\1", "b": None}), [True, False]),
        (rows({"p": {"x": 1.0}, "b": True}), rows({"p": {"x": 1.0}, "b": True}), [True]),
    ],
)
def test_keys_among_others(keys: pa.StructArray, others: pa.StructArray, expected: list[bool]) -> None:
    assert found_in(keys, others.cast(keys.type)).tolist() == expected
