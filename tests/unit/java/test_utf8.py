"""Bytes that are not UTF-8, replaced; conformance compares with Java's own decoder."""

import pytest

from connect_dagster.java.utf8 import decode_replacing, utf16_units


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("세번째".encode(), "세번째"),
        (b"caf\xe9!", "caf\ufffd!"),
        (b"\xed\xa0\x80|", "\ufffd|"),
        (b"\xed\xbf|", "\ufffd|"),
        (b"\xe2\x82|", "\ufffd|"),
        (b"\xf0\x9f\x98|", "\ufffd|"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xf8\x88", "\ufffd\ufffd"),
        (b"\xe2\x82\n", "\ufffd\n"),
    ],
)
def test_what_is_no_text_is_replaced(data: bytes, text: str) -> None:
    assert decode_replacing(data) == text


def test_characters_as_java_counts_them() -> None:
    assert utf16_units("세a😀".encode()) == 4
