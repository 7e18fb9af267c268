"""Tables and columns as Debezium's schema history describes them (``io.debezium.relational.Table``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        type: MySQL's name in upper case, with ``UNSIGNED`` and ``ZEROFILL``, such as ``INT UNSIGNED``.
        length: of a text, of bytes or bits; digits of a DECIMAL; digits after the point of a time.
        scale: of a DECIMAL, or of a FLOAT or DOUBLE that has one.
        charset: of a text, an ENUM or a SET.
        labels: of an ENUM or a SET.
    """

    name: str
    type: str
    length: int | None = None
    scale: int | None = None
    optional: bool = True
    charset: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def base_type(self) -> str:
        """Return the type without sign and filling."""
        return self.type.removesuffix(" ZEROFILL").removesuffix(" UNSIGNED")

    @property
    def unsigned(self) -> bool:
        """Return whether the numbers are unsigned; ZEROFILL implies it."""
        return "UNSIGNED" in self.type or "ZEROFILL" in self.type


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: names of the columns of the primary key, or of the unique index that stands in for it.
    """

    database: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Return a column by its name, in which case does not matter.

        Raises:
            KeyError: there is none.
        """
        for column in self.columns:
            if column.name.lower() == name.lower():
                return column
        raise KeyError(f"{self.database}.{self.name} has no column {name}")
