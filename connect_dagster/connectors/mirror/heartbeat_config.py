"""Options of the connector that emits heartbeats (Java: ``MirrorHeartbeatConfig``)."""

from __future__ import annotations

from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig, interval_seconds
from connect_dagster.plugin.config import Importance, Type, config_key

EMIT_HEARTBEATS = "emit.heartbeats.enabled"


class MirrorHeartbeatConfig(MirrorConnectorConfig):
    """Configuration of the connector that emits heartbeats to the target; its task has the same."""

    emit_heartbeats_enabled: bool = config_key(
        EMIT_HEARTBEATS,
        default=True,
        importance=Importance.LOW,
        doc="Whether to write heartbeats to the heartbeats topic of the target. Replicated, they show that a flow from "
        "there works, and its latency.",
    )
    emit_heartbeats_interval_seconds: int = config_key(
        "emit.heartbeats.interval.seconds",
        type=Type.LONG,
        default=1,
        importance=Importance.LOW,
        doc="Time between two heartbeats.",
    )
    heartbeats_topic_replication_factor: int = config_key(
        "heartbeats.topic.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        doc="Replicas of the heartbeats topic when it is created; -1 for the brokers' default.",
    )

    @property
    def emit_heartbeats_interval(self) -> int | None:
        """Return the seconds between two heartbeats, ``None`` for none."""
        return interval_seconds(self.emit_heartbeats_enabled, self.emit_heartbeats_interval_seconds)
