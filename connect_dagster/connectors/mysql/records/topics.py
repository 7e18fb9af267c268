"""Names of topics and of the schemas that are named after them (Debezium: ``DefaultTopicNamingStrategy``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_TOPIC = 249
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]")
_BEYOND_BMP = "\uffff"


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The names of a connector.

    Attributes:
        prefix: ``topic.prefix``, which is the topic of schema changes as well.
        delimiter: ``topic.delimiter``.
        heartbeat: ``topic.heartbeat.prefix``.
        transaction: ``topic.transaction``.
        heartbeat_name: ``topic.heartbeat.name``, the whole name in place of prefixes.
    """

    prefix: str
    delimiter: str = "."
    heartbeat: str = "__debezium-heartbeat"
    transaction: str = "transaction"
    heartbeat_name: str = ""

    def of_table(self, database: str, table: str) -> str:
        """Return the topic of a table's records."""
        return sanitized(self.wanted_of_table(database, table))

    def wanted_of_table(self, database: str, table: str) -> str:
        """Return the name that the topic would have if a topic could have any name."""
        return self.delimiter.join(part for part in (self.prefix, database, table) if part.strip())

    def key_schema(self, database: str, table: str) -> str:
        """Return the name of the schema of keys."""
        return f"{self.of_table(database, table)}.Key"

    def row_schema(self, database: str, table: str) -> str:
        """Return the name of the schema of ``before`` and ``after``."""
        return f"{self.of_table(database, table)}.Value"

    def envelope_schema(self, database: str, table: str) -> str:
        """Return the name of the schema of values."""
        return f"{self.of_table(database, table)}.Envelope"

    @property
    def schema_changes(self) -> str:
        """Return the topic of schema changes."""
        return self.prefix

    @property
    def heartbeats(self) -> str:
        """Return the topic of heartbeats."""
        return self.heartbeat_name or self.delimiter.join((self.heartbeat, self.prefix))

    @property
    def transactions(self) -> str:
        """Return the topic of transaction boundaries."""
        return self.delimiter.join((self.prefix, self.transaction))


def sanitized(name: str) -> str:
    """Return a name that a topic may have: ``_`` in place of other characters, and not longer than allowed.

    A character that Java has as two, such as an emoji, becomes two.
    """
    replaced = "".join(_replacement(character) for character in name)[:LONGEST_TOPIC]
    return "_" * len(replaced) if replaced in (".", "..") else replaced


def _replacement(character: str) -> str:
    if not _NOT_ALLOWED.match(character):
        return character
    return "__" if character > _BEYOND_BMP else "_"
