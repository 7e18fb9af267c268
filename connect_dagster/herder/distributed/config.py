"""Configuration of a worker of a group (Java: ``DistributedConfig``)."""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import model_validator

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.topic_admin import BROKER_DEFAULT
from connect_dagster.plugin.config import (
    FindClass,
    Importance,
    Type,
    at_least,
    config_key,
    one_of,
    one_of_ignoring_case,
    parse_value,
    under_prefix,
)
from connect_dagster.plugin.config.table import Properties
from connect_dagster.protocol.signature import HMACS
from connect_dagster.worker.config.worker import WorkerConfig

# Settings of the three topics beyond those below.
_PASSED_ON = ("config.storage.", "offset.storage.", "status.storage.")
# Numeric settings of the worker's own Kafka clients, each with its minimum.
_CLIENT_SETTINGS: dict[str, tuple[Type, float]] = {
    "send.buffer.bytes": (Type.INT, -1),
    "receive.buffer.bytes": (Type.INT, -1),
    "reconnect.backoff.ms": (Type.LONG, 0),
    "reconnect.backoff.max.ms": (Type.LONG, 0),
    "retry.backoff.ms": (Type.LONG, 0),
    "retry.backoff.max.ms": (Type.LONG, 0),
    "socket.connection.setup.timeout.ms": (Type.LONG, 0),
    "socket.connection.setup.timeout.max.ms": (Type.LONG, 0),
    "connections.max.idle.ms": (Type.LONG, -math.inf),
    "metadata.max.age.ms": (Type.LONG, 0),
}
_LEAST_KEY_BITS = 40


def _replication_factor(name: str, value: Any) -> None:
    _count(
        name,
        value,
        "Replication factor must be positive and not larger than the number of brokers in the Kafka "
        "cluster, or -1 to use the broker's default",
    )


def _partitions(name: str, value: Any) -> None:
    _count(name, value, "Number of partitions must be positive, or -1 to use the broker's default")


def _count(name: str, value: Any, reason: str) -> None:
    if value != BROKER_DEFAULT and value < 1:
        raise ConfigError.invalid(name, value, reason)


def _key_bits(name: str, value: Any) -> None:
    if value is not None and value < _LEAST_KEY_BITS:
        raise ConfigError.invalid(name, value, f"Key length must be at least {_LEAST_KEY_BITS} bits")


def _hmac(name: str, value: Any) -> None:
    if value not in HMACS:
        raise ConfigError.invalid(name, value, f"the algorithm must be one of {', '.join(HMACS)}")


def _hmacs(name: str, value: Any) -> None:
    if not value:
        raise ConfigError.invalid(name, value, f"name at least one algorithm of {', '.join(HMACS)}")
    for one in value:
        _hmac(name, one)


class DistributedConfig(WorkerConfig):
    """A worker that shares its work with others of one group."""

    group_id: str = config_key(
        "group.id",
        importance=Importance.HIGH,
        doc="Name of the group of workers, different from the names of consumer groups.",
    )
    client_id: str = config_key(
        "client.id",
        default="",
        importance=Importance.LOW,
        doc="Name of this worker's clients in the brokers' logs; empty for connect-<worker id>.",
    )
    session_timeout_ms: int = config_key(
        "session.timeout.ms",
        default=10_000,
        importance=Importance.HIGH,
        doc="Time without a heartbeat after which the brokers remove a worker from the group.",
    )
    heartbeat_interval_ms: int = config_key(
        "heartbeat.interval.ms",
        default=3_000,
        importance=Importance.HIGH,
        doc="Time between heartbeats to the brokers; lower than session.timeout.ms, typically at most a third of it.",
    )
    rebalance_timeout_ms: int = config_key(
        "rebalance.timeout.ms",
        default=60_000,
        importance=Importance.HIGH,
        doc="Longest time for each worker to join the group once a rebalance has begun.",
    )
    request_timeout_ms: int = config_key(
        "request.timeout.ms",
        default=40_000,
        validator=at_least(0),
        doc="Longest wait for the response to a request.",
    )
    worker_sync_timeout_ms: int = config_key(
        "worker.sync.timeout.ms",
        default=3_000,
        doc="Longest time for a worker to read the config topic up to the leader's offset.",
    )
    worker_unsync_backoff_ms: int = config_key(
        "worker.unsync.backoff.ms",
        default=300_000,
        doc="With the eager protocol: how long a worker that could not catch up stays out of the group.",
    )
    config_storage_topic: str = config_key(
        "config.storage.topic",
        importance=Importance.HIGH,
        doc="Topic with the connectors' configurations; one partition, compacted.",
    )
    config_storage_replication_factor: int = config_key(
        "config.storage.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        validator=_replication_factor,
        doc="Replicas of the configuration topic when the worker creates it; -1 for the brokers' default.",
    )
    offset_storage_topic: str = config_key(
        "offset.storage.topic",
        importance=Importance.HIGH,
        doc="Topic with the offsets of source connectors; compacted.",
    )
    offset_storage_partitions: int = config_key(
        "offset.storage.partitions",
        default=25,
        importance=Importance.LOW,
        validator=_partitions,
        doc="Partitions of the offset topic when the worker creates it; -1 for the brokers' default.",
    )
    offset_storage_replication_factor: int = config_key(
        "offset.storage.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        validator=_replication_factor,
        doc="Replicas of the offset topic when the worker creates it; -1 for the brokers' default.",
    )
    status_storage_topic: str = config_key(
        "status.storage.topic",
        importance=Importance.HIGH,
        doc="Topic with the states of connectors and tasks; compacted.",
    )
    status_storage_partitions: int = config_key(
        "status.storage.partitions",
        default=5,
        importance=Importance.LOW,
        validator=_partitions,
        doc="Partitions of the status topic when the worker creates it; -1 for the brokers' default.",
    )
    status_storage_replication_factor: int = config_key(
        "status.storage.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        validator=_replication_factor,
        doc="Replicas of the status topic when the worker creates it; -1 for the brokers' default.",
    )
    connect_protocol: str = config_key(
        "connect.protocol",
        default="sessioned",
        importance=Importance.LOW,
        validator=one_of_ignoring_case("eager", "compatible", "sessioned"),
        doc="How the group shares its work: eager, compatible (incremental), or sessioned (incremental, signed).",
    )
    scheduled_rebalance_max_delay_ms: int = config_key(
        "scheduled.rebalance.max.delay.ms",
        default=300_000,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="Delay before the work of a worker that left is assigned to others, so that it can return.",
    )
    inter_worker_key_ttl_ms: int = config_key(
        "inter.worker.key.ttl.ms",
        default=3_600_000,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="Lifetime of the key that signs requests between workers.",
    )
    inter_worker_key_generation_algorithm: str = config_key(
        "inter.worker.key.generation.algorithm",
        default="HmacSHA256",
        importance=Importance.LOW,
        validator=_hmac,
        doc="Algorithm for which these keys are generated.",
    )
    inter_worker_key_size: int | None = config_key(
        "inter.worker.key.size",
        default=None,
        importance=Importance.LOW,
        validator=_key_bits,
        doc="Size of these keys in bits; by default the algorithm's.",
    )
    inter_worker_signature_algorithm: str = config_key(
        "inter.worker.signature.algorithm",
        default="HmacSHA256",
        importance=Importance.LOW,
        validator=_hmac,
        doc="Algorithm with which this worker signs requests to others.",
    )
    inter_worker_verification_algorithms: tuple[str, ...] = config_key(
        "inter.worker.verification.algorithms",
        default=("HmacSHA256",),
        importance=Importance.LOW,
        validator=_hmacs,
        doc="Algorithms that this worker accepts from others; inter.worker.signature.algorithm must be among them.",
    )
    exactly_once_source_support: str = config_key(
        "exactly.once.source.support",
        default="disabled",
        importance=Importance.HIGH,
        validator=one_of_ignoring_case("disabled", "enabled", "preparing"),
        doc="Whether source connectors write their records and offsets in one transaction. To change it in a running "
        "group, restart each worker with preparing, in which the leader alone writes in transactions, then each with "
        "the new value.",
    )
    missing_plugins: str = config_key(
        "missing.plugins",
        default="refuse",
        importance=Importance.LOW,
        validator=one_of("refuse", "join"),
        doc="Action at the start when connectors of the group use plugins that this worker lacks: refuse to join, "
        "or join, with which such connectors fail on this worker.",
    )

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        config = super().parse(props, find_class)
        for name, (kind, least) in _CLIENT_SETTINGS.items():
            if name in props:
                at_least(least)(name, parse_value(name, props[name], kind))
        return config

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            reason = f"Value must be lower than session.timeout.ms, which is {self.session_timeout_ms}"
            raise ConfigError.invalid("heartbeat.interval.ms", self.heartbeat_interval_ms, reason)
        if self.inter_worker_signature_algorithm not in self.inter_worker_verification_algorithms:
            reason = "Signature algorithm must be present in inter.worker.verification.algorithms list"
            raise ConfigError.invalid("inter.worker.signature.algorithm", self.inter_worker_signature_algorithm, reason)
        return self

    @property
    def leader_fencing_id(self) -> str | None:
        """Return the transactional id of the group's leaders; ``None`` where they write without transactions.

        Java: ``DistributedConfig.transactionalProducerId``.
        """
        is_plain = self.exactly_once_source_support.lower() == "disabled"
        return None if is_plain else f"connect-cluster-{self.group_id}"

    @property
    def has_exactly_once_sources(self) -> bool:
        return self.exactly_once_source_support.lower() == "enabled"

    @property
    def transactional_id_prefix(self) -> str:
        """Return the begin of the transactional ids of source tasks (Java: ``Worker.taskTransactionalId``).

        Not of this worker's alone: in a rolling change a leader with ``preparing`` fences those of others.
        """
        return f"{self.group_id}-"

    def topic_settings(self, prefix: str) -> dict[str, str]:
        """Return the settings beyond the worker's own for one of the three topics, such as ``config.storage.``."""
        own = {key.name for key in self.table()}
        return under_prefix({name: value for name, value in self.originals.items() if name not in own}, prefix)

    def _unused(self) -> list[str]:
        return [name for name in super()._unused() if not name.startswith(_PASSED_ON) and name not in _CLIENT_SETTINGS]
