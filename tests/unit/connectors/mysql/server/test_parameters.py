"""Values of parameters as bytes (MySQL's protocol documentation, ``COM_STMT_EXECUTE``)."""

from decimal import Decimal

import pytest

from connect_dagster.connectors.mysql.server.parameters import Parameter, execution
from connect_dagster.errors import DataError

HEAD = bytes.fromhex("07000000 00 01000000")


def test_without_parameters() -> None:
    assert execution(7, ()) == HEAD


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, "00 01 0800 0500000000000000"),
        (-1, "00 01 0800 ffffffffffffffff"),
        (2**64 - 1, "00 01 0880 ffffffffffffffff"),
        (1.5, "00 01 0500 000000000000f83f"),
        ("별", "00 01 fd00 03 ebb384"),
        (b"\0\1", "00 01 fc00 02 0001"),
        (b"a" * 251, "00 01 fc00 fcfb00" + "61" * 251),
        (b"a" * 65536, "00 01 fc00 fe0000010000000000" + "61" * 65536),
        (Decimal("1E+2"), "00 01 f600 03 313030"),
        (None, "01 01 0600"),
    ],
)
def test_a_value(value: Parameter, expected: str) -> None:
    assert execution(7, [value]) == HEAD + bytes.fromhex(expected)


def test_types_come_before_values() -> None:
    content = execution(7, [None, 1, *[None] * 7, "a"])
    bitmap, types = bytes.fromhex("fd01"), bytes.fromhex("0600 0800" + "0600" * 7 + "fd00")
    assert content == HEAD + bitmap + b"\1" + types + (1).to_bytes(8, "little") + b"\1a"


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_that_are_too_large(value: int) -> None:
    with pytest.raises(DataError, match="more than 64 bits"):
        execution(7, [value])
