"""MirrorSourceConnector: topics of one cluster, mirrored to another with their settings and ACLs.

    name=eu-to-us
    connector.class=org.apache.kafka.connect.mirror.MirrorSourceConnector
    source.cluster.alias=eu
    target.cluster.alias=us
    source.cluster.bootstrap.servers=eu-1:9092
    target.cluster.bootstrap.servers=us-1:9092
    topics=orders.*

The target is the cluster of the Connect worker, whose producer writes the records. Java: ``MirrorSourceConnector``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

from connect_dagster.connectors.mirror.assignment import partition_task_configs
from connect_dagster.connectors.mirror.client_settings import (
    REPLICATION_SOURCE_ADMIN,
    REPLICATION_TARGET_ADMIN,
    reads_committed,
)
from connect_dagster.connectors.mirror.connector_classes import SOURCE_CONNECTOR
from connect_dagster.connectors.mirror.internal_topics import create_internal_topic
from connect_dagster.connectors.mirror.offsets import check_source_offsets
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.scheduler import Scheduler
from connect_dagster.connectors.mirror.source.task import MirrorSourceTask
from connect_dagster.connectors.mirror.source.topic_sync import IncompatibleTargetError, TopicSync
from connect_dagster.connectors.mirror.source.topics import MirroredTopics, Partitions, Replication
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.errors import ConnectError
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector

log = logging.getLogger(__name__)

_CREATING = "creating upstream offset-syncs topic"


class MirrorSourceConnector(SourceConnector):
    """A source of the records of another Kafka cluster.

    It creates the topics of the target, and looks for new ones of the source at intervals.
    """

    config_def = MirrorSourceConfig
    java_class: ClassVar[str] = SOURCE_CONNECTOR
    java_task_class: ClassVar[str] = "org.apache.kafka.connect.mirror.MirrorSourceTask"
    version: ClassVar[str] = KAFKA_VERSION
    task_class = MirrorSourceTask

    def start(self, config: Properties) -> None:
        """Create the topics that are missing, and begin to look for changes."""
        self._config = dict(config)
        self._parsed = parsed = MirrorSourceConfig.parse(config)
        self._scheduler: Scheduler | None = None
        self._has_offset_syncs = False
        self._shared_out: Partitions | None = None
        if not parsed.enabled:
            return
        self._classes = classes = FlowClasses(parsed, self.context.load_class)
        self._admins = source, target = (
            classes.admin(parsed.client_settings(REPLICATION_SOURCE_ADMIN)),
            classes.admin(parsed.client_settings(REPLICATION_TARGET_ADMIN)),
        )
        self._rules = rules = _rules_of(parsed, classes)
        self._topics = topics = MirroredTopics(rules, source, target, parsed.replication_factor)
        self._sync = TopicSync(rules, source, target)
        self._scheduler = scheduler = Scheduler(f"MirrorSourceConnector: {parsed.label}", parsed.admin_timeout_seconds)
        try:
            self._schedule(scheduler)
        except ConnectError:  # its other work would go on
            self.stop()
            raise
        log.info("Started %s with %d topic-partitions.", parsed.label, len(topics.partitions))

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configurations of tasks that share the partitions."""
        if self._scheduler is None:
            return []
        self._shared_out = self._topics.partitions
        return partition_task_configs(self._config, self._shared_out, max_tasks)

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each offset is one of a partition."""
        return check_source_offsets(offsets)

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        """Support it where records of aborted transactions of the source are not replicated."""
        return ExactlyOnceSupport.SUPPORTED if reads_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def stop(self) -> None:
        """End the background work, and close the clients."""
        if (scheduler := getattr(self, "_scheduler", None)) is not None:
            scheduler.close()
            for one in (self._rules.topic_filter, self._rules.properties, *self._admins):
                one.close()

    def _schedule(self, scheduler: Scheduler) -> None:
        parsed, topics = self._parsed, self._topics
        scheduler.run_now(self._create_offset_syncs, _CREATING)
        scheduler.run_now(topics.load, "loading initial set of topic-partitions")
        scheduler.run_now(topics.create_missing, "creating downstream topic-partitions")
        scheduler.run_now(topics.look_at_target, "refreshing known target topics")
        scheduler.run_soon(self._share_out_late, "sharing out topic-partitions that were found late")
        scheduler.repeat(self._sync.sync_acls, parsed.sync_topic_acls_interval, "syncing topic ACLs")
        scheduler.repeat(self._sync_settings, parsed.sync_topic_configs_interval, "syncing topic configs")
        scheduler.repeat(self._refresh, parsed.refresh_topics_interval, "refreshing topics", delayed=True)

    def _create_offset_syncs(self) -> None:
        parsed = self._parsed
        if parsed.emit_offset_syncs_enabled:
            name = self._rules.policy.offset_syncs_topic(parsed.offset_syncs.alias)
            with closing(
                self._classes.admin(parsed.client_settings(parsed.offset_syncs.role(ClientKind.ADMIN)))
            ) as admin:
                create_internal_topic(admin, name, parsed.offset_syncs_topic_replication_factor)
        self._has_offset_syncs = True

    def _sync_settings(self) -> None:
        try:
            self._sync.sync_settings(self._topics.replicated())
        except IncompatibleTargetError as error:
            self.context.raise_error(error)

    def _share_out_late(self) -> None:
        """Share out the partitions of clusters that responded after ``start`` had waited (not so in Java)."""
        if self._shared_out not in (None, self._topics.partitions):
            self.context.request_task_reconfiguration()

    def _refresh(self) -> None:
        # Before there are tasks, whose first sync would make the brokers create it with their own settings.
        if not self._has_offset_syncs and self._scheduler is not None:
            self._scheduler.run_within(self._create_offset_syncs, _CREATING)
        if self._topics.refresh():
            self.context.request_task_reconfiguration()


def _rules_of(config: MirrorSourceConfig, classes: FlowClasses) -> Replication:
    return Replication(
        config.flow,
        classes.policy(),
        classes.topic_filter(),
        classes.property_filter(),
        config.heartbeats_replication_enabled,
    )
