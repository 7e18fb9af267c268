"""Options of tables: character set and comment have an effect, the others, and partitions, are passed."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.schema.collations import charset_of_collation
from connect_dagster.connectors.mysql.schema.ddl.column_type import accept_charset, accept_collation
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of a table.

    Attributes:
        charset: ``None`` where none is written, and where the one of the database is meant.
        comment: as it is written between its quotes.
    """

    charset: str | None = None
    comment: str | None = None


def table_options(read: TokenReader, *stops: str) -> TableOptions:
    """Pass options to the end of the statement, or to one of several words or symbols, and return them.

    Raises:
        DataError: the name of a character set or the text of a comment is missing.
    """
    charset = collation = comment = None
    while not read.at_statement_end and not read.sees_any(*stops):
        if (named := accept_charset(read)) is not None:
            charset = named
        elif (named := accept_collation(read)) is not None:
            collation = named
        elif read.accept("COMMENT"):
            read.accept("=")
            comment = read.string().content
        elif read.sees("("):
            read.skip_parentheses()
        else:
            read.next()
    return TableOptions(resolved_charset(charset, collation), comment)


def resolved_charset(charset: str | None, collation: str | None) -> str | None:
    """Return a character set that is written, or else that of a collation; ``None`` for ``DEFAULT``."""
    if charset is not None:
        return None if charset.upper() == "DEFAULT" else charset
    return None if collation is None else charset_of_collation(collation)
