"""Character sets of collations."""

import pytest

from connect_dagster.connectors.mysql.schema.collations import charset_of_collation, charset_of_number, same_charset


@pytest.mark.parametrize(
    ("name", "charset"),
    [("utf8mb4_0900_ai_ci", "utf8mb4"), ("LATIN1_BIN", "latin1"), ("binary", "binary"), ("uca1400_ai_ci", None)],
)
def test_by_name(name: str, charset: str | None) -> None:
    assert charset_of_collation(name) == charset


@pytest.mark.parametrize(
    ("number", "charset"),
    [
        (8, "latin1"),
        (33, "utf8mb3"),
        (46, "utf8mb4"),
        (255, "utf8mb4"),
        (1070, "utf8mb4"),
        (2304, "utf8mb4"),
        (500, None),
    ],
)
def test_by_number(number: int, charset: str | None) -> None:
    assert charset_of_number(number) == charset


def test_utf8_is_utf8mb3() -> None:
    assert same_charset("utf8", "UTF8MB3")
    assert not same_charset("utf8", "utf8mb4")
