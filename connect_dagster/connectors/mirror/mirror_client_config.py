"""Configuration of a client that reads what MirrorMaker writes to one cluster (Java: ``MirrorClientConfig``).

bootstrap.servers = b1:9092
replication.policy.separator = _
"""

from __future__ import annotations

from typing import Self

from connect_dagster.connectors.mirror.client_settings import BOOTSTRAP_SERVERS, CLUSTER_KEYS, TLS_AND_SASL
from connect_dagster.connectors.mirror.shared_options import (
    FORWARDING,
    INTERNAL_SEPARATOR,
    PROTOCOL,
    REPLICATION_POLICY,
    SEPARATOR,
    class_finder,
)
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.plugin.config import ConfigDef, ConfigTable, FindClass, Importance, UniqueValues, config_key
from connect_dagster.plugin.config.table import Properties


class MirrorClientConfig(ConfigDef):
    """Access to the cluster and the policy that named its topics."""

    bootstrap_servers: tuple[str, ...] = config_key(
        BOOTSTRAP_SERVERS,
        importance=Importance.HIGH,
        validator=UniqueValues(empty=False),
        doc="A list of host/port pairs used to establish the initial connection to the Kafka cluster.",
    )
    replication_policy_class: str = REPLICATION_POLICY
    replication_policy_separator: str = SEPARATOR
    internal_topic_separator_enabled: bool = INTERNAL_SEPARATOR
    forwarding_admin_class: str = FORWARDING
    security_protocol: str = PROTOCOL

    @classmethod
    def table(cls) -> ConfigTable:
        """Return the options, with those of TLS and SASL."""
        return super().table().with_keys(TLS_AND_SASL)

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        return super().parse(props, class_finder(props, find_class))

    def client_settings(self, kind: ClientKind) -> dict[str, str]:
        """Return the settings of a client: of those given for it, too, only the access to the cluster counts."""
        settings = {**self.originals, **self.with_prefix(f"{kind.value}.")}
        return {name: value for name, value in settings.items() if name in CLUSTER_KEYS}
