"""Settings of the Kafka clients of a flow's connectors and tasks (Java: ``MirrorConnectorConfig``).

The keys are Java's; ``kafka.clients`` translates them. Of settings that are given several times the later wins:
``source.cluster.*``, of which only the access to the cluster counts, ``consumer.*``, ``source.consumer.*``. The same
holds for ``target.`` and for ``producer.`` and ``admin.``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.kafka.settings.common import COMMON
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.plugin.config import under_prefix

BOOTSTRAP_SERVERS, SECURITY_PROTOCOL = "bootstrap.servers", "security.protocol"

TLS_AND_SASL = tuple(row.key for prefix in ("ssl.", "sasl.") for row in COMMON if row.name.startswith(prefix))
"""Definitions of the settings for access to a secured cluster."""

CLUSTER_KEYS = frozenset({BOOTSTRAP_SERVERS, SECURITY_PROTOCOL, *(key.name for key in TLS_AND_SASL)})
"""Settings of a cluster that all its clients share (Java: ``MirrorClientConfig.CLIENT_CONFIG_DEF``)."""

# Options of the connectors, and the framework's overrides, which begin like settings of clients.
_NOT_FOR_CLIENTS = ("consumer.poll.timeout.ms", "admin.timeout.ms")
_OVERRIDE = "override."

_DEFAULTS: Mapping[ClientKind, Mapping[str, str]] = {ClientKind.CONSUMER: {"auto.offset.reset": "earliest"}}
_FORCED: Mapping[ClientKind, Mapping[str, str]] = {ClientKind.CONSUMER: {"enable.auto.commit": "false"}}
_NONE: Mapping[str, str] = {}


NO_GROUP: Mapping[str, object] = {"group.id": "connect-dagster-mirror"}
"""librdkafka's setting for consumers without a group, which it asks for all the same: nothing joins it or commits."""


class Side(Enum):
    """The clusters of a flow."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Role:
    """The purpose of one client of a connector or task.

    Attributes:
        name: last part of ``client.id``.
        side: the cluster that it connects to.
        kind: the client that it is.
    """

    name: str
    side: Side
    kind: ClientKind


REPLICATION_CONSUMER = Role("replication-consumer", Side.SOURCE, ClientKind.CONSUMER)
REPLICATION_SOURCE_ADMIN = Role("replication-source-admin", Side.SOURCE, ClientKind.ADMIN)
REPLICATION_TARGET_ADMIN = Role("replication-target-admin", Side.TARGET, ClientKind.ADMIN)
CHECKPOINT_SOURCE_ADMIN = Role("checkpoint-source-admin", Side.SOURCE, ClientKind.ADMIN)
CHECKPOINT_TARGET_ADMIN = Role("checkpoint-target-admin", Side.TARGET, ClientKind.ADMIN)
CHECKPOINTS_CONSUMER = Role("checkpoints-target-consumer", Side.TARGET, ClientKind.CONSUMER)
HEARTBEATS_ADMIN = Role("heartbeats-target-admin", Side.TARGET, ClientKind.ADMIN)


@dataclass(frozen=True, slots=True)
class OffsetSyncsTopic:
    """The topic with pairs of source and target offsets, which is in either cluster of a flow (KIP-716)."""

    flow: Flow
    side: Side

    @property
    def alias(self) -> str:
        """Return the alias in the topic's name: that of the cluster where the topic is not."""
        return self.flow.target if self.side is Side.SOURCE else self.flow.source

    def role(self, kind: ClientKind) -> Role:
        """Return the role of a client that reads, writes or creates the topic."""
        return Role(f"offset-syncs-{self.side.value}-{kind.value}", self.side, kind)


def entity_label(flow: Flow, connector: str) -> str:
    """Return the name of a connector in client ids and logs (Java: ``entityLabel``)."""
    return f"{flow}|{connector}"


def task_label(flow: Flow, connector: str, index: int | None) -> str:
    """Return the name of a task in client ids and logs; Java shows ? for a task without a number."""
    return f"{entity_label(flow, connector)}-{'?' if index is None else index}"


def client_settings(config: Mapping[str, str], role: Role, label: str) -> dict[str, str]:
    """Return the settings of one client, in Java's names.

    Args:
        config: configuration of the connector or task.
        role: the client.
        label: as of :func:`entity_label` or :func:`task_label`.
    """
    settings = {**_DEFAULTS.get(role.kind, _NONE), **_given(config, role), **_FORCED.get(role.kind, _NONE)}
    given_id = [settings["client.id"]] if "client.id" in settings else []
    return {**settings, "client.id": "|".join([*given_id, label, role.name])}


def reads_committed(config: Mapping[str, str]) -> bool:
    """Return whether the consumer of the source reads committed records only, which exactly-once needs (KIP-618)."""
    return _given(config, REPLICATION_CONSUMER).get("isolation.level") == "read_committed"


def _given(config: Mapping[str, str], role: Role) -> dict[str, str]:
    side, kind = role.side.value, role.kind.value
    cluster = under_prefix(config, f"{side}.cluster.")
    shared = {name: value for name, value in config.items() if name not in _NOT_FOR_CLIENTS}
    settings = {
        **{name: value for name, value in cluster.items() if name in CLUSTER_KEYS},
        **under_prefix(shared, f"{kind}."),
        **under_prefix(config, f"{side}.{kind}."),
    }
    return {name: value for name, value in settings.items() if not name.startswith(_OVERRIDE)}
