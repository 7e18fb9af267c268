"""Reads the tokens of statements one after the other."""

from __future__ import annotations

from connect_dagster.connectors.mysql.schema.ddl.tokens import Token, TokenKind, not_understood, tokens_of
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError

_NAMES = frozenset({TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING})
_DEPTHS = {"(": 1, ")": -1}


class TokenReader:
    """The tokens of statements, and a place among them.

    Words and symbols are matched without regard to case, and never with what stands in quotes.

    Args:
        text: the statements.

    Raises:
        DataError: a string, a quoted name or a comment has no end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0

    @property
    def token(self) -> Token:
        """Return the next token."""
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        """Return the token after the next one."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    @property
    def at_end(self) -> bool:
        """Return whether there are no more tokens."""
        return self.token.kind is TokenKind.END

    @property
    def at_statement_end(self) -> bool:
        """Return whether the statement has no more tokens."""
        return self.at_end or self.sees(";")

    def sees(self, *words: str) -> bool:
        """Return whether words or symbols are next."""
        following = self._tokens[self._at : self._at + len(words)]
        return len(following) == len(words) and all(
            token.kind in (TokenKind.WORD, TokenKind.SYMBOL) and token.text.upper() == word
            for token, word in zip(following, words, strict=True)
        )

    def sees_any(self, *words: str) -> bool:
        """Return whether one of several words or symbols is next."""
        return any(self.sees(word) for word in words)

    def accept(self, *words: str) -> bool:
        """Pass words or symbols where they are next, and return whether they were."""
        found = self.sees(*words)
        self._at += len(words) if found else 0
        return found

    def accept_any(self, *words: str) -> str | None:
        """Pass one of several words or symbols, and return it; ``None`` where none of them is next."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        """Pass words or symbols.

        Raises:
            DataError: others are next.
        """
        if not self.accept(*words):
            raise self.failure(" ".join(words))

    def next(self) -> Token:
        """Pass the next token, and return it.

        Raises:
            DataError: there is none.
        """
        if self.at_end:
            raise self.failure("more")
        self._at += 1
        return self._tokens[self._at - 1]

    def next_of(self, kind: TokenKind, expected: str) -> Token:
        """Pass a token of a kind, and return it.

        Raises:
            DataError: the next one is of another kind.
        """
        if self.token.kind is not kind:
            raise self.failure(expected)
        return self.next()

    def words(self, count: int) -> list[str]:
        """Return the next words in upper case without passing them, at most some."""
        words = []
        for token in self._tokens[self._at : self._at + count]:
            if token.kind is not TokenKind.WORD:
                break
            words.append(token.text.upper())
        return words

    def name(self) -> str:
        """Pass an identifier, and return it.

        Raises:
            DataError: there is none.
        """
        if self.token.kind not in _NAMES:
            raise self.failure("a name")
        return self.next().name

    def table(self, database: str | None) -> TableId:
        """Pass the name of a table, and return it.

        Args:
            database: the one of names without a database.

        Raises:
            DataError: there is none.
        """
        name = self.name()
        return TableId(name, self.name()) if self.accept(".") else TableId(database or "", name)

    def string(self) -> Token:
        """Pass a string, and return it.

        Raises:
            DataError: there is none.
        """
        return self.next_of(TokenKind.STRING, "a string")

    def skip_parentheses(self) -> None:
        """Pass an expression in parentheses.

        Raises:
            DataError: there is none, or it has no end.
        """
        self.expect("(")
        self.skip_to(")")
        self.expect(")")

    def skip_to(self, *symbols: str) -> None:
        """Pass all tokens before one of several symbols outside of parentheses, or before the statement's end."""
        depth = 0
        while not self.at_end and (depth or not self.sees_any(*symbols, ";")):
            depth += _DEPTHS.get(self.next().text, 0)

    def skip_statement(self) -> None:
        """Pass what is left of the statement."""
        while not self.at_statement_end:
            self._at += 1

    def skip_all(self) -> None:
        """Pass what is left of all statements."""
        self._at = len(self._tokens) - 1

    def text_from(self, start: int, end: int | None = None) -> str:
        """Return the text from an index to another one, or else to the last token that was passed."""
        return self._text[start : self._tokens[self._at - 1].end if end is None else end]

    def failure(self, expected: str) -> DataError:
        """Return the error of a statement that is not understood at the next token."""
        return not_understood(self._text, self.token.start, expected)

    def contradiction(self, reason: str) -> DataError:
        """Return the error of a statement that does not fit the tables as they are known."""
        return DataError(f"Statement does not fit the known structure: {reason}. Statement: {self._text}")
