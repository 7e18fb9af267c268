"""Transactions that count by their source."""

from connect_dagster.connectors.mysql.positions.gtid import MySqlGtidSet
from connect_dagster.connectors.mysql.positions.gtid_sources import EXCLUDES, INCLUDES, GtidSources
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "b5cd1624-5f30-11e4-b4e9-1051721bd241"
NONE = RegexList(INCLUDES)


def including(text: str, *, of_rows: bool = True) -> GtidSources:
    return GtidSources(NameFilter(RegexList.parse(INCLUDES, text), NONE), of_rows)


def test_mysql() -> None:
    for text in (A, A.upper(), "3e11.*"):
        assert MySqlGtidSet.parse(f"{A}:1-5,{B}:1-3").retained(including(text).keeps) == MySqlGtidSet.parse(f"{A}:1-5")
    excluding = GtidSources(NameFilter(NONE, RegexList.parse(EXCLUDES, A)))
    assert excluding.kept([A, B]) == [B]


def test_mariadb() -> None:
    assert including("0-1").kept(["0-1", "0-11", "1-1"]) == ["0-1"]


def test_rows() -> None:
    assert including(A).keeps_rows(A)
    assert not including(A).keeps_rows(B)
    assert including(A, of_rows=False).keeps_rows(B)
    assert GtidSources(NameFilter(NONE, NONE)).keeps_rows(B)
