"""What is captured, and in which order a snapshot reads it."""

from dataclasses import replace

import pytest

from connect_dagster.connectors.mysql.selection.filters import CaptureFilters, HistoryScope
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList
from connect_dagster.connectors.mysql.table_ids import TableId

TABLES = [
    TableId.parse("", name)
    for name in ("ops.orders", "ops.customers", "Shop.items", "mysql.user", "SYS.config", "ops.signals")
]


def names(text: str) -> RegexList:
    return RegexList.parse("option", text)


def only(text: str) -> NameFilter:
    return NameFilter(names(text), names(""))


def without(text: str) -> NameFilter:
    return NameFilter(names(""), names(text))


ALL = CaptureFilters(without(""), without(""), without(""), names(""))


def listed(tables: list[TableId]) -> str:
    return " ".join(map(str, tables))


@pytest.mark.parametrize(
    ("filters", "captured"),
    [
        (ALL, "ops.orders ops.customers Shop.items ops.signals"),
        (replace(ALL, without_built_in=False), "ops.orders ops.customers Shop.items mysql.user SYS.config ops.signals"),
        (replace(ALL, databases=only("ops")), "ops.orders ops.customers ops.signals"),
        (replace(ALL, databases=only("mysql")), ""),
        (replace(ALL, databases=without("ops")), "Shop.items"),
        (replace(ALL, tables=only("ops.o.*,shop.items")), "ops.orders Shop.items"),
        (replace(ALL, tables=without("ops.*")), "Shop.items"),
        (replace(ALL, databases=only("shop"), tables=only("ops.*")), ""),
        (replace(ALL, tables=only("orders")), ""),
        (replace(ALL, tables=only("shop.*"), signals=TableId("OPS", "signals")), "Shop.items ops.signals"),
    ],
)
def test_captured(filters: CaptureFilters, captured: str) -> None:
    assert listed(filters.captured(TABLES)) == captured


@pytest.mark.parametrize(
    ("scope", "recorded"),
    [
        (HistoryScope.ALL, "ops.orders ops.customers Shop.items ops.signals"),
        (HistoryScope.CAPTURED_DATABASES, "ops.orders ops.customers ops.signals"),
        (HistoryScope.CAPTURED_TABLES, "ops.orders"),
    ],
)
def test_recorded(scope: HistoryScope, recorded: str) -> None:
    filters = replace(ALL, databases=only("ops"), tables=only("ops.orders"), history_scope=scope)
    assert listed(filters.recorded(TABLES)) == recorded


@pytest.mark.parametrize(
    ("filters", "in_snapshot"),
    [
        (ALL, "Shop.items ops.customers ops.orders ops.signals"),
        (replace(ALL, tables=only("ops.orders,ops.*")), "ops.orders ops.customers ops.signals"),
        (replace(ALL, snapshot=names("OPS.C.*,shop.items,nothing.*")), "Shop.items ops.customers"),
        (
            replace(ALL, tables=only("ops.orders"), signals=TableId("ops", "signals")),
            "ops.orders ops.signals",
        ),
    ],
)
def test_in_snapshot(filters: CaptureFilters, in_snapshot: str) -> None:
    assert listed(filters.in_snapshot(TABLES)) == in_snapshot


def test_databases() -> None:
    assert replace(ALL, databases=without("sh.p")).captured_databases(["ops", "Shop", "mysql"]) == ["ops", "mysql"]


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (without(""), ["id", "Name", "note"]),
        (only(r"ops\.orders\.(id|name)"), ["id", "Name"]),
        (without(r".*\.note"), ["id", "Name"]),
        (only("ops.other.id"), []),
    ],
)
def test_columns(columns: NameFilter, kept: list[str]) -> None:
    assert replace(ALL, columns=columns).columns_of(TABLES[0], ["id", "Name", "note"]) == kept
