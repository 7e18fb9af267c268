"""MirrorHeartbeatConnector: a record each second that shows that a flow works, and how long records take.

    name=eu-to-us-heartbeat
    connector.class=org.apache.kafka.connect.mirror.MirrorHeartbeatConnector
    source.cluster.alias=eu
    target.cluster.alias=us
    target.cluster.bootstrap.servers=us-1:9092

Java: ``MirrorHeartbeatConnector``. It runs where ``enabled`` is false as well.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

import pyarrow as pa

from connect_dagster.connectors.mirror.client_settings import HEARTBEATS_ADMIN
from connect_dagster.connectors.mirror.connector_classes import HEARTBEAT_CONNECTOR
from connect_dagster.connectors.mirror.heartbeat_config import MirrorHeartbeatConfig
from connect_dagster.connectors.mirror.internal_topics import create_internal_topic
from connect_dagster.connectors.mirror.offsets import NO_OFFSET, check_heartbeat_offsets, heartbeat_partition
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.records import Heartbeat
from connect_dagster.connectors.mirror.scheduler import Scheduler
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import BYTES_SCHEMA

log = logging.getLogger(__name__)

_MILLISECOND = 1000
_CREATING = "creating internal topics"
_AGAIN_SECONDS = 60.0


class MirrorHeartbeatTask(SourceTask):
    """Emit heartbeats."""

    def start(self, config: Properties) -> None:
        """Take the aliases and the interval."""
        parsed = MirrorHeartbeatConfig.parse(config)
        self._flow = parsed.flow
        self._topic = FlowClasses(parsed, self.context.load_class).policy().heartbeats_topic()
        self._seconds = parsed.emit_heartbeats_interval or 0
        self._stopped = threading.Event()
        self._due = time.monotonic() + self._seconds

    def poll(self) -> SourceTable | None:
        """Return a heartbeat; waits for its time, a second at most."""
        left = self._due - time.monotonic()
        if left > 0 and (self._stopped.wait(min(left, 1.0)) or left > 1.0):
            return None
        self._due = time.monotonic() + self._seconds
        beat = Heartbeat(self._flow.source, self._flow.target, int(time.time() * _MILLISECOND))
        table = pa.table(
            {
                "key": pa.array([beat.key], pa.binary()),
                "value": pa.array([beat.value], pa.binary()),
                "partition": pa.array([0], pa.int32()),
                "timestamp": pa.array([beat.timestamp], pa.int64()),
            }
        )
        partition = heartbeat_partition(beat.source_alias, beat.target_alias)
        return SourceTable(
            table, partition, NO_OFFSET, topic=self._topic, value_schema=BYTES_SCHEMA, key_schema=BYTES_SCHEMA
        )

    def stop(self) -> None:
        """End a wait."""
        if hasattr(self, "_stopped"):
            self._stopped.set()


class MirrorHeartbeatConnector(SourceConnector):
    """A source of heartbeats of a flow."""

    config_def = MirrorHeartbeatConfig
    java_class: ClassVar[str] = HEARTBEAT_CONNECTOR
    java_task_class: ClassVar[str] = "org.apache.kafka.connect.mirror.MirrorHeartbeatTask"
    version: ClassVar[str] = KAFKA_VERSION
    task_class = MirrorHeartbeatTask

    def start(self, config: Properties) -> None:
        """Create the topic."""
        self._config = dict(config)
        self._parsed = parsed = MirrorHeartbeatConfig.parse(config)
        self._scheduler = Scheduler(f"MirrorHeartbeatConnector: {parsed.label}", parsed.admin_timeout_seconds)
        self._has_topic = False
        self._scheduler.run_now(self._create_topic, _CREATING)
        if not self._has_topic:  # brokers would create it with their own settings
            self._scheduler.repeat(self._create_missing_topic, _AGAIN_SECONDS, _CREATING, delayed=True)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration of one task; of none where heartbeats are off."""
        return [] if self._parsed.emit_heartbeats_interval is None else [self._config]

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each offset is that of heartbeats."""
        return check_heartbeat_offsets(offsets)

    def stop(self) -> None:
        """End the background work."""
        if hasattr(self, "_scheduler"):
            self._scheduler.close()

    def _create_topic(self) -> None:
        parsed, classes = self._parsed, FlowClasses(self._parsed, self.context.load_class)
        with closing(classes.admin(parsed.client_settings(HEARTBEATS_ADMIN))) as admin:
            create_internal_topic(
                admin, classes.policy().heartbeats_topic(), parsed.heartbeats_topic_replication_factor
            )
        self._has_topic = True

    def _create_missing_topic(self) -> None:
        if not self._has_topic:
            self._create_topic()
