"""Tables of row events, looked up among those that are known."""

import logging
from dataclasses import replace

import pytest

from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureMode
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.stream.captured_tables import CapturedTables
from connect_dagster.connectors.mysql.stream.event_place import EventPlace
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError
from tests import binlog
from tests.binlog import table_map
from tests.unit.connectors.mysql.stream.test_change_tables import COLUMNS, GOODS, rules

ANNOUNCED = TableMap.parse(table_map(1, COLUMNS))
SHORTER = TableMap.parse(table_map(1, [binlog.integer(3, 4, signed=True)]))
NULLABLE = Table(GOODS.database, GOODS.name, (Column("id", "INT"), GOODS.columns[1]), GOODS.key)
NARROW = Table(GOODS.database, GOODS.name, (Column("id", "INT"),), GOODS.key)
PLACE = EventPlace("log.000003", 120, 180, Position("log.000003", 4))


class Present:
    """A server with a table, or without."""

    def __init__(self, tables: Tables, table: Table | None = None) -> None:
        self._tables, self._table = tables, table
        self.asked = 0
        self.kept: list[Position] = []

    def read(self, _: TableId) -> Table | None:
        self.asked += 1
        return self._table

    def keep(self, table: Table, position: Position) -> None:
        self.kept.append(position)
        self._tables.put(table)


def known(
    *tables: Table, mode: FailureMode = FailureMode.FAIL, present: Table | None = None
) -> tuple[CapturedTables, Present]:
    model = Tables()
    for table in tables:
        model.put(table)
    server = Present(model, present)
    return CapturedTables(model, rules(), replace(DEFAULT_RULES.schemas, mode=mode), server), server


def test_a_table_is_made_once_until_it_changes() -> None:
    model = Tables()
    model.put(NULLABLE)
    captured = CapturedTables(model, rules(), DEFAULT_RULES.schemas, Present(model))
    first = captured.captured(ANNOUNCED, PLACE)
    assert first is not None
    assert captured.captured(TableMap.parse(table_map(2, COLUMNS)), PLACE) is not None
    again = captured.captured(ANNOUNCED, PLACE)
    assert again is not None
    assert again.row_schema == first.row_schema
    model.put(Table(GOODS.database, GOODS.name, (Column("id", "INT"), Column("title", "VARCHAR", 10)), GOODS.key))
    changed = captured.captured(ANNOUNCED, PLACE)
    assert changed is not None
    assert [field.name for field in changed.row] == ["id", "title"]


@pytest.mark.parametrize("present", [None, NARROW])
@pytest.mark.parametrize(
    ("tables", "reason"),
    [((), "its structure is not known to the connector"), ((NARROW,), "1 columns are known, the log has 2")],
)
def test_tables_that_are_not_as_they_are_known(tables: tuple[Table, ...], reason: str, present: Table | None) -> None:
    text = (
        rf"Rows of table ops.goods at log.000003:120 \(`mysqlbinlog --start-position=120 --stop-position=180 --verbose "
        rf"log.000003` shows it\) cannot be read: {reason}; nor does .*snapshot.mode=recovery"
    )
    with pytest.raises(ConnectError, match=text):
        known(*tables, present=present)[0].captured(ANNOUNCED, PLACE)


@pytest.mark.parametrize(
    ("mode", "levels"), [(FailureMode.WARN, [logging.WARNING] * 2), (FailureMode.SKIP, [logging.DEBUG] * 2)]
)
def test_they_may_be_left_out(mode: FailureMode, levels: list[int], caplog: pytest.LogCaptureFixture) -> None:
    captured, server = known(mode=mode)
    with caplog.at_level(logging.DEBUG):
        assert captured.captured(ANNOUNCED, PLACE) is None
        assert captured.captured(ANNOUNCED, PLACE) is None
    assert [record.levelno for record in caplog.records] == levels
    assert server.asked == 1


@pytest.mark.parametrize("tables", [(), (NARROW,)])
def test_the_structure_that_the_server_has_now_is_taken_where_it_fits(
    tables: tuple[Table, ...], caplog: pytest.LogCaptureFixture
) -> None:
    captured, server = known(*tables, present=NULLABLE)
    for _ in range(2):
        found = captured.captured(ANNOUNCED, PLACE)
        assert found is not None
        assert [field.name for field in found.row] == ["id", "name"]
    assert (server.asked, server.kept) == (1, [PLACE.before])
    assert "The structure that the server has now fits, and is taken" in caplog.text
