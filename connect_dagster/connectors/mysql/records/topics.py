"""Names of topics and of the schemas that are named after them (Debezium: ``DefaultTopicNamingStrategy``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The names of a connector.

    Attributes:
        prefix: ``topic.prefix``, which is the topic of schema changes as well.
        delimiter: ``topic.delimiter``.
        heartbeat: ``topic.heartbeat.prefix``.
        transaction: ``topic.transaction``.
    """

    prefix: str
    delimiter: str = "."
    heartbeat: str = "__debezium-heartbeat"
    transaction: str = "transaction"

    def of_table(self, database: str, table: str) -> str:
        """Return the topic of a table's records; a character that no topic may have becomes ``_``."""
        return _NOT_ALLOWED.sub("_", self.delimiter.join((self.prefix, database, table)))

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
        return self.delimiter.join((self.heartbeat, self.prefix))

    @property
    def transactions(self) -> str:
        """Return the topic of transaction boundaries."""
        return self.delimiter.join((self.prefix, self.transaction))
