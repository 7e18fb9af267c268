"""Names of tables in options."""

import pytest

from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("shop.orders", ("shop", "orders")),
        (" shop . orders ", ("shop", "orders")),
        ("`my.shop`.`or``ders`", ("my.shop", "or`ders")),
        ('"my shop"."or""ders"', ("my shop", 'or"ders')),
        ("'shop'.orders", ("shop", "orders")),
        ("상점.주문", ("상점", "주문")),
    ],
)
def test_name(text: str, table: tuple[str, str]) -> None:
    assert TableId.parse("option", text) == table
    assert str(TableId(*table)) == ".".join(table)


@pytest.mark.parametrize(
    "text", ["", "orders", "shop.", ".orders", "a.b.c", "shop.or ders", "`shop.orders", "shop..orders"]
)
def test_no_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"A table is named database\.table") as raised:
        TableId.parse("signal.data.collection", text)
    assert raised.value.name == "signal.data.collection"
