"""Names for Avro."""

import pytest

from connect_dagster.transforms.debezium.schema_names import adjusted


@pytest.mark.parametrize(
    ("name", "mode", "is_field", "expected"),
    [
        ("a-b.c d.Key", "none", False, "a-b.c d.Key"),
        ("a-b.c d.Key", "avro", False, "a_b.c_d.Key"),
        ("1a", "avro", False, "_1a"),
        ("-a", "avro", False, "_a"),
        ("_a.b", "avro", False, "_a.b"),
        ("별", "avro", False, "_"),
        ("😀", "avro", False, "__"),
        ("", "avro", False, ""),
        ("a-b.c", "avro_unicode", False, "a_u002db.c"),
        ("a_b", "avro_unicode", False, "a_u005fb"),
        ("1a", "avro_unicode", False, "_u0031a"),
        ("별", "avro_unicode", False, "_ubcc4"),
        ("a\tb", "avro_unicode", False, "a_u009b"),
        ("a.b", "avro", True, "a_b"),
        ("a.b", "avro_unicode", True, "a_u002eb"),
    ],
)
def test_names(name: str, mode: str, is_field: bool, expected: str) -> None:
    assert adjusted(name, mode, is_field=is_field) == expected
