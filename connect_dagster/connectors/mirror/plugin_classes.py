"""Policies, filters and admin clients of a flow, from the classes that its configuration names.

Java's classes have a counterpart here; a class of a user's own is named by its module and name, and found as Python
finds modules.
"""

from __future__ import annotations

import importlib
from typing import TypeVar

from connect_dagster.connectors.mirror.client_settings import Role
from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.connector_classes import FORWARDING_ADMIN
from connect_dagster.connectors.mirror.filters import BUNDLED_FILTERS, ConfigPropertyFilter, GroupFilter, TopicFilter
from connect_dagster.connectors.mirror.names import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)
from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig
from connect_dagster.errors import ConfigError

Plugin = TypeVar("Plugin", ReplicationPolicy, TopicFilter, GroupFilter, ConfigPropertyFilter)

_BUNDLED: dict[str | None, type] = {
    **BUNDLED_FILTERS,
    DefaultReplicationPolicy.java_class: DefaultReplicationPolicy,
    IdentityReplicationPolicy.java_class: IdentityReplicationPolicy,
    FORWARDING_ADMIN: ForwardingAdmin,
}


def configured(kind: type[Plugin], option: str, name: str, config: MirrorConnectorConfig) -> Plugin:
    """Return an object of a class that a configuration names, configured.

    Args:
        kind: base of the class.
        option: names it, for errors.
        name: of the class: Java's, or a Python module and class.
        config: of the connector.

    Raises:
        ConfigError: there is no such class, or it is of another kind.
    """
    made = _class(kind, option, name)()
    made.configure(config.originals)
    return made


def policy_of(config: MirrorConnectorConfig) -> ReplicationPolicy:
    """Return the replication policy. Raises ConfigError."""
    return configured(ReplicationPolicy, "replication.policy.class", config.replication_policy_class, config)


def admin_of(config: MirrorConnectorConfig, role: Role) -> ForwardingAdmin:
    """Return an admin client of one of the clusters. Raises ConfigError."""
    kind = _class(ForwardingAdmin, "forwarding.admin.class", config.forwarding_admin_class)
    return kind(config.client_settings(role))


Kind = TypeVar("Kind")


def _class(kind: type[Kind], option: str, name: str) -> type[Kind]:
    found = _BUNDLED.get(name) or _python_class(option, name)
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise ConfigError.invalid(option, name, f"the class must be a {kind.__name__}")
    return found


def _python_class(option: str, name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError.invalid(option, name, f"the class cannot be loaded: {error}") from error
