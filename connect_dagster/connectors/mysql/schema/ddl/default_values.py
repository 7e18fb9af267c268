"""Default values of columns: literals as they are written between their quotes, times of now, and expressions."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.ddl.tokens import Token, TokenKind

NOW = "1970-01-01 00:00:00"
"""The default value that stands for the time of an insert."""

_NOW_WORDS = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
_PREFIXES = frozenset({"N", "DATE", "TIME", "TIMESTAMP"})


@dataclass(frozen=True, slots=True)
class DefaultValue:
    """A default value.

    Attributes:
        text: ``None`` for null and for an expression, whose value the server computes.
        is_null: whether null is written.
    """

    text: str | None = None
    is_null: bool = False


def default_value(read: TokenReader) -> DefaultValue:
    """Pass a default value, and return it.

    Raises:
        DataError: there is none.
    """
    if read.accept("NULL"):
        return DefaultValue(is_null=True)
    if read.sees("("):
        read.skip_parentheses()
        return DefaultValue()
    if is_now(read):
        skip_now(read)
        return DefaultValue(NOW)
    sign = read.accept_any("+", "-") or ""
    literal = _literal(read)
    if literal is not None:
        return DefaultValue(sign + literal)
    _skip_expression(read)
    return DefaultValue()


def is_now(read: TokenReader) -> bool:
    """Return whether the time of now is next."""
    return read.sees_any(*_NOW_WORDS)


def skip_now(read: TokenReader) -> None:
    """Pass the time of now, with the number of digits of its fraction.

    Raises:
        DataError: its parenthesis has no end.
    """
    read.next()
    if read.sees("("):
        read.skip_parentheses()


def _literal(read: TokenReader) -> str | None:
    token = read.token
    match token.kind:
        case TokenKind.NUMBER:
            return read.next().text
        case TokenKind.BITS:
            return _digits(read.next())
        case TokenKind.STRING:
            return _strings(read)
        case TokenKind.WORD if token.text.upper() in ("TRUE", "FALSE"):
            return read.next().text
        case TokenKind.WORD if _is_prefix(token) and read.following.kind is TokenKind.STRING:
            read.next()
            return _strings(read)
        case _:
            return None


def _is_prefix(token: Token) -> bool:
    """Return whether a word may be before a string: a character set, or the type of a time."""
    return token.text.startswith("_") or token.text.upper() in _PREFIXES


def _digits(token: Token) -> str:
    """Return the digits of ``b'101'``, ``x'1F'`` or ``0x1F``."""
    return token.text[2:].removesuffix("'")


def _strings(read: TokenReader) -> str:
    """Return the text of strings, which are one where several follow one another."""
    parts = [read.string().content]
    while read.token.kind is TokenKind.STRING:
        parts.append(read.string().content)
    return "".join(parts)


def _skip_expression(read: TokenReader) -> None:
    """Pass an expression without parentheses, which MariaDB has: a function, or the value of a sequence."""
    if read.accept("NEXT", "VALUE", "FOR") or read.accept("PREVIOUS", "VALUE", "FOR"):
        read.table(None)
        return
    read.name()
    while read.accept("."):
        read.name()
    if read.sees("("):
        read.skip_parentheses()
