"""Java's class names in configurations of MirrorMaker, and the options that take them.

Configurations name the connectors, policies and filters by Java's classes; a Python class stands for each of these.
Other classes written in Java cannot be loaded here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.config import FindClass, Validator

_PACKAGE = "org.apache.kafka.connect.mirror."

SOURCE_CONNECTOR = f"{_PACKAGE}MirrorSourceConnector"
CHECKPOINT_CONNECTOR = f"{_PACKAGE}MirrorCheckpointConnector"
HEARTBEAT_CONNECTOR = f"{_PACKAGE}MirrorHeartbeatConnector"
CONNECTORS = (SOURCE_CONNECTOR, HEARTBEAT_CONNECTOR, CHECKPOINT_CONNECTOR)
"""The connectors of a flow in the order in which a leader writes them (Java: ``MirrorMaker.CONNECTOR_CLASSES``)."""

DEFAULT_REPLICATION_POLICY = f"{_PACKAGE}DefaultReplicationPolicy"
IDENTITY_REPLICATION_POLICY = f"{_PACKAGE}IdentityReplicationPolicy"
DEFAULT_TOPIC_FILTER = f"{_PACKAGE}DefaultTopicFilter"
DEFAULT_GROUP_FILTER = f"{_PACKAGE}DefaultGroupFilter"
DEFAULT_CONFIG_PROPERTY_FILTER = f"{_PACKAGE}DefaultConfigPropertyFilter"
FORWARDING_ADMIN = "org.apache.kafka.clients.admin.ForwardingAdmin"

REPLICATION_POLICY_CLASS = "replication.policy.class"
TOPIC_FILTER_CLASS = "topic.filter.class"
GROUP_FILTER_CLASS = "group.filter.class"
CONFIG_PROPERTY_FILTER_CLASS = "config.property.filter.class"
FORWARDING_ADMIN_CLASS = "forwarding.admin.class"

JAVA_CLASSES: Mapping[str, tuple[str, ...]] = {
    REPLICATION_POLICY_CLASS: (DEFAULT_REPLICATION_POLICY, IDENTITY_REPLICATION_POLICY),
    TOPIC_FILTER_CLASS: (DEFAULT_TOPIC_FILTER,),
    GROUP_FILTER_CLASS: (DEFAULT_GROUP_FILTER,),
    CONFIG_PROPERTY_FILTER_CLASS: (DEFAULT_CONFIG_PROPERTY_FILTER,),
    FORWARDING_ADMIN_CLASS: (FORWARDING_ADMIN,),
}
"""Java's classes that have a counterpart in Python, by the option that takes them."""

_KNOWN = frozenset(name for names in JAVA_CLASSES.values() for name in names)


def simple_name(class_name: str) -> str:
    """Return the name of a class without its package."""
    return class_name.rpartition(".")[2]


def with_java_classes(find_class: FindClass | None, accepted: Collection[str] = ()) -> FindClass:
    """Return a search that also finds Java's classes that have a counterpart here.

    Args:
        find_class: finds Python classes; ``None`` accepts their names unseen.
        accepted: further names to accept unseen.
    """

    def find(name: str) -> str | None:
        if name in _KNOWN or name in accepted or find_class is None:
            return name
        found = find_class(name)
        if found is None:
            counterparts = ", ".join(sorted(map(simple_name, _KNOWN)))
            raise ConnectError(
                f"Class {name} could not be found. Classes written in Java cannot be loaded by this worker; "
                f"these have a counterpart in Python: {counterparts}. For others, name a Python class."
            )
        return found

    return find


def one_of_java_or_python(option: str) -> Validator:
    """Return the check for a Python class, or one of Java's that the option takes."""
    allowed = JAVA_CLASSES[option]

    def check(name: str, value: Any) -> None:
        if value in _KNOWN and value not in allowed:
            raise ConfigError.invalid(name, value, f"The class must be a Python class, or one of: {', '.join(allowed)}")

    return check
