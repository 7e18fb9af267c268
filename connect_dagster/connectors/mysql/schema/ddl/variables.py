"""The server's variables that decide on the character sets of new tables, and the statement that sets them."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.ddl.tokens import TokenKind
from connect_dagster.errors import DataError

CHARSET_SERVER, CHARSET_DATABASE = "character_set_server", "character_set_database"

_NOT_VARIABLES = ("NAMES", "CHARACTER", "CHARSET", "PASSWORD", "ROLE", "TRANSACTION", "DEFAULT", "RESOURCE")
_GLOBAL = frozenset({"GLOBAL", "PERSIST", "PERSIST_ONLY"})
_SCOPES = ("SESSION", "LOCAL", *sorted(_GLOBAL))


@dataclass(slots=True)
class CharsetVariables:
    """Character sets of the server, and of the current database.

    Attributes:
        server: ``character_set_server``.
        database: ``character_set_database``.
    """

    server: str | None = None
    database: str | None = None

    def of_new_tables(self) -> str | None:
        """Return the character set of tables in a database of which none is known."""
        return self.server if self.database is None or self.database.upper() == "DEFAULT" else self.database


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value for a variable of the server.

    Attributes:
        name: in lower case.
        value: without quotes around it.
        is_global: whether it is the value of sessions to come.
    """

    name: str
    value: str
    is_global: bool


def assignments(read: TokenReader) -> list[Assignment]:
    """Pass what follows ``SET``, and return the values that it gives to variables of the server.

    A statement that is not understood gives none: it does not concern tables.
    """
    found: list[Assignment] = []
    if not read.sees_any(*_NOT_VARIABLES):
        try:
            found = _all_assignments(read)
        except DataError:
            found = []
    read.skip_statement()
    return found


def _all_assignments(read: TokenReader) -> list[Assignment]:
    found: list[Assignment] = []
    scope: str | None = None
    while True:
        scope = read.accept_any(*_SCOPES) or scope
        is_user_variable = read.accept("@")
        if read.accept("@@"):
            scope = next((word for word in _SCOPES if read.accept(word, ".")), "SESSION")
        name = read.name()
        while read.accept("."):
            name = read.name()
        if not read.accept(":="):
            read.expect("=")
        value = _value(read)
        if not is_user_variable:
            found.append(Assignment(name.lower(), value, scope in _GLOBAL))
        if not read.accept(","):
            return found


def _value(read: TokenReader) -> str:
    first = read.token
    read.skip_to(",")
    text = read.text_from(first.start)
    is_quoted = first.kind in (TokenKind.STRING, TokenKind.QUOTED) and first.text == text
    return first.content if is_quoted else text
