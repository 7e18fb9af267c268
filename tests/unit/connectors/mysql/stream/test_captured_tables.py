"""Tables of row events, looked up among those that are known."""

import logging

import pytest

from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import FailureMode
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.stream.captured_tables import CapturedTables
from connect_dagster.errors import ConnectError
from tests import binlog
from tests.binlog import table_map
from tests.unit.connectors.mysql.stream.test_change_tables import COLUMNS, GOODS, rules

ANNOUNCED = TableMap.parse(table_map(1, COLUMNS))
SHORTER = TableMap.parse(table_map(1, [binlog.integer(3, 4, signed=True)]))
NULLABLE = Table(GOODS.database, GOODS.name, (Column("id", "INT"), GOODS.columns[1]), GOODS.key)


def known(*tables: Table, mode: FailureMode = FailureMode.FAIL) -> CapturedTables:
    model = Tables()
    for table in tables:
        model.put(table)
    return CapturedTables(model, rules(), mode)


def test_a_table_is_made_once_until_it_changes() -> None:
    model = Tables()
    model.put(NULLABLE)
    captured = CapturedTables(model, rules(), FailureMode.FAIL)
    first = captured.captured(ANNOUNCED)
    assert first is not None
    assert captured.captured(TableMap.parse(table_map(2, COLUMNS))) is not None
    again = captured.captured(ANNOUNCED)
    assert again is not None
    assert again.row_schema == first.row_schema
    model.put(Table(GOODS.database, GOODS.name, (Column("id", "INT"), Column("title", "VARCHAR", 10)), GOODS.key))
    changed = captured.captured(ANNOUNCED)
    assert changed is not None
    assert [field.name for field in changed.row] == ["id", "title"]


@pytest.mark.parametrize(
    ("tables", "announced", "reason"),
    [
        ((), ANNOUNCED, "its structure is not known to the connector"),
        ((NULLABLE,), SHORTER, "2 columns are known, the log has 1"),
    ],
)
def test_tables_that_are_not_as_they_are_known(tables: tuple[Table, ...], announced: TableMap, reason: str) -> None:
    with pytest.raises(
        ConnectError, match=rf"Rows of table ops.goods cannot be read: {reason}.*snapshot.mode=recovery"
    ):
        known(*tables).captured(announced)


@pytest.mark.parametrize(
    ("mode", "levels"), [(FailureMode.WARN, [logging.WARNING]), (FailureMode.SKIP, [logging.DEBUG])]
)
def test_they_may_be_left_out(mode: FailureMode, levels: list[int], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert known(mode=mode).captured(ANNOUNCED) is None
    assert [record.levelno for record in caplog.records] == levels
