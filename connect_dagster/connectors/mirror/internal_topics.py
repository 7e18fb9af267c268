"""Creates MirrorMaker's own topics (Java: ``MirrorUtils.createSinglePartitionCompactedTopic``)."""

from __future__ import annotations

import logging

from confluent_kafka import KafkaError

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.errors import ConnectError
from connect_dagster.kafka.topic_admin import CLEANUP_POLICY, COMPACT, NewTopic

log = logging.getLogger(__name__)

# The topic is assumed to exist then, or to be created by the brokers.
_LEFT_TO_OTHERS = frozenset(
    {
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def create_internal_topic(admin: ForwardingAdmin, topic: str, replication_factor: int) -> None:
    """Create a compacted topic of one partition, unless it exists or this client may not create it.

    Raises:
        ConnectError: the brokers refuse it.
    """
    wanted = NewTopic(topic, 1, replication_factor, {CLEANUP_POLICY: COMPACT})
    error = admin.create_topics([wanted]).get(topic)
    if error is None:
        log.info("Created topic '%s'", topic)
        return
    code = error.args[0].code()
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        log.debug("Unable to create topic '%s' since it already exists.", topic)
    elif code in _LEFT_TO_OTHERS:
        log.debug("Not able or authorized to create topic '%s': it is assumed to exist.", topic)
    else:
        raise ConnectError(f"Error while attempting to create/find topic '{topic}': {error.args[0].str()}") from error
