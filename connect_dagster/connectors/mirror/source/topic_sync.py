"""Settings and ACLs of topics, copied from the source to the target at intervals.

Java: ``MirrorSourceConnector.syncTopicConfigs`` and ``syncTopicAcls``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.source.topics import Replication, alterations_of_topic
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)

_TOO_OLD = (KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE)


class IncompatibleTargetError(ConnectError):
    """The target's brokers are too old to change single settings of a topic."""


class TopicSync:
    """Copies settings and ACLs of the topics of a flow.

    Args:
        rules: of the flow.
        source: the cluster that is read.
        target: the cluster that is written.
    """

    def __init__(self, rules: Replication, source: ForwardingAdmin, target: ForwardingAdmin) -> None:
        self._rules = rules
        self._source = source
        self._target = target
        self._is_security_disabled = False

    def sync_settings(self, topics: Sequence[str]) -> None:
        """Give topics of the target the settings of their sources.

        Args:
            topics: of the source, those that are on both clusters.

        Raises:
            IncompatibleTargetError: the target's brokers are too old to change single settings (KIP-339).
        """
        settings = self._source.topic_settings(topics)
        changes = {
            self._rules.remote(topic): alterations_of_topic(found, self._rules.properties)
            for topic, found in settings.items()
        }
        for topic, error in self._target.alter_topic_settings(changes).items():
            if error.args[0].code() in _TOO_OLD:
                raise IncompatibleTargetError(
                    f"the target cluster '{self._rules.flow.target}' is not compatible with IncrementalAlterConfigs API"
                ) from error
            log.warning("Could not alter configuration of topic %s: %s", topic, error.args[0].str())

    def sync_acls(self) -> None:
        """Create the ACLs of the source's topics on the target; none is removed there."""
        bindings = remote_acls(self._source_acls(), self._rules)
        for topic, error in self._target.create_acls(bindings).items():
            log.warning("Could not sync ACL of topic %s: %s", topic, error.args[0].str())

    def _source_acls(self) -> list[AclBinding]:
        try:
            return self._source.topic_acls()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.SECURITY_DISABLED:
                raise
        if not self._is_security_disabled:
            self._is_security_disabled = True
            log.info(
                "No ACL authorizer is configured on the source Kafka cluster, so no topic ACL syncing will take place. "
                "Consider disabling topic ACL syncing by setting sync.topic.acls.enabled to 'false'."
            )
        return []


def remote_acls(bindings: Iterable[AclBinding], rules: Replication) -> list[AclBinding]:
    """Return the ACLs of topics of the target for those of their sources.

    Principals to whom the source allows all may read on the target: only MirrorMaker writes there. Each is there once,
    also for those to whom the source allows both.
    """
    literal = [one for one in bindings if _is_copied(one)]
    chosen = set(rules.chosen(dict.fromkeys(one.name for one in literal)))
    return list(dict.fromkeys(_remote_acl(one, rules.remote(one.name)) for one in literal if one.name in chosen))


def _is_copied(binding: AclBinding) -> bool:
    allows = binding.permission_type == AclPermissionType.ALLOW
    return (
        binding.restype == ResourceType.TOPIC
        and binding.resource_pattern_type == ResourcePatternType.LITERAL
        and not (allows and binding.operation == AclOperation.WRITE)
    )


def _remote_acl(binding: AclBinding, remote: str) -> AclBinding:
    allows_all = binding.permission_type == AclPermissionType.ALLOW and binding.operation == AclOperation.ALL
    return AclBinding(
        ResourceType.TOPIC,
        remote,
        ResourcePatternType.LITERAL,
        binding.principal,
        binding.host,
        AclOperation.READ if allows_all else binding.operation,
        binding.permission_type,
    )
