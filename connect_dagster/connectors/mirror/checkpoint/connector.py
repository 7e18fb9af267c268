"""MirrorCheckpointConnector: the places of consumer groups, translated from one cluster to another.

    name=eu-to-us-checkpoint
    connector.class=org.apache.kafka.connect.mirror.MirrorCheckpointConnector
    source.cluster.alias=eu
    target.cluster.alias=us
    source.cluster.bootstrap.servers=eu-1:9092
    target.cluster.bootstrap.servers=us-1:9092
    groups=billing.*
    sync.group.offsets.enabled=true

Java: ``MirrorCheckpointConnector``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

from connect_dagster.connectors.mirror.assignment import group_task_configs, is_assignable
from connect_dagster.connectors.mirror.checkpoint.task import MirrorCheckpointTask
from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
from connect_dagster.connectors.mirror.client_settings import CHECKPOINT_SOURCE_ADMIN, CHECKPOINT_TARGET_ADMIN
from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin
from connect_dagster.connectors.mirror.connector_classes import CHECKPOINT_CONNECTOR
from connect_dagster.connectors.mirror.filters import GroupFilter, TopicFilter
from connect_dagster.connectors.mirror.internal_topics import create_internal_topic
from connect_dagster.connectors.mirror.offsets import check_checkpoint_offsets
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.scheduler import Scheduler
from connect_dagster.errors import ConfigError, RetriableError
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.connector import Properties, SourceConnector

log = logging.getLogger(__name__)

_CREATING = "creating internal topics"


def groups_to_translate(source: ForwardingAdmin, groups: GroupFilter, topics: TopicFilter) -> list[str]:
    """Return the consumer groups with offsets of topics that are accepted.

    Args:
        source: the cluster with the groups.
        groups: chooses groups.
        topics: chooses topics.

    Raises:
        KafkaException: the brokers refuse it, or do not respond in time.
    """
    found, errors = known_groups_to_translate(source, groups, topics)
    for error in errors.values():
        raise error
    return found


def known_groups_to_translate(
    source: ForwardingAdmin, groups: GroupFilter, topics: TopicFilter
) -> tuple[list[str], Errors]:
    """Return groups as :func:`groups_to_translate` does, and the errors of those whose offsets are not known now."""
    chosen = groups.accepted(sorted(source.consumer_groups()))
    offsets, errors = source.group_offsets(chosen)
    found = {one.topic for committed in offsets.values() for one in committed}
    accepted = set(topics.accepted(sorted(found)))
    return [group for group in chosen if any(one.topic in accepted for one in offsets.get(group, ()))], errors


class MirrorCheckpointConnector(SourceConnector):
    """A source of the translated offsets of consumer groups.

    It looks for new groups of the source at intervals.
    """

    config_def = MirrorCheckpointConfig
    java_class: ClassVar[str] = CHECKPOINT_CONNECTOR
    java_task_class: ClassVar[str] = "org.apache.kafka.connect.mirror.MirrorCheckpointTask"
    version: ClassVar[str] = KAFKA_VERSION
    task_class = MirrorCheckpointTask

    def start(self, config: Properties) -> None:
        """Create the topic of checkpoints, find the groups, and begin to look for changes.

        Raises:
            ConfigError: a class cannot be loaded, or offsets of groups cannot be asked for with the login.
        """
        self._config = dict(config)
        self._parsed = parsed = MirrorCheckpointConfig.parse(config)
        self._groups: list[str] | None = None  # until they are known
        self._is_loading = self._has_topic = False
        self._scheduler: Scheduler | None = None
        if not parsed.enabled:
            return
        self._classes = classes = FlowClasses(parsed, self.context.load_class)
        self._source: ForwardingAdmin = classes.admin(parsed.client_settings(CHECKPOINT_SOURCE_ADMIN))
        self._topic_filter = classes.topic_filter()
        self._group_filter = classes.group_filter()
        self._scheduler = scheduler = Scheduler(
            f"MirrorCheckpointConnector: {parsed.label}", parsed.admin_timeout_seconds
        )
        try:
            scheduler.run_now(self._create_topic, _CREATING)
            scheduler.run_now(self._load_groups, "loading initial consumer groups")
            scheduler.repeat(self._refresh, parsed.refresh_groups_interval, "refreshing consumer groups", delayed=True)
        except ConfigError:
            self.stop()
            raise

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configurations of tasks that share the groups.

        Raises:
            RetriableError: the groups are not known yet.
        """
        if self._scheduler is None or self._parsed.emit_checkpoints_interval is None:
            return []
        if self._groups is None:
            self._load_soon(self._scheduler)
            raise RetriableError("Timeout while loading consumer groups.")
        # Java's order, so that a worker of the other kind finds the configurations of tasks unchanged.
        return group_task_configs(self._config, hash_map_order(self._groups), max_tasks)

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each offset is that of a group."""
        return check_checkpoint_offsets(offsets)

    def stop(self) -> None:
        """End the background work, and close the clients."""
        if (scheduler := getattr(self, "_scheduler", None)) is not None:
            scheduler.close()
            for one in (self._topic_filter, self._group_filter, self._source):
                one.close()

    def _create_topic(self) -> None:
        parsed, classes = self._parsed, self._classes
        topic = classes.policy().checkpoints_topic(parsed.source_alias)
        with closing(classes.admin(parsed.client_settings(CHECKPOINT_TARGET_ADMIN))) as admin:
            create_internal_topic(admin, topic, parsed.checkpoints_topic_replication_factor)
        self._has_topic = True

    def _create_missing_topic(self) -> None:
        """Create the topic where that has failed so far: brokers would create it with their own settings."""
        if not self._has_topic and self._scheduler is not None:
            self._scheduler.run_within(self._create_topic, _CREATING)

    def _load_groups(self) -> None:
        self._groups = self._find_groups()
        log.info("Started %s with %d consumer groups.", self._parsed.label, len(self._groups))

    def _load_soon(self, scheduler: Scheduler) -> None:
        """Look again for the groups when the first look has failed: the next refresh may be far away."""
        if not self._is_loading:
            self._is_loading = True
            scheduler.run_soon(self._load_again, "loading initial consumer groups")

    def _load_again(self) -> None:
        try:
            if self._groups is None:
                self._create_missing_topic()
                self._load_groups()
                self.context.request_task_reconfiguration()
        finally:
            self._is_loading = False

    def _refresh(self) -> None:
        self._create_missing_topic()
        known, found = set(self._groups or ()), self._find_groups()
        if known == set(found):
            self._groups = found
            return
        log.info(
            "Found %d consumer groups for %s. %d are new. %d were removed. Previously had %d.",
            len(found),
            self._parsed.flow,
            len(set(found) - known),
            len(known - set(found)),
            len(known),
        )
        self._groups = found
        self.context.request_task_reconfiguration()

    def _find_groups(self) -> list[str]:
        relevant, errors = known_groups_to_translate(self._source, self._group_filter, self._topic_filter)
        if errors:
            relevant = self._with_unknown(relevant, errors)
        refused = [group for group in relevant if not is_assignable(group)]
        if refused:
            log.warning("A task cannot be given these groups, because of commas or blanks in their ids: %s", refused)
        return [group for group in relevant if is_assignable(group)]

    def _with_unknown(self, relevant: Sequence[str], errors: Errors) -> list[str]:
        """Return groups with those that were known before, and whose coordinators are away now.

        Raises:
            KafkaException: nothing is known of any group.
        """
        known = set(self._groups or ()) & errors.keys()
        text = next(iter(errors.values())).args[0].str()
        if not relevant and not known:
            raise next(iter(errors.values()))
        log.warning("The offsets of consumer groups %s are not known now: %s", ", ".join(sorted(errors)), text)
        return sorted({*relevant, *known})
