"""Policies, filters and admin clients of a flow, from the classes that its configuration names.

Java's classes have a counterpart here; a user's class is named by its module and name, and found as Python
finds modules.
"""

from __future__ import annotations

import importlib
from typing import Any, cast

from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
from connect_dagster.connectors.mirror.client_settings import Role
from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.connector_classes import (
    CONFIG_PROPERTY_FILTER_CLASS,
    FORWARDING_ADMIN,
    FORWARDING_ADMIN_CLASS,
    GROUP_FILTER_CLASS,
    REPLICATION_POLICY_CLASS,
    TOPIC_FILTER_CLASS,
)
from connect_dagster.connectors.mirror.filters import BUNDLED_FILTERS, ConfigPropertyFilter, GroupFilter, TopicFilter
from connect_dagster.connectors.mirror.mirror_client_config import MirrorClientConfig
from connect_dagster.connectors.mirror.names import BUNDLED_POLICIES, ReplicationPolicy
from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.errors import ConfigError

_BUNDLED: dict[str | None, type] = {**BUNDLED_FILTERS, **BUNDLED_POLICIES, FORWARDING_ADMIN: ForwardingAdmin}


def policy_of(config: MirrorConnectorConfig | MirrorClientConfig) -> ReplicationPolicy:
    """Return the replication policy. Raises ConfigError, as the others do: the class does not exist."""
    return cast("ReplicationPolicy", _configured(ReplicationPolicy, REPLICATION_POLICY_CLASS, config))


def topic_filter_of(config: MirrorSourceConfig | MirrorCheckpointConfig) -> TopicFilter:
    """Return the filter of topics."""
    return cast("TopicFilter", _configured(TopicFilter, TOPIC_FILTER_CLASS, config))


def group_filter_of(config: MirrorCheckpointConfig) -> GroupFilter:
    """Return the filter of consumer groups."""
    return cast("GroupFilter", _configured(GroupFilter, GROUP_FILTER_CLASS, config))


def property_filter_of(config: MirrorSourceConfig) -> ConfigPropertyFilter:
    """Return the filter of the settings of topics."""
    return cast("ConfigPropertyFilter", _configured(ConfigPropertyFilter, CONFIG_PROPERTY_FILTER_CLASS, config))


def admin_of(config: MirrorConnectorConfig, role: Role) -> ForwardingAdmin:
    """Return an admin client of one of the clusters."""
    kind = _class(ForwardingAdmin, FORWARDING_ADMIN_CLASS, config)
    return cast("ForwardingAdmin", kind(config.client_settings(role)))


def _configured(base: type, option: str, config: MirrorConnectorConfig | MirrorClientConfig) -> Any:
    made = _class(base, option, config)()
    made.configure(config.originals)
    return made


def _class(base: type, option: str, config: MirrorConnectorConfig | MirrorClientConfig) -> type[Any]:
    name = str(getattr(config, option.replace(".", "_")))
    found = _BUNDLED.get(name) or _python_class(option, name)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigError.invalid(option, name, f"the class must be a {base.__name__}")
    return found


def _python_class(option: str, name: str) -> object:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError.invalid(option, name, f"the class cannot be loaded: {error}") from error
