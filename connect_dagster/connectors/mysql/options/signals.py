"""Options of what comes from users while a connector runs and goes to them: signals, notifications, heartbeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.options.checks import topic_characters_or_empty
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Type,
    Validator,
    Width,
    at_least,
    config_group,
    config_key,
    under_prefix,
)

SIGNALS, NOTIFICATIONS, HEARTBEATS = "Signals", "Notifications", "Heartbeats"
TABLE, CHANNELS = "signal.data.collection", "signal.enabled.channels"
SIGNAL_SERVERS = "signal.kafka.bootstrap.servers"
SINKS, SINK_TOPIC = "notification.enabled.channels", "notification.sink.topic.name"
HEARTBEAT_INTERVAL, HEARTBEAT_QUERY = "heartbeat.interval.ms", "heartbeat.action.query"
SOURCE, KAFKA, SINK = "source", "kafka", "sink"
CONSUMER = "signal.consumer."
_SOURCES = (SOURCE, KAFKA)
_TARGETS = (SINK, "log")
WITHOUT_EFFECT: Mapping[str, Mapping[str, str]] = {
    CHANNELS: {
        "file": "signals are not read from files here",
        "jmx": "JMX does not exist here",
        "in-process": "no program runs the connector here",
    },
    SINKS: {"jmx": "JMX does not exist here"},
}
"""Channels that are accepted, and why nothing comes or goes by them."""


@dataclass(frozen=True, slots=True)
class SignalTopic:
    """The topic that signals come from.

    Attributes:
        topic: with one partition; the key of a signal is the connector's ``topic.prefix``.
        consumer: Java's settings of the consumer.
        poll_ms: longest wait of one poll.
    """

    topic: str
    consumer: Mapping[str, str]
    poll_ms: int


def _channels(supported: Sequence[str]) -> Validator:
    def check(name: str, value: Sequence[str] | None) -> None:
        for one in filter(None, value or ()):
            if one not in supported and one not in WITHOUT_EFFECT[name]:
                reason = f"'{one}' is not a channel, which are {', '.join(supported)}"
                raise ConfigError.invalid(name, value, reason)

    return check


def _one_table(name: str, value: Sequence[str] | None) -> None:
    tables = [one for one in value or () if one]
    if len(tables) > 1:
        raise ConfigError.invalid(name, value, "The connector has one task, for which only one table is allowed")
    for one in tables:
        TableId.parse(name, one)


class SignalOptions(ConfigDef):
    """Signals, notifications and heartbeats; ``signal.consumer.*`` goes to the consumer of the topic of signals."""

    with config_group(SIGNALS, importance=Importance.MEDIUM, width=Width.MEDIUM):
        signal_tables: tuple[str, ...] = config_key(
            TABLE,
            default=(),
            validator=_one_table,
            display_name="Signaling data collection",
            doc="Table, as database.table, whose new rows are signals, such as that to take an incremental snapshot. "
            "It is captured whatever the filters are.",
        )
        signal_channels: tuple[str, ...] = config_key(
            CHANNELS,
            default=(SOURCE,),
            validator=_channels(_SOURCES),
            width=Width.LONG,
            display_name="Enabled channels names",
            doc="Where signals come from: 'source' the table, 'kafka' a topic.",
        )
        signal_poll_ms: int = config_key(
            "signal.poll.interval.ms",
            type=Type.LONG,
            default=5000,
            validator=at_least(1),
            width=Width.SHORT,
            display_name="Signal processor poll interval",
            doc="Time between two looks for signals of the topic.",
        )
        given_signal_topic: str | None = config_key(
            "signal.kafka.topic",
            default=None,
            importance=Importance.HIGH,
            validator=topic_characters_or_empty,
            display_name="Signal topic name",
            doc="Topic of signals, with one partition. Left out, its name is topic.prefix with -signal behind it.",
        )
        signal_servers: str | None = config_key(
            SIGNAL_SERVERS,
            default=None,
            importance=Importance.HIGH,
            display_name="Kafka broker addresses",
            doc="Brokers that have the topic of signals.",
        )
        signal_group: str = config_key(
            "signal.kafka.groupId",
            default="kafka-signal",
            importance=Importance.LOW,
            display_name="Consumer group ID",
            doc="Consumer group that keeps the offsets of the topic of signals.",
        )
        signal_poll_timeout_ms: int = config_key(
            "signal.kafka.poll.timeout.ms",
            default=0,
            importance=Importance.LOW,
            validator=at_least(0),
            display_name="Poll timeout for kafka signals (ms)",
            doc="Longest wait for signals in one look.",
        )
    with config_group(NOTIFICATIONS, importance=Importance.MEDIUM, width=Width.MEDIUM):
        notification_channels: tuple[str, ...] = config_key(
            SINKS,
            default=(),
            validator=_channels(_TARGETS),
            width=Width.LONG,
            display_name="Enabled notification channels names",
            doc="Where it is told that a snapshot begins, goes on or ends: 'sink' a topic, 'log' the worker's log.",
        )
        notification_topic: str | None = config_key(
            SINK_TOPIC,
            default=None,
            importance=Importance.HIGH,
            validator=topic_characters_or_empty,
            width=Width.LONG,
            display_name="Notification topic name",
            doc="That topic.",
        )
    with config_group(HEARTBEATS, importance=Importance.MEDIUM, width=Width.MEDIUM):
        heartbeat_ms: int = config_key(
            HEARTBEAT_INTERVAL,
            default=0,
            validator=at_least(0),
            display_name="Connector heartbeat interval (milli-seconds)",
            doc="Time between two records of the topic of heartbeats, with which the offset moves on although no "
            "captured table changes; 0 for no heartbeats.",
        )
        heartbeat_query: str | None = config_key(
            HEARTBEAT_QUERY,
            default=None,
            importance=Importance.LOW,
            display_name="An optional query to execute with every heartbeat",
            doc="Statement that is run with each heartbeat, such as an update of a table of one row.",
        )

    @property
    def signal_table(self) -> TableId | None:
        """Return the table of signals, which incremental snapshots write to wherever signals come from."""
        named = [one for one in self.signal_tables if one]
        return TableId.parse(TABLE, named[0]) if named else None

    @property
    def reads_signal_table(self) -> bool:
        """Return whether rows of that table are signals."""
        return SOURCE in self.signal_channels

    def signal_topic(self, prefix: str) -> SignalTopic | None:
        """Return the topic of signals, if they come from one.

        Args:
            prefix: ``topic.prefix``.
        """
        if KAFKA not in self.signal_channels:
            return None
        consumer = {"bootstrap.servers": self.signal_servers or "", "group.id": self.signal_group}
        consumer |= {"enable.auto.commit": "true", "auto.offset.reset": "earliest", "session.timeout.ms": "10000"}
        consumer |= under_prefix(self.originals, CONSUMER)
        return SignalTopic(self.given_signal_topic or f"{prefix}-signal", consumer, self.signal_poll_timeout_ms)

    @property
    def sends_notifications(self) -> str | None:
        """Return the topic of notifications, if they go to one."""
        return self.notification_topic if SINK in self.notification_channels else None

    @property
    def logs_notifications(self) -> bool:
        """Return whether notifications go to the log."""
        return "log" in self.notification_channels
