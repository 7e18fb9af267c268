"""Types of columns: a name of up to three words, length and scale or labels, then modifiers and the character set."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.collations import charset_of_collation
from connect_dagster.connectors.mysql.schema.column_types import (
    LONGEST_NAME,
    MODIFIERS,
    NATIONAL_CHARSET,
    TYPES,
    JdbcType,
    is_national,
)
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.ddl.tokens import TokenKind

_LABELLED = frozenset({"ENUM", "SET"})
_DECIMALS = frozenset({JdbcType.DECIMAL, JdbcType.NUMERIC})
_LONGEST = (1 << 31) - 1
_DECIMAL_DIGITS = 10  # what DECIMAL(0) means


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type as the schema history has it.

    Attributes:
        name: in upper case, with modifiers.
        charset: the one that is written; ``None`` for the one of the table.
    """

    name: str
    length: int | None = None
    scale: int | None = None
    labels: tuple[str, ...] = ()
    charset: str | None = None


def column_type(read: TokenReader) -> ColumnType:
    """Pass a type, and return it.

    Raises:
        DataError: there is none that is known.
    """
    name = _name(read)
    facts = TYPES[name]
    length, scale = facts.length, facts.scale
    labels: tuple[str, ...] = ()
    if name in _LABELLED:
        labels = _labels(read)
        length = 1 if name == "ENUM" else 2 * len(labels) - 1  # the longest SET has commas between its labels
    elif read.accept("("):
        length = _length(read, is_decimal=facts.jdbc in _DECIMALS)
        scale = _number(read) if read.accept(",") else scale
        read.expect(")")
    modifiers, charset = _modifiers(read)
    if facts.jdbc is JdbcType.NCHAR and length is None:
        length = 1
    return ColumnType(
        " ".join((name, *modifiers)),
        length,
        scale,
        labels,
        NATIONAL_CHARSET if is_national(facts.jdbc) else charset,
    )


def accept_charset(read: TokenReader) -> str | None:
    """Pass ``CHARACTER SET`` with its name where it is next, and return the name.

    Raises:
        DataError: the name is missing.
    """
    if not (read.accept("CHARACTER", "SET") or read.accept("CHAR", "SET") or read.accept("CHARSET")):
        return None
    read.accept("=")
    return read.name()


def accept_collation(read: TokenReader) -> str | None:
    """Pass ``COLLATE`` with its name where it is next, and return the name.

    Raises:
        DataError: the name is missing.
    """
    if not read.accept("COLLATE"):
        return None
    read.accept("=")
    return read.name()


def _name(read: TokenReader) -> str:
    words = read.words(LONGEST_NAME)
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        if name in TYPES:
            read.expect(*words[:count])
            return name
    raise read.failure("the type of a column")


def _labels(read: TokenReader) -> tuple[str, ...]:
    read.expect("(")
    labels = [read.string().value]
    while read.accept(","):
        labels.append(read.string().value)
    read.expect(")")
    return tuple(labels)


def _length(read: TokenReader, *, is_decimal: bool) -> int:
    length = _number(read)
    return _DECIMAL_DIGITS if is_decimal and length == 0 else length


def _number(read: TokenReader) -> int:
    """Return a whole number; the server cuts fractions such as that of DECIMAL(19.5)."""
    return min(int(float(read.next_of(TokenKind.NUMBER, "a number").text)), _LONGEST)


def _modifiers(read: TokenReader) -> tuple[list[str], str | None]:
    """Return modifiers in the order of the schema history, and the character set."""
    sign: str | None = None
    found: set[str] = set()
    charset: str | None = None
    while True:
        if (word := read.accept_any("SIGNED", "UNSIGNED")) is not None:
            sign = word
        elif (word := read.accept_any(*MODIFIERS)) is not None:
            found.add(word)
        elif (named := accept_charset(read)) is not None:
            charset = None if named.upper() == "DEFAULT" else named
        elif (collation := accept_collation(read)) is not None:
            charset = charset or charset_of_collation(collation)
        elif read.accept("BYTE"):
            charset = "binary"
        elif read.accept_any("ASCII", "UNICODE") is None:
            break
    signs = ["UNSIGNED", "ZEROFILL"] if "ZEROFILL" in found else [sign] if sign else []
    return [*signs, *(["BINARY"] if "BINARY" in found else [])], charset
