"""Statements of a snapshot and ranges of keys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.connectors.mysql.snapshot.chunks import TableScan, _conditions
from connect_dagster.connectors.mysql.table_ids import TableId, quoted, quoted_table

COLUMNS = (
    Column("id", "BIGINT UNSIGNED", optional=False),
    Column("na`me", "VARCHAR", 20, optional=False),
    Column("number", "INT"),
)


def scan(*key: str, **options: str) -> TableScan:
    return TableScan.of(Table("ops", "goods", COLUMNS, key), {"id": Reading(), "na`me": Reading()}, **options)


def test_names_are_quoted() -> None:
    assert quoted("a`b.c") == "`a``b.c`"
    assert quoted_table(TableId("my.db", "`")) == "`my.db`.````"


def test_only_captured_columns_are_read() -> None:
    assert scan().statement == "SELECT `id`, `na``me` FROM `ops`.`goods`"
    everything = TableScan.of(Table("ops", "goods", COLUMNS), {})
    assert everything.statement == "SELECT `id`, `na``me`, `number` FROM `ops`.`goods`"


@pytest.mark.parametrize(
    ("key", "expected"),
    [((), None), (("id",), "id"), (("ID", "na`me"), "id"), (("na`me", "id"), None), (("number",), None)],
)
def test_keys_by_which_rows_are_divided(key: tuple[str, ...], expected: str | None) -> None:
    assert scan(*key).key == expected


def test_a_statement_in_place_of_the_table() -> None:
    found = scan("id", override="SELECT 1")
    assert (found.statement, found.key) == ("SELECT 1", None)


@given(low=st.integers(-(1 << 63), 1 << 64), width=st.integers(0, 1 << 64) | st.integers(0, 9), count=st.integers(2, 9))
def test_ranges_have_each_key_once(low: int, width: int, count: int) -> None:
    """Also keys beyond the bounds, which may be older than the rows."""
    conditions = _conditions("k", low, low + width, count)
    assert len(conditions) == min(count, width + 1)
    edges = [int(edge) for condition in conditions for edge in re.findall(r"-?\d+", condition)]
    for key in {low - 5, low, low + width, low + width + 5, *edges, *(edge - 1 for edge in edges)}:
        assert sum(eval(_as_python(condition), {"k": key}) for condition in conditions) == 1


def _as_python(condition: str) -> str:
    return condition.replace(" WHERE ", "").replace(" AND ", " and ") or "True"
