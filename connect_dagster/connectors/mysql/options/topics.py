"""Options of names: topics, schemas, fields."""

from __future__ import annotations

from connect_dagster.connectors.mysql.options.checks import (
    choice,
    chosen,
    class_named,
    topic_characters,
    topic_characters_or_empty,
)
from connect_dagster.connectors.mysql.records.name_adjustment import NameAdjustment
from connect_dagster.connectors.mysql.records.topics import TopicNames
from connect_dagster.plugin.config import ConfigDef, Importance, Type, Width, config_group, config_key

TOPICS = "Topics"
_STRATEGY = "io.debezium.schema.DefaultTopicNamingStrategy"


class TopicOptions(ConfigDef):
    """Names of topics and the characters of other names."""

    with config_group(TOPICS, importance=Importance.LOW, width=Width.MEDIUM):
        topic_prefix: str = config_key(
            "topic.prefix",
            importance=Importance.HIGH,
            validator=topic_characters,
            display_name="Topic prefix",
            doc="First part of the names of all topics, and the name of the topic of schema changes. Offsets and the "
            "schema history are kept under it: with another prefix the connector begins from the start.",
        )
        topic_delimiter: str = config_key(
            "topic.delimiter",
            default=".",
            validator=topic_characters,
            display_name="Topic delimiter",
            doc="What is between prefix, database and table in the names of topics.",
        )
        topic_heartbeat_prefix: str = config_key(
            "topic.heartbeat.prefix",
            default="__debezium-heartbeat",
            validator=topic_characters,
            display_name="Prefix name of heartbeat topic",
            doc="First part of the name of the topic of heartbeats; topic.prefix is the second.",
        )
        topic_heartbeat_name: str | None = config_key(
            "topic.heartbeat.name",
            default=None,
            validator=topic_characters_or_empty,
            display_name="Full name of heartbeat topic",
            doc="Whole name of the topic of heartbeats, in place of both parts.",
        )
        topic_transaction: str = config_key(
            "topic.transaction",
            default="transaction",
            validator=topic_characters,
            display_name="Transaction topic name",
            doc="Second part of the name of the topic of transactions; topic.prefix is the first.",
        )
        naming_strategy: str = config_key(
            "topic.naming.strategy",
            type=Type.CLASS,
            default=_STRATEGY,
            importance=Importance.MEDIUM,
            validator=class_named((_STRATEGY,), f"leave it out, or set it to {_STRATEGY}"),
            display_name="Topic naming strategy class",
            doc="Class that names topics: prefix, database and table. Another cannot be given.",
        )
        schema_name_adjustment_mode: str = config_key(
            "schema.name.adjustment.mode",
            default=NameAdjustment.NONE.value,
            validator=choice(NameAdjustment),
            display_name="Schema Name Adjustment",
            doc="What becomes of characters in names of schemas that Avro does not allow: 'none' leaves them; 'avro' "
            "has an underscore in their place; 'avro_unicode' has their code, as _u002d.",
        )
        field_name_adjustment_mode: str = config_key(
            "field.name.adjustment.mode",
            default=NameAdjustment.NONE.value,
            validator=choice(NameAdjustment),
            display_name="Field Name Adjustment",
            doc="The same for names of fields.",
        )

    @property
    def topic_names(self) -> TopicNames:
        """Return the names of topics."""
        return TopicNames(
            self.topic_prefix,
            self.topic_delimiter,
            self.topic_heartbeat_prefix,
            self.topic_transaction,
            self.topic_heartbeat_name or "",
        )

    @property
    def schema_name_adjustment(self) -> NameAdjustment:
        """Return the adjustment of names of schemas."""
        return chosen(NameAdjustment, self.schema_name_adjustment_mode)

    @property
    def field_name_adjustment(self) -> NameAdjustment:
        """Return the adjustment of names of fields."""
        return chosen(NameAdjustment, self.field_name_adjustment_mode)
