"""Settings of the clients of a flow: which of several counts, what is forced, and the client ids."""

from __future__ import annotations

import pytest

from connect_dagster.connectors.mirror.client_settings import (
    CHECKPOINT_SOURCE_ADMIN,
    CHECKPOINT_TARGET_ADMIN,
    CHECKPOINTS_CONSUMER,
    HEARTBEATS_ADMIN,
    REPLICATION_CONSUMER,
    REPLICATION_SOURCE_ADMIN,
    REPLICATION_TARGET_ADMIN,
    OffsetSyncsTopic,
    Role,
    Side,
    client_settings,
    entity_label,
    reads_committed,
    task_label,
)
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.kafka.settings.java_settings import ClientKind

FLOW = Flow("A", "B")
SOURCE_SYNCS, TARGET_SYNCS = OffsetSyncsTopic(FLOW, Side.SOURCE), OffsetSyncsTopic(FLOW, Side.TARGET)
SYNCS_PRODUCER = SOURCE_SYNCS.role(ClientKind.PRODUCER)
CONSUMES = {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}


def settings(role: Role, config: dict[str, str]) -> dict[str, str]:
    found = client_settings(config, role, "L")
    assert found.pop("client.id") == f"L|{role.name}"
    return found


@pytest.mark.parametrize(
    ("role", "config", "expected"),
    [
        (REPLICATION_CONSUMER, {}, CONSUMES),
        (REPLICATION_SOURCE_ADMIN, {}, {}),
        (SYNCS_PRODUCER, {}, {}),
        # Of a cluster only its access counts.
        (
            REPLICATION_SOURCE_ADMIN,
            {
                "source.cluster.bootstrap.servers": "a:1",
                "source.cluster.security.protocol": "SSL",
                "source.cluster.ssl.keystore.location": "k",
                "source.cluster.sasl.mechanism": "PLAIN",
                "source.cluster.security.providers": "p",
                "source.cluster.alias": "A",
                "source.cluster.request.timeout.ms": "5",
                "source.cluster.client.id": "x",
                "target.cluster.bootstrap.servers": "b:1",
                "bootstrap.servers": "c:1",
            },
            {
                "bootstrap.servers": "a:1",
                "security.protocol": "SSL",
                "ssl.keystore.location": "k",
                "sasl.mechanism": "PLAIN",
            },
        ),
        # The later wins: cluster, kind, side and kind.
        (
            REPLICATION_CONSUMER,
            {
                "source.consumer.bootstrap.servers": "3",
                "source.consumer.fetch.min.bytes": "3",
                "consumer.bootstrap.servers": "2",
                "consumer.fetch.min.bytes": "2",
                "consumer.max.poll.records": "2",
                "source.cluster.bootstrap.servers": "1",
                "target.consumer.max.poll.records": "9",
                "producer.acks": "9",
            },
            {**CONSUMES, "bootstrap.servers": "3", "fetch.min.bytes": "3", "max.poll.records": "2"},
        ),
        (
            TARGET_SYNCS.role(ClientKind.PRODUCER),
            {
                "target.cluster.bootstrap.servers": "b:1",
                "producer.acks": "1",
                "producer.linger.ms": "1",
                "target.producer.acks": "all",
                "source.producer.acks": "0",
            },
            {"bootstrap.servers": "b:1", "acks": "all", "linger.ms": "1"},
        ),
        # A consumer commits nothing, whatever is given; where it begins may be chosen.
        (
            CHECKPOINTS_CONSUMER,
            {"target.consumer.enable.auto.commit": "true", "consumer.auto.offset.reset": "latest"},
            {"enable.auto.commit": "false", "auto.offset.reset": "latest"},
        ),
        # Options of the connector and of the framework that begin like settings of clients.
        (REPLICATION_CONSUMER, {"consumer.poll.timeout.ms": "7", "consumer.override.group.id": "g"}, CONSUMES),
        (REPLICATION_TARGET_ADMIN, {"admin.timeout.ms": "7", "admin.override.retries": "1"}, {}),
        (SYNCS_PRODUCER, {"producer.override.acks": "0"}, {}),
        # A prefix alone is the name of nothing.
        (SYNCS_PRODUCER, {"producer.": "x", "source.producer.": "x", "source.cluster.": "x"}, {}),
    ],
)
def test_settings(role: Role, config: dict[str, str], expected: dict[str, str]) -> None:
    assert settings(role, config) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "A->B|mm|replication-consumer"),
        ({"consumer.client.id": "own"}, "own|A->B|mm|replication-consumer"),
        (
            {"consumer.client.id": "own", "source.consumer.client.id": "nearer"},
            "nearer|A->B|mm|replication-consumer",
        ),
        ({"consumer.client.id": ""}, "|A->B|mm|replication-consumer"),
    ],
)
def test_client_ids(config: dict[str, str], expected: str) -> None:
    assert client_settings(config, REPLICATION_CONSUMER, entity_label(FLOW, "mm"))["client.id"] == expected


def test_labels() -> None:
    assert entity_label(FLOW, "mm") == "A->B|mm"
    assert [task_label(FLOW, "mm", index) for index in (0, None)] == ["A->B|mm-0", "A->B|mm-?"]


@pytest.mark.parametrize(
    ("role", "name", "side", "kind"),
    [
        (REPLICATION_CONSUMER, "replication-consumer", "source", "consumer"),
        (REPLICATION_SOURCE_ADMIN, "replication-source-admin", "source", "admin"),
        (REPLICATION_TARGET_ADMIN, "replication-target-admin", "target", "admin"),
        (CHECKPOINT_SOURCE_ADMIN, "checkpoint-source-admin", "source", "admin"),
        (CHECKPOINT_TARGET_ADMIN, "checkpoint-target-admin", "target", "admin"),
        (CHECKPOINTS_CONSUMER, "checkpoints-target-consumer", "target", "consumer"),
        (HEARTBEATS_ADMIN, "heartbeats-target-admin", "target", "admin"),
        (SYNCS_PRODUCER, "offset-syncs-source-producer", "source", "producer"),
        (TARGET_SYNCS.role(ClientKind.PRODUCER), "offset-syncs-target-producer", "target", "producer"),
        (SOURCE_SYNCS.role(ClientKind.ADMIN), "offset-syncs-source-admin", "source", "admin"),
        (TARGET_SYNCS.role(ClientKind.ADMIN), "offset-syncs-target-admin", "target", "admin"),
        (SOURCE_SYNCS.role(ClientKind.CONSUMER), "offset-syncs-source-consumer", "source", "consumer"),
        (TARGET_SYNCS.role(ClientKind.CONSUMER), "offset-syncs-target-consumer", "target", "consumer"),
    ],
)
def test_roles(role: Role, name: str, side: str, kind: str) -> None:
    assert (role.name, role.side.value, role.kind.value) == (name, side, kind)


def test_the_topic_is_named_for_the_other_cluster() -> None:
    assert (SOURCE_SYNCS.alias, TARGET_SYNCS.alias) == ("B", "A")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, False),
        ({"consumer.isolation.level": "read_committed"}, True),
        ({"source.consumer.isolation.level": "read_committed"}, True),
        ({"source.cluster.isolation.level": "read_committed"}, False),
        ({"target.consumer.isolation.level": "read_committed"}, False),
        ({"consumer.isolation.level": "READ_COMMITTED"}, False),
    ],
)
def test_reading_of_committed_records(config: dict[str, str], expected: bool) -> None:
    assert reads_committed(config) is expected
