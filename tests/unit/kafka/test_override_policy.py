"""Which settings of clients connectors may override."""

import logging

import pytest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka import clients as kafka_clients
from connect_dagster.kafka.override_policy import ALLOWLIST, POLICY, ClientPolicy
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.task_clients import TaskClients

PACKAGE = "org.apache.kafka.connect.connector.policy."
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}


@pytest.mark.parametrize(
    ("props", "allowed", "refused"),
    [
        ({}, ["acks", "sasl.mechanism"], []),
        ({POLICY: "None"}, [], ["acks", "sasl.mechanism"]),
        ({POLICY: "Principal"}, ["sasl.mechanism", "sasl.jaas.config", "security.protocol"], ["acks", "ssl.provider"]),
        ({POLICY: "Allowlist"}, [], ["acks"]),
        ({POLICY: "Allowlist", ALLOWLIST: "acks, linger.ms,acks"}, ["acks", "linger.ms"], ["retries"]),
        ({POLICY: f"{PACKAGE}NoneConnectorClientConfigOverridePolicy"}, [], ["acks"]),
        ({POLICY: "AllConnectorClientConfigOverridePolicy"}, ["acks"], []),
    ],
)
def test_policies(props: dict[str, str], allowed: list[str], refused: list[str]) -> None:
    policy = ClientPolicy.of(props)
    assert [name for name in (*allowed, *refused) if policy.refusal(name) is not None] == refused


def test_a_policy_of_ones_own_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value com\.acme\.Mine for configuration connector\.client\.config"):
        ClientPolicy.of({POLICY: "com.acme.Mine"})


def connector(overrides: dict[str, str]) -> ConnectorConfig:
    return ConnectorConfig.parse({"name": "c", "connector.class": "C", **overrides})


def test_s4_12_an_override_that_is_not_allowed_does_not_start() -> None:
    clients = TaskClients(StandaloneConfig.parse(WORKER), ClientPolicy("None", frozenset()))
    with pytest.raises(ConnectError) as caught:
        clients.producer(TaskId("c", 0), connector({"producer.override.acks": "1", "consumer.override.group.id": "g"}))
    text = "The 'None' policy does not allow 'acks' to be overridden in the connector configuration."
    assert str(caught.value) == f"Client Config Overrides not allowed [Config(acks, 1, [], [{text}], true)]"


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("producer", "sasl.jaas.config"),
        ("consumer", "ssl.keystore.password"),
        ("producer", "ssl.keystore.key"),
        ("consumer", "interceptor.of.ours.secret"),
    ],
)
def test_r16_an_override_that_is_not_allowed_keeps_its_secret(client: str, name: str) -> None:
    """At ce718d3 the error, and so the task's trace, had the value of the override."""
    clients = TaskClients(StandaloneConfig.parse(WORKER), ClientPolicy("None", frozenset()))
    config = connector({f"{client}.override.{name}": "canary"})
    with pytest.raises(ConnectError) as caught:
        getattr(clients, client)(TaskId("c", 0), config)
    assert "canary" not in str(caught.value)
    assert f"Config({name}, [hidden], [], [" in str(caught.value)


def test_what_a_task_is_told() -> None:
    props = {"producer.acks": "1", "admin.retries": "2", "consumer.group.id": "x", "ssl.protocol": "TLSv1.2"}
    clients = TaskClients(StandaloneConfig.parse(WORKER | props), ClientPolicy())
    config = connector({"producer.override.acks": "0", "consumer.override.group.id": "mine"})
    assert clients.producer(TaskId("c", 0), config)["acks"] == "0"
    assert clients.producer(TaskId("c", 0), connector({}))["acks"] == "1"
    assert clients.consumer(TaskId("c", 1), config)["group.id"] == "mine"
    assert clients.consumer(TaskId("c", 1), config)["client.id"] == "connector-consumer-c-1"
    assert clients.admin("me", config) == {
        "bootstrap.servers": "localhost:9092",
        "client.id": "me",
        "ssl.protocol": "TLSv1.2",
        "retries": "2",
    }


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (ClientPolicy(), "This will allow all client configurations to be overridden"),
        (ClientPolicy("None", frozenset()), "This will disallow any client configuration to be overridden"),
        (ClientPolicy("Allowlist", frozenset({"b", "a"})), "client configurations to be overridden. [a, b]"),
        (ClientPolicy("Principal", frozenset()), "Principal ConnectorClientConfigOverridePolicy is deprecated"),
    ],
)
def test_what_the_log_says(policy: ClientPolicy, said: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        policy.announce()
    assert said in caplog.text


def test_tasks_with_the_same_access_share_a_client_for_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_clients, "admin", lambda *_: None)
    clients = TaskClients(StandaloneConfig.parse(WORKER), ClientPolicy())
    own = {"bootstrap.servers": "b:1", "security.protocol": "SSL"}
    first = clients.topic_admin({**own, "client.id": "c-0", "group.id": "connect-c", "auto.offset.reset": "none"})
    assert clients.topic_admin({**own, "client.id": "d-1", "group.id": "connect-d"}) is first
    assert clients.topic_admin({**own, "bootstrap.servers": "b:2"}) is not first
    assert first._settings.items() >= own.items()
    assert not first._settings.keys() & {"group.id", "auto.offset.reset"}
