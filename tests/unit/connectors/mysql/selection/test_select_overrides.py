"""Statements in place of ``SELECT *``."""

import pytest

from connect_dagster.connectors.mysql.selection.select_overrides import OPTION, SelectOverrides
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError


def test_statements() -> None:
    found = SelectOverrides.parse(
        {
            OPTION: "shop.orders, `shop`.items,",
            f"{OPTION}.shop.orders": " SELECT * FROM shop.orders WHERE id > 5 ",
            f"{OPTION}.`shop`.items": "SELECT 1",
            "name": "c",
        }
    )
    assert found.statements == {
        TableId("shop", "orders"): "SELECT * FROM shop.orders WHERE id > 5",
        TableId("shop", "items"): "SELECT 1",
    }
    assert found.warnings == ()


def test_warnings() -> None:
    found = SelectOverrides.parse({OPTION: "shop.orders", f"{OPTION}.shop.items": "SELECT 1"})
    assert found.statements == {}
    assert found.warnings == (
        f"{OPTION} names shop.orders, but the statement {OPTION}.shop.orders is missing",
        f"{OPTION}.shop.items is without effect: {OPTION} must name shop.items",
    )


def test_none() -> None:
    assert SelectOverrides.parse({}) == SelectOverrides()


def test_wrong() -> None:
    with pytest.raises(ConfigError, match=r"database\.table"):
        SelectOverrides.parse({OPTION: "orders"})
