"""Client settings: Java's names, Kafka Connect's defaults, prefixes that keep to themselves."""

import logging
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.plugin.errors import ConfigError
from connect_dagster.worker import clients
from connect_dagster.worker.config import StandaloneConfig

BOOTSTRAP = "localhost:9092"
WORKER = {
    "bootstrap.servers": BOOTSTRAP,
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
    "security.protocol": "PLAINTEXT",
    "producer.compression.type": "gzip",
    "consumer.max.poll.records": "1",
    "admin.request.timeout.ms": "5000",
}


def test_s1_14_prefixes_do_not_leak() -> None:
    config = StandaloneConfig.parse(WORKER)
    producer = clients.producer_settings(BOOTSTRAP, "p", config.client_overrides("producer."))
    consumer = clients.consumer_settings(BOOTSTRAP, "c", "connect-x", config.client_overrides("consumer."))
    admin = clients.admin_settings(BOOTSTRAP, "a", {**config.client_settings, **config.client_overrides("admin.")})
    assert set(producer) - set(clients.producer_settings(BOOTSTRAP, "p", {})) == {"compression.type"}
    assert set(consumer) - set(clients.consumer_settings(BOOTSTRAP, "c", "connect-x", {})) == {"max.poll.records"}
    assert admin == {
        "bootstrap.servers": BOOTSTRAP,
        "client.id": "a",
        "security.protocol": "PLAINTEXT",
        "socket.timeout.ms": "5000",
    }


def test_a_producer_waits_for_ever_and_keeps_the_order() -> None:
    settings = clients.to_librdkafka(clients.producer_settings(BOOTSTRAP, "connector-producer-c-0", {}))
    assert settings == {
        "bootstrap.servers": BOOTSTRAP,
        "client.id": "connector-producer-c-0",
        "acks": "all",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": "0",
        "queue.buffering.max.kbytes": "65536",
        "message.max.bytes": "1048576",
    }


def test_a_users_settings_go_before() -> None:
    settings = clients.producer_settings(BOOTSTRAP, "p", {"acks": "1", "client.id": "mine"})
    assert (settings["acks"], settings["client.id"]) == ("1", "mine")


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ({"delivery.timeout.ms": "120000"}, {"delivery.timeout.ms": "120000"}),
        ({"delivery.timeout.ms": "2147483647"}, {"delivery.timeout.ms": "0"}),
        ({"buffer.memory": "1048576"}, {"queue.buffering.max.kbytes": "1024"}),
        ({"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": "0"}),
        ({"fetch.max.wait.ms": "10"}, {"fetch.wait.max.ms": "10"}),
        ({"metadata.max.age.ms": "500"}, {"topic.metadata.refresh.interval.ms": "500"}),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        ({"key.serializer": "x", "max.poll.records": "1"}, {}),
        ({"linger.ms": "5"}, {"linger.ms": "5"}),
    ],
)
def test_javas_names_and_values(java: dict[str, str], librdkafka: dict[str, str]) -> None:
    assert clients.to_librdkafka(java) == librdkafka


def test_a_setting_that_nobody_knows_is_named(caplog: pytest.LogCaptureFixture) -> None:
    settings = clients.producer_settings(BOOTSTRAP, "p", {"no.such.setting": "1", "nor.this": "2"})
    with caplog.at_level(logging.WARNING, logger="connect_dagster.worker.clients"):
        assert isinstance(clients.build(lambda config: Producer(config), settings, {}), Producer)
    assert caplog.messages == [
        "These configurations were supplied but are not used: [no.such.setting]",
        "These configurations were supplied but are not used: [nor.this]",
    ]


def test_a_value_that_the_client_refuses() -> None:
    settings = clients.producer_settings(BOOTSTRAP, "p", {"compression.type": "zip"})
    with pytest.raises(ConfigError, match=r'^Invalid value "zip" for configuration property "compression\.codec"$'):
        clients.build(lambda config: Producer(config), settings, {})


def test_clients_log_through_python() -> None:
    seen: list[dict[str, Any]] = []

    def make(config: dict[str, Any]) -> AdminClient:
        seen.append(dict(config))
        return AdminClient(config)

    clients.build(make, clients.admin_settings(BOOTSTRAP, "a", {}), {})
    assert isinstance(seen[0]["logger"], logging.Logger)


def test_sparks_kafka_source_takes_what_it_does_not_own() -> None:
    settings = clients.consumer_settings(BOOTSTRAP, "c", "g", {"fetch.min.bytes": "5"})
    assert clients.spark_options(settings) == {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "kafka.fetch.min.bytes": "5",
    }
