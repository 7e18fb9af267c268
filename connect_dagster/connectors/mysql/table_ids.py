"""Names of tables with their database, as options write them (Debezium: ``TableId``)."""

from __future__ import annotations

import re
from typing import NamedTuple

from connect_dagster.errors import ConfigError

_QUOTES = "\"'`"
_PART = r"""("(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|[^\s."'`][^\s.]*)"""
_QUALIFIED = re.compile(rf"\s*{_PART}\s*\.\s*{_PART}\s*")


class TableId(NamedTuple):
    """A table of a database."""

    database: str
    name: str

    def __str__(self) -> str:
        """Return the name that regular expressions of options are matched with."""
        return f"{self.database}.{self.name}"

    @classmethod
    def parse(cls, option: str, text: str) -> TableId:
        """Return the table that an option names, ``database.table``; each part may be quoted.

        Raises:
            ConfigError: it is not such a name.
        """
        match = _QUALIFIED.fullmatch(text)
        if match is None:
            reason = (
                "A table is named database.table; a part with a dot or a blank in it is quoted, as in `my.db`.orders"
            )
            raise ConfigError.invalid(option, text, reason)
        return cls(_unquoted(match[1]), _unquoted(match[2]))


def _unquoted(part: str) -> str:
    quote = part[0]
    return part[1:-1].replace(quote * 2, quote) if quote in _QUOTES else part


def quoted(name: str) -> str:
    """Return a name for a statement: in backquotes, which hold with every ``sql_mode``."""
    return f"`{name.replace('`', '``')}`"


def quoted_table(table: TableId) -> str:
    """Return the name of a table with its database for a statement."""
    return f"{quoted(table.database)}.{quoted(table.name)}"
