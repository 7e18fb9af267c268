"""Configuration of a client of one cluster."""

from __future__ import annotations

import pytest

from connect_dagster.connectors.mirror.mirror_client_config import MirrorClientConfig
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings.java_settings import ClientKind

KEYS = [
    "bootstrap.servers",
    "replication.policy.class",
    "replication.policy.separator",
    "replication.policy.internal.topic.separator.enabled",
    "forwarding.admin.class",
]


def test_options_in_javas_order() -> None:
    names = [key.name for key in MirrorClientConfig.table()]
    assert names[: len(KEYS) + 1] == [*KEYS, "security.protocol"]
    config = MirrorClientConfig.parse({"bootstrap.servers": "a:1, a:2", "replication.policy.separator": "_"})
    assert (config.bootstrap_servers, config.replication_policy_separator) == (("a:1", "a:2"), "_")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, 'Missing required configuration "bootstrap.servers" which has no default value.'),
        (
            {"bootstrap.servers": ""},
            "Configuration 'bootstrap.servers' must not be empty. Valid values include: any non-empty value",
        ),
    ],
)
def test_brokers_are_needed(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        MirrorClientConfig.parse(given)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ClientKind.CONSUMER, {"bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.protocol": "TLS"}),
        (ClientKind.ADMIN, {"bootstrap.servers": "a:2", "security.protocol": "SSL"}),
        (ClientKind.PRODUCER, {"bootstrap.servers": "a:1", "security.protocol": "SSL"}),
    ],
)
def test_settings_of_clients(kind: ClientKind, expected: dict[str, str]) -> None:
    given = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SSL",
        "request.timeout.ms": "1",
        "consumer.ssl.protocol": "TLS",
        "consumer.client.id": "c",
        "admin.bootstrap.servers": "a:2",
    }
    assert MirrorClientConfig.parse(given).client_settings(kind) == expected
