"""Statements that a schema history keeps, and the records of schema changes."""

import json
from collections.abc import Iterable

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.history.schema_changes import SchemaChangeRecords, SchemaChanges, StatementPlace
from connect_dagster.connectors.mysql.history.schema_history import HistoryRules, SchemaHistory
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.envelope import source_schema
from connect_dagster.connectors.mysql.records.service_records import schema_change_key, schema_change_value
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.ddl.unrecorded import is_unrecorded
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.selection.filters import CaptureFilters, HistoryScope
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import RetriableError

PLACE = StatementPlace(Position("log.1", 200, server_id=1), 100, 1_700_000_000_123_000, "u:1", 7)


class Store:
    """Keeps records in memory."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def records(self) -> Iterable[bytes]:
        return self.written

    def write(self, value: bytes) -> None:
        self.written.append(value)

    @property
    def statements(self) -> list[tuple[str, str]]:
        """Databases and statements."""
        parsed = [json.loads(value) for value in self.written]
        return [(value["databaseName"], value["ddl"]) for value in parsed]


def names(option: str, *included: str) -> NameFilter:
    return NameFilter(RegexList.of_items(f"{option}.include.list", included), RegexList.of_items(option, ()))


def history(store: Store, scope: HistoryScope = HistoryScope.ALL) -> SchemaHistory:
    filters = CaptureFilters(
        names("database", "shop"),
        names("table", r"shop\..*"),
        names("column"),
        RegexList.of_items("snapshot", ()),
        history_scope=scope,
    )
    rules = HistoryRules({"server": "p"}, filters, False, lambda _: [])
    return SchemaHistory(store, DdlParser(Tables(), Flavor.MYSQL), rules)


def changes(store: Store, scope: HistoryScope = HistoryScope.ALL) -> SchemaChanges:
    records = SchemaChangeRecords(
        "p",
        schema_change_key("mysql"),
        schema_change_value("mysql", source_schema("mysql")),
        SourceConstants("3", "mysql", "p"),
        {},
    )
    return SchemaChanges(history(store, scope), records, lambda: 0)


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("CREATE DATABASE other", [("other", "CREATE DATABASE other")]),
        ("CREATE INDEX i ON t (a)", [("shop", "CREATE INDEX i ON t (a)")]),
        ("DROP INDEX i ON t", [("shop", "DROP INDEX i ON t")]),
        ("FLUSH TABLES", [("shop", "FLUSH TABLES")]),
        ("CREATE TABLE other.t (a INT)", [("other", "CREATE TABLE other.t (a INT)")]),
        ("CREATE USER a IDENTIFIED BY 'b'", []),
        ("GRANT SELECT ON shop.* TO a", []),
        ("CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW v AS SELECT 1", []),
        ("OPTIMIZE TABLE t", []),
        ("TRUNCATE TABLE t", [("shop", "TRUNCATE TABLE t")]),
    ],
)
def test_statements_of_all_databases_are_kept(statement: str, kept: list[tuple[str, str]]) -> None:
    store = Store()
    known = history(store)
    for event in known.events_of(statement, "shop"):
        known.keep(event, PLACE.position, 0)
    assert store.statements == kept


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        (HistoryScope.CAPTURED_DATABASES, ["CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)", "FLUSH TABLES"]),
        (HistoryScope.CAPTURED_TABLES, ["CREATE TABLE shop.t (a INT)"]),
    ],
)
def test_a_history_of_less(scope: HistoryScope, kept: list[str]) -> None:
    store = Store()
    applied = changes(store, scope)
    for statement in (
        "CREATE DATABASE shop",
        "CREATE DATABASE other",
        "CREATE TABLE shop.t (a INT)",
        "CREATE TABLE other.t (a INT)",
        "FLUSH TABLES",
    ):
        applied.apply(statement, "shop", PLACE)
    assert [statement for _, statement in store.statements] == kept


def test_records_name_all_tables_of_their_statement() -> None:
    applied = changes(Store())
    applied.apply("CREATE TABLE a (x INT); CREATE TABLE b (x INT)", "shop", PLACE)
    (batch,) = applied.apply("RENAME TABLE a TO c, b TO d", "shop", PLACE).batches
    values = batch.table.column("value").to_pylist()
    assert [value["ddl"] for value in values] == ["RENAME TABLE a TO c", "RENAME TABLE b TO d"]
    assert [value["source"]["table"] for value in values] == ["c,d", "c,d"]
    assert [value["source"]["thread"] for value in values] == [7, 7]


def test_tables_that_a_statement_truncates() -> None:
    applied = changes(Store())
    applied.apply("CREATE TABLE a (x INT)", "shop", PLACE)
    found = applied.apply("TRUNCATE TABLE a", "shop", PLACE)
    assert (found.batches, found.truncated) == ([], [TableId("shop", "a")])


@pytest.mark.parametrize(("statement", "table"), [("FLUSH TABLES", ""), ("CREATE DATABASE d", None)])
def test_records_without_a_table(statement: str, table: str | None) -> None:
    (batch,) = changes(Store()).apply(statement, "shop", PLACE).batches
    (value,) = batch.table.column("value").to_pylist()
    assert value["source"]["table"] == table
    assert value["tableChanges"] == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SET STATEMENT max_statement_time=1 FOR ANALYZE TABLE t", True),
        ("create or replace view v as select 1", True),
        ("DROP TRIGGER t", True),
        ("ALTER ROLE r", True),
        ("REPAIR LOCAL TABLE t", True),
        ("# Dummy event replacing event type 160", True),
        ("CREATE TABLE users (a INT)", False),
        ("DROP EVENT e", False),
    ],
)
def test_unrecorded(statement: str, expected: bool) -> None:
    assert is_unrecorded(statement) is expected


class Failing(Store):
    """Refuses the second record."""

    def write(self, value: bytes) -> None:
        if self.written:
            raise RetriableError("no brokers")
        super().write(value)


def test_a_statement_that_cannot_be_kept_is_applied_when_it_is_read_again() -> None:
    store = Failing()
    known = history(store)
    applied = SchemaChanges(known, None, lambda: 0)
    applied.apply("CREATE TABLE a (x INT)", "shop", PLACE)
    for _ in range(2):
        with pytest.raises(RetriableError):
            applied.apply("ALTER TABLE a ADD COLUMN y INT", "shop", PLACE)
        table = known.tables.get(TableId("shop", "a"))
        assert table is not None
        assert [column.name for column in table.columns] == ["x"]


def test_tables_in_a_statement_that_is_not_understood_are_no_longer_known(caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    known = history(store)
    applied = SchemaChanges(known, None, lambda: 0)
    for name in ("a", "Goods", "shelves"):
        applied.apply(f"CREATE TABLE {name} (x INT)", "shop", PLACE)
    applied.apply("ALTER TABLE Goods ADD COLUMN (((", "shop", PLACE)
    assert [table.name for table in known.tables if table.name != "a"] == ["shelves"]
    assert "The server is asked for the structure of the tables that it names" in caplog.text
    again = history(store)
    again.recover(PLACE.position)
    assert [table.name for table in again.tables if table.name != "a"] == ["shelves"]
