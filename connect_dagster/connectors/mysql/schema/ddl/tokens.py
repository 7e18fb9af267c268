"""Tokens of MySQL's and MariaDB's statements.

The text in a version comment, ``/*!50100 … */`` or ``/*M!100301 … */``, is part of the statement whatever its version
is: the server takes the mark from those that it passes over before it writes the statement to its log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from connect_dagster.errors import DataError

_EXCERPT = 40


class TokenKind(Enum):
    """Kinds of tokens; the value is the name of the group that finds it."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    BITS = "bits"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        text: as it is written, with its quotes.
        start: index of its first character in the statements.
        end: index after its last character, or after the version comment that ends with it.
    """

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def content(self) -> str:
        """Return the text between the quotes as it is written; all of the text where it has none."""
        return self.text[1:-1] if self.kind in (TokenKind.STRING, TokenKind.QUOTED) else self.text

    @property
    def name(self) -> str:
        """Return the identifier that it is."""
        quote = self.text[:1]
        return self.content.replace(quote * 2, quote) if self.content is not self.text else self.text

    @property
    def value(self) -> str:
        """Return the value of a string."""
        quote = self.text[0]
        return _ESCAPED.sub(lambda match: _unescaped(match[0]), self.content.replace(quote * 2, quote))


_PATTERN = re.compile(
    r"""
    (?P<blank> \s+ | \#[^\n]* | --(?=[\s\x00-\x1f]|$)[^\n]* | /\*(?!M?!).*?\*/ | /\*M?!\d* )
    | (?P<bits> [xX]'[0-9a-fA-F]*' | [bB]'[01]*' | 0x[0-9a-fA-F]+\b | 0b[01]+\b )
    | (?P<number> (?: \d+\.?\d* | \.\d+ ) (?: [eE][+-]?\d+ )? (?![\w$]) )
    | (?P<word> [\w$]+ )
    | (?P<quoted> `(?:[^`]|``)*` )
    | (?P<string> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<symbol> := | @@ | \*/ | [^\s'"`] )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSES = "*/"
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _unescaped(pair: str) -> str:
    return _ESCAPES.get(pair[1], pair[1])


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of statements; the last one is their end.

    Raises:
        DataError: a string, a quoted name or a comment has no end.
    """
    tokens: list[Token] = []
    at, in_comments = 0, 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        if match is None or (match["symbol"] == "/" and text.startswith("/*", at)):
            raise not_understood(text, at, "the end of what is opened there")
        found = match[0]
        if match["blank"] is not None:
            in_comments += found.startswith(("/*!", "/*M!"))
        elif found == _CLOSES and in_comments:
            in_comments -= 1
            tokens[-1:] = [replace(token, end=match.end()) for token in tokens[-1:]]
        else:
            tokens.append(Token(TokenKind(match.lastgroup), found, at, match.end()))
        at = match.end()
    return [*tokens, Token(TokenKind.END, "", len(text), len(text))]


def not_understood(text: str, at: int, expected: str) -> DataError:
    """Return the error of statements that are not understood at an index."""
    rest = text[at : at + _EXCERPT]
    place = f"at character {at + 1}, {rest!r}" if rest else "at its end"
    return DataError(f"Statement is not understood {place}: {expected} was expected. Statement: {text}")
