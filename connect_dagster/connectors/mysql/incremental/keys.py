"""Keys of rows in a chunk, and their form in offsets: Java's serialised ``Object[]`` in hexadecimal digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Self

from connect_dagster.errors import DataError, java_text
from connect_dagster.java.object_arrays import Value, serialized_array
from connect_dagster.java.object_classes import JavaType
from connect_dagster.java.object_reader import parsed_array

NO_KEY = serialized_array(None).hex()


@dataclass(frozen=True, slots=True)
class Key:
    """A key.

    Attributes:
        values: of its columns.
        stored: its form in offsets, which stays that of Java where it comes from there.
    """

    values: tuple[Value, ...]
    stored: str

    @classmethod
    def of(cls, values: Sequence[tuple[JavaType, Value]]) -> Self:
        """Return the key of typed values."""
        return cls(tuple(value for _, value in values), serialized_array(values).hex())

    @classmethod
    def parse(cls, stored: str) -> Self | None:
        """Return the key of an offset; ``None`` where it has none.

        Raises:
            DataError: it is not a serialised array, or one with values that no key has.
        """
        try:
            values = parsed_array(bytes.fromhex(stored))
        except ValueError as error:
            raise DataError(f"not hexadecimal digits: {stored}") from error
        return None if values is None else cls(values, stored.lower())

    def __str__(self) -> str:
        """Return the values as notifications have them."""
        return ",".join(map(_text, self.values))


def _text(value: Value) -> str:
    match value:
        case None:
            return "<null>"
        case bytes():
            return value.hex()
        case datetime():  # Timestamp.toString has one digit after the point at least
            seconds, _, fraction = value.isoformat(" ").partition(".")
            return f"{seconds}.{fraction.rstrip('0') or '0'}"
        case Decimal():
            return f"{value:f}"
        case _:
            return java_text(value)
