"""Texts as ``ObjectOutputStream`` writes them."""

import pytest

from connect_dagster.java.object_stream import modified_utf8, serialized_text


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", ""),
        ("shop", "73686f70"),
        ("\0", "c080"),
        ("é별", "c3a9ebb384"),
        ("🎉", "eda0bcedbe89"),
    ],
)
def test_text(text: str, content: str) -> None:
    assert modified_utf8(text).hex() == content
    assert serialized_text(text).hex() == f"aced000574{len(content) // 2:04x}{content}"


def test_long_text() -> None:
    assert serialized_text("x" * 65_535)[4:7] == b"\x74\xff\xff"
    assert serialized_text("x" * 65_536)[4:13] == b"\x7c" + (65_536).to_bytes(8, "big")
