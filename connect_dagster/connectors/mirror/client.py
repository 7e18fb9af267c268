"""Reads what MirrorMaker has written to a cluster (Java: ``MirrorClient``, ``RemoteClusterUtils``).

Example:
    >>> client = MirrorClient({"bootstrap.servers": "us-1:9092"})
    >>> client.remote_consumer_offsets("eu", lambda group: group == "billing")
    {'billing': {TopicPartition(topic='eu.orders', partition=3): CommittedOffset(offset=990, metadata='')}}
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

from connect_dagster.connectors.mirror.client_settings import BOOTSTRAP_SERVERS
from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.mirror_client_config import MirrorClientConfig
from connect_dagster.connectors.mirror.names import ReplicationPolicy
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.connectors.mirror.translation import CommittedOffset
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import brokers_errors
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.kafka.topic_reading import read_topic
from connect_dagster.plugin.connector import LoadClass, importable_class
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.wire import MalformedBytes

log = logging.getLogger(__name__)

GroupOffsets = dict[TopicPartition, CommittedOffset]

_PARTITION = 0


class MirrorClient:
    """A client of one cluster.

    Args:
        properties: access to the cluster and the replication policy, in Java's names.
        load_class: finds the class of a policy.

    Raises:
        ConfigError: one is wrong.
    """

    def __init__(self, properties: Mapping[str, str], load_class: LoadClass = importable_class) -> None:
        self._config = MirrorClientConfig.parse(properties)
        self._admin = ForwardingAdmin(self._config.client_settings(ClientKind.ADMIN))
        self.policy: ReplicationPolicy = FlowClasses(self._config, load_class).policy()

    def heartbeat_topics(self) -> set[str]:
        """Return the topics of heartbeats, the cluster's own and mirrored ones.

        Raises:
            BrokersError: the brokers refuse it, or do not respond; so do the other methods.
        """
        return {topic for topic in self._topics() if self.policy.is_heartbeats_topic(topic)}

    def checkpoint_topics(self) -> set[str]:
        """Return the topics of checkpoints."""
        return {topic for topic in self._topics() if self.policy.is_checkpoints_topic(topic)}

    def remote_topics(self, source: str | None = None) -> set[str]:
        """Return the topics that are mirrored, of all clusters or those that come directly from one."""
        return {
            topic
            for topic in self._topics()
            if not self.policy.is_internal_topic(topic)
            and (found := self.policy.topic_source(topic)) is not None
            and source in (None, found)
        }

    def upstream_clusters(self) -> set[str]:
        """Return the aliases of clusters, any number of hops away, whose heartbeats arrive here."""
        return {source for topic in self.heartbeat_topics() for source in self._sources(topic)}

    def replication_hops(self, upstream: str) -> int | None:
        """Return the number of hops from another cluster, over A->B->C two from A; ``None`` without a way."""
        hops = [
            number
            for topic in self.heartbeat_topics()
            for number, source in enumerate(self._sources(topic), start=1)
            if source == upstream
        ]
        return min(hops, default=None)

    def remote_consumer_offsets(
        self, source: str, wanted: Callable[[str], bool], seconds: float = 30.0
    ) -> dict[str, GroupOffsets]:
        """Return the offsets of groups of another cluster, translated to this one.

        Args:
            source: alias of the other cluster.
            wanted: returns whether a group's are asked for.
            seconds: longest wait for a checkpoint.

        Raises:
            BrokersError: the topic of checkpoints does not exist, or cannot be read.
        """
        offsets: dict[str, GroupOffsets] = {}
        for checkpoint in self._checkpoints(self.policy.checkpoints_topic(source), seconds):
            if wanted(checkpoint.group):
                committed = CommittedOffset(checkpoint.downstream_offset, checkpoint.metadata)
                offsets.setdefault(checkpoint.group, {})[checkpoint.topic_partition] = committed
        return offsets

    def _sources(self, topic: str) -> Iterator[str]:
        """Yield the clusters that a topic has come from, the last one first."""
        seen: set[str] = set()
        upstream: str | None = topic
        while upstream is not None and (source := self.policy.topic_source(upstream)) is not None:
            if source in seen:  # IdentityReplicationPolicy goes round in a circle
                return
            seen.add(source)
            yield source
            upstream = self.policy.upstream_topic(upstream)

    def _topics(self) -> dict[str, int]:
        with brokers_errors():
            return self._admin.topics()

    def _checkpoints(self, topic: str, seconds: float) -> Iterator[Checkpoint]:
        settings = self._config.client_settings(ClientKind.CONSUMER)
        brokers = Brokers(settings[BOOTSTRAP_SERVERS], settings)
        for message in read_topic(brokers, topic, seconds, _PARTITION, "read_uncommitted"):
            yield from _decoded(message.key(), message.value())


def _decoded(key: bytes | None, value: bytes | None) -> Iterator[Checkpoint]:
    try:
        checkpoint = Checkpoint.decode(key, value)
    except MalformedBytes as error:
        log.info("Could not deserialize record. Skipping: %s", error)
        return
    if checkpoint is not None:
        yield checkpoint
