"""Keys and values of offsets: the bytes that Java's worker writes."""

from __future__ import annotations

from typing import Any

import pytest

from connect_dagster.errors import DataError
from connect_dagster.protocol.offset_records import parse_key
from connect_dagster.storage.offset_json import key_bytes, parse_value, value_bytes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (47, "47"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (1e10, "1.0E10"),
        (float("nan"), '"NaN"'),
        (b"\x00\xff", '"AP8="'),
        ("세번째/é", '"세번째/é"'),
        ('"\\\n\x01\x1f\x7f', '"\\"\\\\\\n\\u0001\\u001F\x7f"'),
        ("😀", '"\\uD83D\\uDE00"'),
    ],
)
def test_values_are_written_as_jackson_writes_them(value: Any, text: str) -> None:
    assert value_bytes({"v": value}) == f'{{"v":{text}}}'.encode()


@pytest.mark.parametrize("value", [[1], {"a": 1}, object()])
def test_offsets_hold_primitive_values_only(value: Any) -> None:
    with pytest.raises(DataError, match=r"^Offsets may only contain primitive types as values, but field v contains"):
        value_bytes({"v": value})


def test_offsets_have_names() -> None:
    numbered: dict[Any, Any] = {1: "a"}
    with pytest.raises(DataError, match=r"^Offsets may only use String keys$"):
        value_bytes(numbered)


def test_a_key_names_connector_and_partition() -> None:
    key = key_bytes("local-file-source", {"filename": "/tmp/test.txt"})
    assert key == b'["local-file-source",{"filename":"/tmp/test.txt"}]'
    assert parse_key(key) == ("local-file-source", {"filename": "/tmp/test.txt"})


@pytest.mark.parametrize("key", [b"", b"\xff", b'"a"', b'["a"]', b'["a",null]', b"[1,{}]"])
def test_other_keys_are_none(key: bytes) -> None:
    assert parse_key(key) is None


@pytest.mark.parametrize("value", [b"", b"[1]", b"\xff", b"{"])
def test_values_that_are_no_object_are_refused(value: bytes) -> None:
    with pytest.raises(DataError, match=r"^Offset b'"):
        parse_value(value)
