"""Policies, filters and admin clients of a flow, from the classes that its configuration names.

Java's classes have a counterpart here; a user's class is named by its module and name, and found as plugins are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

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
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.connector import LoadClass

_BUNDLED: dict[str | None, type] = {**BUNDLED_FILTERS, **BUNDLED_POLICIES, FORWARDING_ADMIN: ForwardingAdmin}


@dataclass(frozen=True, slots=True)
class FlowClasses:
    """Makes objects of the classes that a configuration names.

    Each method raises ConfigError when the class cannot be loaded, or is of another kind.

    Attributes:
        config: of a connector, a task or a client.
        load_class: finds classes, as a worker does.
    """

    config: MirrorConnectorConfig | MirrorClientConfig
    load_class: LoadClass

    def policy(self) -> ReplicationPolicy:
        """Return the replication policy."""
        return cast("ReplicationPolicy", self._configured(ReplicationPolicy, REPLICATION_POLICY_CLASS))

    def topic_filter(self) -> TopicFilter:
        """Return the filter of topics."""
        return cast("TopicFilter", self._configured(TopicFilter, TOPIC_FILTER_CLASS))

    def group_filter(self) -> GroupFilter:
        """Return the filter of consumer groups."""
        return cast("GroupFilter", self._configured(GroupFilter, GROUP_FILTER_CLASS))

    def property_filter(self) -> ConfigPropertyFilter:
        """Return the filter of the settings of topics."""
        return cast("ConfigPropertyFilter", self._configured(ConfigPropertyFilter, CONFIG_PROPERTY_FILTER_CLASS))

    def admin(self, settings: Settings) -> ForwardingAdmin:
        """Return an admin client of the cluster that these settings lead to."""
        return cast("ForwardingAdmin", self._class(ForwardingAdmin, FORWARDING_ADMIN_CLASS)(settings))

    def _configured(self, base: type, option: str) -> Any:
        made = self._class(base, option)()
        made.configure(self.config.originals)
        return made

    def _class(self, base: type, option: str) -> type[Any]:
        name = str(getattr(self.config, option.replace(".", "_")))
        try:
            found = _BUNDLED.get(name) or self.load_class(name)
        except ConnectError as error:
            raise ConfigError.invalid(option, name, str(error)) from error
        if not issubclass(found, base):
            raise ConfigError.invalid(option, name, f"the class must be a {base.__name__}")
        return found
