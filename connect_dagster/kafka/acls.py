"""ACLs of a cluster, and what they let a client do."""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as ResourceKind

from connect_dagster.kafka.python_admin import ask_anew
from connect_dagster.kafka.settings.java_settings import Settings


def fetch_topic_acls(settings: Settings, timeout: float) -> list[AclBinding]:
    """Return the ACLs of topics.

    librdkafka's client in Python is not asked: it has an empty list where the brokers have no authorizer.

    Args:
        settings: of an admin client, in Java's names.
        timeout: Longest wait for the brokers, in seconds.

    Raises:
        KafkaException: The brokers refuse, with ``SECURITY_DISABLED`` where they have no authorizer, or do not respond.
        ConfigError: kafka-python has no such login.
    """
    topics = ResourcePatternFilter(ResourceKind.TOPIC, None, ACLResourcePatternType.ANY)
    wanted = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, topics)
    found, _ = ask_anew(settings, lambda admin: admin.describe_acls(wanted), timeout)
    return [_binding(one) for one in found]


def fetch_unreadable_topics(settings: Settings, topics: Collection[str], timeout: float) -> set[str]:
    """Return the topics that a client may describe, but not read (KIP-430).

    Args:
        settings: of the client, in Java's names.
        topics: their names; one that does not exist is not among those returned.
        timeout: Longest wait for the brokers, in seconds.

    Raises:
        KafkaException: The brokers do not respond.
        ConfigError: kafka-python has no such login.
    """
    try:
        found = ask_anew(settings, lambda admin: admin.describe_topics(list(topics)), timeout)
    except ValueError:  # of kafka-python, for brokers before Kafka 2.3, which tell of no operation
        return set()
    return {one["name"] for one in found if _is_only_described(one["authorized_operations"] or ())}


def _is_only_described(operations: Collection[str]) -> bool:
    return ACLOperation.DESCRIBE.name in operations and ACLOperation.READ.name not in operations


def _binding(acl: ACL) -> AclBinding:
    """Return an ACL as the client that creates it takes it; both count as the protocol does."""
    pattern = acl.resource_pattern
    return AclBinding(
        ResourceType(int(pattern.resource_type)),
        pattern.resource_name,
        ResourcePatternType(int(pattern.pattern_type)),
        acl.principal,
        acl.host,
        AclOperation(int(acl.operation)),
        AclPermissionType(int(acl.permission_type)),
    )
