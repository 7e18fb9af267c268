"""Names that Avro allows, as Debezium makes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.records.name_adjustment import (
    NameAdjustment,
    adjusted_field_name,
    adjusted_schema_name,
)

NONE, AVRO, UNICODE = NameAdjustment.NONE, NameAdjustment.AVRO, NameAdjustment.AVRO_UNICODE


@pytest.mark.parametrize(
    ("name", "avro", "unicode"),
    [
        ("shop.orders.Value", "shop.orders.Value", "shop.orders.Value"),
        ("my-shop.or_ders", "my_shop.or_ders", "my_u002dshop.or_u005fders"),
        ("1shop", "_1shop", "_u0031shop"),
        ("_shop", "_shop", "_u005fshop"),
        (".shop", "_shop", "_u002eshop"),
        ("별", "_", "_ubcc4"),
        ("a🎉", "a__", "a_ud83c_udf89"),
        ("", "", ""),
    ],
)
def test_schema_name(name: str, avro: str, unicode: str) -> None:
    assert adjusted_schema_name(name, NONE) == name
    assert adjusted_schema_name(name, AVRO) == avro
    assert adjusted_schema_name(name, UNICODE) == unicode


@pytest.mark.parametrize(
    ("name", "avro", "unicode"),
    [("a.b", "a_b", "a_u002eb"), ("order-id", "order_id", "order_u002did"), ("2nd", "_2nd", "_u0032nd")],
)
def test_field_name(name: str, avro: str, unicode: str) -> None:
    assert adjusted_field_name(name, NONE) == name
    assert adjusted_field_name(name, AVRO) == avro
    assert adjusted_field_name(name, UNICODE) == unicode


@given(st.text(min_size=1))
def test_result_is_a_name_of_avro(name: str) -> None:
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", adjusted_field_name(name, UNICODE))
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_.]*", adjusted_schema_name(name, UNICODE))
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", adjusted_field_name(f"a{name}", AVRO))
