"""Keys that ``message.key.columns`` gives."""

import pytest

from connect_dagster.connectors.mysql.selection.message_keys import MessageKeys, message_keys
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError

ORDERS, COLUMNS = TableId("shop", "orders"), ["id", "Line", "line_2", "note"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("shop.orders:line,id", ("Line", "id")),
        ("shop.orders:id;shop.items:code", ("id",)),
        ("(.*).orders:note;", ("note",)),
        (r"SHOP\.ORDERS : line.*", ("Line", "line_2")),
        ("shop.orders:id;shop.*:id,note", ("id", "note")),
        ("shop.items:id", None),
        ("shop.orders:code", None),
    ],
)
def test_key(text: str, key: tuple[str, ...] | None) -> None:
    assert MessageKeys.parse(text).of_table(ORDERS, COLUMNS) == key


def test_none() -> None:
    assert MessageKeys().of_table(ORDERS, COLUMNS) is None
    message_keys("message.key.columns", None)


@pytest.mark.parametrize(
    "text", ["", ";", "shop.orders", "shop.orders:", "shop.orders:id,,note", ":id", "a.b:c:d", "a.b:c;;d.e:f"]
)
def test_wrong(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"for configuration message\.key\.columns: (Each entry is|It must not be empty)"
    ):
        message_keys("message.key.columns", text)


def test_no_regex() -> None:
    with pytest.raises(ConfigError, match="Invalid regex"):
        MessageKeys.parse("shop.(orders:id")
