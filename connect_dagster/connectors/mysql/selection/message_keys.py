"""Keys of records that are not the primary key: ``message.key.columns`` (Debezium: ``Key.CustomKeyMapper``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.selection.regex_lists import RegexList
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError

OPTION = "message.key.columns"
_ENTRY = re.compile(r"\s*([^:]+):([^:,]+(?:,[^:,]+)*)\s*")


@dataclass(frozen=True, slots=True)
class MessageKeys:
    """Columns that are the key of tables.

    Attributes:
        columns: for each column of the option, in its order, what ``database.table.column`` must match.
    """

    columns: tuple[RegexList, ...] = ()

    @classmethod
    def parse(cls, text: str) -> MessageKeys:
        """Return the keys of a text such as ``shop.orders:id,line;(.*).customers:code``.

        Raises:
            ConfigError: an entry has another form, or a part of it is not a regular expression.
        """
        entries = text.split(";")
        while entries and not entries[-1]:  # a semicolon at the end
            entries.pop()
        if not entries:
            raise ConfigError.invalid(OPTION, text, "It must not be empty: leave it out to have primary keys as keys")
        return cls(tuple(column for entry in entries for column in _columns(entry)))

    def of_table(self, table: TableId, names: Sequence[str]) -> tuple[str, ...] | None:
        """Return the columns of a table's key; ``None`` where the option does not mention the table.

        Args:
            table: the table.
            names: its columns, in their order.

        Raises:
            CostlyPatternError: a match takes too long.
        """
        full = {f"{table}.{name}": name for name in names}
        found = (name for column in self.columns for name in column.matching(list(full)))
        return tuple(dict.fromkeys(full[name] for name in found)) or None


def message_keys(option: str, value: str | None) -> None:
    """Check the value of the option."""
    if value is not None:
        MessageKeys.parse(value)


def _columns(entry: str) -> list[RegexList]:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        reason = "Each entry is written database.table:column,column, and a semicolon is between two of them"
        raise ConfigError.invalid(OPTION, entry, reason)
    return [RegexList.parse(OPTION, f"{match[1].strip()}.{column.strip()}") for column in match[2].split(",")]
