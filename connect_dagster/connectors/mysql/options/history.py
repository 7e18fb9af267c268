"""Options of the schema history: the topic with the statements that changed the structure of tables."""

from __future__ import annotations

from collections.abc import Sequence

from connect_dagster.connectors.mysql.options.checks import class_named, topic_characters
from connect_dagster.connectors.mysql.selection.filters import HistoryScope
from connect_dagster.connectors.mysql.selection.regex_lists import RegexList, regexes
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Type,
    Width,
    at_least,
    config_group,
    config_key,
    non_empty_string,
    under_prefix,
)

HISTORY = "Schema history"
PREFIX = "schema.history.internal."
CLASS, TOPIC, SERVERS = "schema.history.internal", f"{PREFIX}kafka.topic", f"{PREFIX}kafka.bootstrap.servers"
CONSUMER, PRODUCER = f"{PREFIX}consumer.", f"{PREFIX}producer."
KAFKA_HISTORY = "io.debezium.storage.kafka.history.KafkaSchemaHistory"
_DDL_FILTER = f"{PREFIX}ddl.filter"


class HistoryOptions(ConfigDef):
    """The topic; ``schema.history.internal.consumer.*`` and ``.producer.*`` go to its clients."""

    with config_group(HISTORY, importance=Importance.LOW, width=Width.MEDIUM):
        history_class: str = config_key(
            CLASS,
            type=Type.CLASS,
            default=KAFKA_HISTORY,
            width=Width.LONG,
            validator=class_named((KAFKA_HISTORY,), f"the schema history is in a topic, by {KAFKA_HISTORY}"),
            display_name="Database schema history class",
            doc="Class that keeps the schema history. Only that of a topic is supported.",
        )
        history_topic: str = config_key(
            TOPIC,
            importance=Importance.HIGH,
            validator=topic_characters,
            display_name="Database schema history topic name",
            doc="Topic of the schema history, with one partition and without an end of retention. No other connector "
            "may write to it.",
        )
        history_servers: str = config_key(
            SERVERS,
            importance=Importance.HIGH,
            validator=non_empty_string,
            display_name="Kafka broker addresses",
            doc="Brokers that have the topic.",
        )
        skips_unparseable: bool = config_key(
            f"{PREFIX}skip.unparseable.ddl",
            default=False,
            width=Width.SHORT,
            display_name="Skip DDL statements that cannot be parsed",
            doc="Whether a statement that is not understood is passed over. A change of structure may then be missed.",
        )
        only_captured_tables: bool = config_key(
            f"{PREFIX}store.only.captured.tables.ddl",
            default=False,
            width=Width.SHORT,
            display_name="Store only DDL that modifies tables that are captured based on include/exclude lists",
            doc="Whether only statements for captured tables are kept; a table that is captured later has no history.",
        )
        only_captured_databases: bool = config_key(
            f"{PREFIX}store.only.captured.databases.ddl",
            default=False,
            width=Width.SHORT,
            display_name="Store only DDL that modifies tables of databases that are captured based on "
            "include/exclude lists",
            doc="The same for statements in captured databases.",
        )
        ddl_filter: tuple[str, ...] = config_key(
            _DDL_FILTER,
            default=(),
            width=Width.LONG,
            validator=regexes,
            display_name="DDL filter",
            doc="Statements that are passed over: regular expressions for the whole statement. Statements that do not "
            "concern tables or databases are passed over in any case.",
        )
        recovery_poll_ms: int = config_key(
            f"{PREFIX}kafka.recovery.poll.interval.ms",
            default=100,
            validator=at_least(0),
            display_name="Poll interval during history recovery (ms)",
            doc="Longest wait for records in one poll when the topic is read at the start.",
        )
        recovery_attempts: int = config_key(
            f"{PREFIX}kafka.recovery.attempts",
            default=100,
            display_name="Max attempts to recovery history",
            doc="Polls in a row without records after which the task fails, unless the end of the topic is reached.",
        )
        query_timeout_ms: int = config_key(
            f"{PREFIX}kafka.query.timeout.ms",
            type=Type.LONG,
            default=3000,
            validator=at_least(1),
            display_name="Kafka admin client query timeout (ms)",
            doc="Longest wait for the brokers' answer about the topic.",
        )
        create_timeout_ms: int = config_key(
            f"{PREFIX}kafka.create.timeout.ms",
            type=Type.LONG,
            default=30_000,
            validator=at_least(1),
            display_name="Kafka admin client create timeout (ms)",
            doc="Longest wait for the topic to be made.",
        )

    @property
    def history_scope(self) -> HistoryScope:
        """Return the tables whose statements are kept."""
        if self.only_captured_tables:
            return HistoryScope.CAPTURED_TABLES
        return HistoryScope.CAPTURED_DATABASES if self.only_captured_databases else HistoryScope.ALL

    def passes_over(self, statements: Sequence[str]) -> list[str]:
        """Return those of the statements that the user's filter passes over."""
        expressions = RegexList.of_items(_DDL_FILTER, self.ddl_filter).expressions
        return RegexList(_DDL_FILTER, expressions, over_lines=True).matching(statements)

    def history_consumer(self, client_id: str) -> dict[str, str]:
        """Return Java's settings of the consumer that reads the topic.

        Args:
            client_id: also the consumer's group, in which no offsets are committed.
        """
        own = {
            "bootstrap.servers": self.history_servers,
            "client.id": client_id,
            "group.id": client_id,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": "10000",
        }
        return own | under_prefix(self.originals, CONSUMER)

    def history_producer(self, client_id: str) -> dict[str, str]:
        """Return Java's settings of the producer that writes to the topic."""
        own = {
            "bootstrap.servers": self.history_servers,
            "client.id": client_id,
            "max.in.flight.requests.per.connection": "1",  # statements must stay in their order
            "enable.idempotence": "false",
        }
        return own | under_prefix(self.originals, PRODUCER)
