"""Settings of a worker's clients: Kafka Connect's defaults, prefixes that keep to themselves, what clients say."""

import logging

import pytest
from confluent_kafka import KafkaError, Producer

from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.worker.config.worker import StandaloneConfig

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
        "request.timeout.ms": "5000",
    }


def test_a_users_settings_go_before() -> None:
    settings = clients.producer_settings(BOOTSTRAP, "p", {"acks": "1", "client.id": "mine"})
    assert (settings["acks"], settings["client.id"]) == ("1", "mine")


def test_members_of_the_newer_protocol_are_told_no_assignor() -> None:
    settings = clients.consumer_settings(BOOTSTRAP, "c", "g", {"group.protocol": "CONSUMER"})
    assert "partition.assignment.strategy" not in settings
    clients.consumer(settings).close()


def test_settings_that_nobody_knows_are_named_as_java_does(caplog: pytest.LogCaptureFixture) -> None:
    settings = clients.producer_settings(BOOTSTRAP, "p", {"no.such.setting": "1", "nor.this": "2"})
    with caplog.at_level(logging.WARNING, logger="connect_dagster.kafka.clients"):
        assert isinstance(clients.producer(settings), Producer)
    told = "These configurations '[no.such.setting, nor.this]' were supplied but are not used yet."
    assert caplog.messages == [told]


def test_a_setting_of_librdkafka_itself_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    clients.producer(clients.producer_settings(BOOTSTRAP, "p", {"sticky.partitioning.linger.ms": "20"}))
    assert not caplog.messages


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("compression.type", "zip", 'Invalid value "zip" for configuration property "compression.codec"'),
        ("linger.ms", "x", "Invalid value x for configuration linger.ms: Not a number of type LONG"),
        ("security.protocol", "SASL", "Invalid value SASL for configuration security.protocol: String must be one of"),
    ],
)
def test_a_value_that_is_refused_names_the_client(name: str, value: str, text: str) -> None:
    settings = clients.producer_settings(BOOTSTRAP, "connector-producer-c-0", {name: value})
    with pytest.raises(ConfigError) as caught:
        clients.producer(settings)
    assert str(caught.value).startswith(f"Failed to construct kafka producer connector-producer-c-0: {text}")


@pytest.mark.parametrize(
    ("code", "text", "final"),
    [
        (KafkaError._AUTHENTICATION, "Authentication failed: Invalid username or password", True),
        (KafkaError._AUTHENTICATION, "PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism", True),
        (KafkaError._AUTHENTICATION, "PLAIN mechanism handshake failed: Local: Broker transport failure", False),
        (
            KafkaError._AUTHENTICATION,
            "PLAIN mechanism handshake failed: Broker: Request not valid in current SASL state",
            False,
        ),
        (KafkaError._SSL, "SSL handshake failed: certificate verify failed", True),
        (KafkaError._SSL, "SSL handshake failed: Disconnected", False),
        (KafkaError._TRANSPORT, "Connection refused", False),
    ],
)
def test_what_brokers_refuse_for_good(code: int, text: str, final: bool) -> None:
    error = clients.refusal("connector-consumer-c-0", KafkaError(code, text))
    assert (str(error) if error else None) == (
        f"The brokers refuse client connector-consumer-c-0: {text}" if final else None
    )


def test_sparks_kafka_source_takes_what_it_does_not_own() -> None:
    given = {"fetch.min.bytes": "5", "sasl.jaas.config": "m required;", "ssl.truststore.location": "/t.jks"}
    assert clients.spark_options(clients.consumer_settings(BOOTSTRAP, "c", "g", given)) == {
        "kafka.bootstrap.servers": BOOTSTRAP,
        "kafka.allow.auto.create.topics": "true",
        **{f"kafka.{name}": value for name, value in given.items()},
    }
