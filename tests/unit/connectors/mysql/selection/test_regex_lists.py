"""Lists of regular expressions, as Debezium splits and anchors them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList, regexes
from connect_dagster.errors import ConfigError
from connect_dagster.expressions.java_calls import has_jvm
from connect_dagster.expressions.java_patterns import CostlyPatternError

NAMES = ["ops.customers", "ops.customers_old", "OPS.Orders", "shop.items"]
NONE = RegexList("none")


def of(text: str) -> RegexList:
    return RegexList.parse("table.include.list", text)


@pytest.mark.parametrize(
    ("text", "expressions"),
    [
        ("", ()),
        (" , ,", ()),
        ("a", ("a",)),
        (" a , b ", ("a", "b")),
        (r"a{1\,2},b", ("a{1,2}", "b")),
        (r"a\.b\\,c", (r"a\.b\\", "c")),
        ("a\nb,c", ("a\nb", "c")),
    ],
)
def test_parts(text: str, expressions: tuple[str, ...]) -> None:
    assert of(text).expressions == expressions
    assert bool(of(text)) == bool(expressions)
    assert RegexList.of_items("table.include.list", text.split(",")).expressions == expressions


@given(st.lists(st.text("ab.|*+x_", min_size=1).map(lambda text: text.replace("*", "").replace("+", ""))))
def test_parts_come_back(parts: list[str]) -> None:
    assert of(",".join(parts)).expressions == tuple(part for part in parts if part)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ops.customers", ["ops.customers"]),
        (r"ops\.customers.*", ["ops.customers", "ops.customers_old"]),
        ("ops.*", ["ops.customers", "ops.customers_old", "OPS.Orders"]),
        ("SHOP.items, ops.orders", ["OPS.Orders", "shop.items"]),
        ("customers", []),
        ("", []),
    ],
)
def test_matching(text: str, names: list[str]) -> None:
    assert of(text).matching(NAMES) == names


def test_over_lines() -> None:
    statement = ["DROP TABLE a\nIF EXISTS"]
    assert of("drop.*").matching(statement) == []
    assert RegexList("option", ("drop.*",), over_lines=True).matching(statement) == statement


def test_in_order() -> None:
    assert of("shop.*,ops.*").in_order(NAMES) == ["shop.items", "OPS.Orders", "ops.customers", "ops.customers_old"]
    assert of("ops.orders,.*").in_order(NAMES)[0] == "OPS.Orders"


@pytest.mark.parametrize("text", ["a(", "ok,[", "a\\", "a,b\\"])
def test_wrong(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Invalid value .* for configuration table\.include\.list") as raised:
        of(text)
    assert raised.value.name == "table.include.list"


def test_runaway_ends() -> None:
    costly = "(.*)(.*)(.*)(.*)(.*)(.*)x" if has_jvm() else "(a|aa)+$"  # each engine has its own ways around the other
    with pytest.raises(CostlyPatternError, match=r"table\.include\.list"):
        of(costly).matching(["a" * 300 + "!"])


def test_check() -> None:
    regexes("option", None)
    regexes("option", ("a", "b"))
    with pytest.raises(ConfigError):
        regexes("option", ("a", "("))


def test_filter() -> None:
    assert NameFilter(NONE, NONE).kept(NAMES) == NAMES
    assert not NameFilter(NONE, NONE)
    assert NameFilter(of("ops.*"), NONE).kept(NAMES) == NAMES[:3]
    assert NameFilter(NONE, of("ops.*")).kept(NAMES) == NAMES[3:]
    assert NameFilter(of("shop.*"), of("shop.*")).kept(NAMES) == NAMES[3:]
