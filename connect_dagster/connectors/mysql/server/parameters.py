"""Values for the parameters of a prepared statement, in the binary protocol (``COM_STMT_EXECUTE``)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import TypeAlias

from connect_dagster.connectors.mysql.decode.table_map import ColumnType
from connect_dagster.errors import DataError

Parameter: TypeAlias = int | float | str | bytes | Decimal | None

_UNSIGNED = 0x80
_NO_CURSOR, _ONCE, _WITH_TYPES = 0, 1, 1
_LONG = 1 << 63


def execution(statement: int, parameters: Sequence[Parameter]) -> bytes:
    """Return the content of the command that runs a statement.

    Raises:
        DataError: an integer has more than 64 bits.
    """
    head = struct.pack("<IBI", statement, _NO_CURSOR, _ONCE)
    if not parameters:
        return head
    nulls = sum(1 << place for place, value in enumerate(parameters) if value is None)
    types, values = zip(*map(_typed, parameters), strict=True)
    bitmap = nulls.to_bytes((len(parameters) + 7) // 8, "little")
    return b"".join((head, bitmap, bytes([_WITH_TYPES]), *types, *values))


def _typed(value: Parameter) -> tuple[bytes, bytes]:
    """Return the type of a value with its flags, and the value."""
    match value:
        case None:
            return bytes([ColumnType.NULL, 0]), b""
        case int() if -_LONG <= value < _LONG:
            return bytes([ColumnType.LONGLONG, 0]), struct.pack("<q", value)
        case int() if _LONG <= value < 2 * _LONG:
            return bytes([ColumnType.LONGLONG, _UNSIGNED]), struct.pack("<Q", value)
        case int():
            raise DataError(f"An integer of more than 64 bits cannot be a parameter: {value}")
        case float():
            return bytes([ColumnType.DOUBLE, 0]), struct.pack("<d", value)
        case str():
            return bytes([ColumnType.VAR_STRING, 0]), _encoded(value.encode())
        case Decimal():
            return bytes([ColumnType.NEWDECIMAL, 0]), _encoded(f"{value:f}".encode())
        case bytes():
            return bytes([ColumnType.BLOB, 0]), _encoded(value)


def _encoded(value: bytes) -> bytes:
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    prefix = b"\xfc" + struct.pack("<H", size) if size < 1 << 16 else b"\xfe" + struct.pack("<Q", size)
    return prefix + value
