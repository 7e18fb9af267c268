"""Every kind of client with Kerberos, on a broker that takes no other login."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.groups import fetch_group_offsets
from connect_dagster.kafka.transactional_producer import TransactionalProducer
from tests.integration import topics
from tests.integration.kafka.both_libraries import assert_both_libraries_log_in
from tests.kerberos_realm import KerberosRealm, kerberos_realm
from tests.key_tool import PASSWORD, make_key, trust

pytestmark = pytest.mark.timeout(300)

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class TicketBroker:
    """A broker whose two listeners take tickets, one of them over TLS.

    Attributes:
        realm: gives the tickets.
        broker: with a plain listener besides.
        store: with the broker's certificate.
    """

    realm: KerberosRealm
    broker: EmbeddedBroker
    store: Path

    def login(self, name: str = "connect", **options: str) -> dict[str, str]:
        return self.realm.login(name, **options) | {"bootstrap.servers": self.servers}

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers_of("TICKETS")

    def safe(self) -> dict[str, str]:
        return self.login() | {
            "bootstrap.servers": self.broker.bootstrap_servers_of("SAFE"),
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": str(self.store),
            "ssl.truststore.password": PASSWORD,
        }


@contextmanager
def ticket_broker(folder: Path) -> Iterator[TicketBroker]:
    folder.mkdir(parents=True, exist_ok=True)
    make_key(folder, "broker")
    trust(folder, "broker", "trust.p12", "PKCS12")
    with kerberos_realm(folder / "realm") as realm:
        settings = {
            **realm.broker_settings("TICKETS"),
            **realm.broker_settings("SAFE"),
            "listener.name.safe.ssl.keystore.location": str(folder / "broker.jks"),
            "listener.name.safe.ssl.keystore.password": PASSWORD,
            # Connections log in again after four seconds at the latest (KIP-368).
            "connections.max.reauth.ms": "4000",
        }
        listeners, options = {"TICKETS": "SASL_PLAINTEXT", "SAFE": "SASL_SSL"}, (*FAST_START, *realm.jvm_options)
        with EmbeddedBroker(
            folder / "broker", 0, heap="512m", settings=settings, listeners=listeners, jvm=options
        ) as broker:
            yield TicketBroker(realm, broker, folder / "trust.p12")


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TicketBroker]:
    with ticket_broker(tmp_path_factory.mktemp("tickets")) as made:
        yield made


@pytest.fixture(autouse=True)
def _realms(tickets: TicketBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_OPTS", tickets.realm.jvm_options[0])
    monkeypatch.setenv("KRB5_CONFIG", "")


@pytest.mark.parametrize("listener", ["login", "safe"])
def test_both_libraries_log_in(tickets: TicketBroker, listener: str, topic_prefix: str) -> None:
    """librdkafka's producer, consumer and admin client, and kafka-python's, which asks for offsets of groups."""
    assert_both_libraries_log_in(getattr(tickets, listener)(), topic_prefix, SECONDS)


@pytest.mark.nightly
def test_columns_are_sent_in_transactions(tickets: TicketBroker, topic_prefix: str) -> None:
    settings, id, topic = tickets.safe(), f"{topic_prefix}id", f"{topic_prefix}t"
    made = clients.producer_settings(settings["bootstrap.servers"], id, settings)
    producer = TransactionalProducer(clients.transactional_settings(made, id), lambda: False)
    producer.init()
    producer.begin()
    producer.send(pa.table({"value": [b"%d" % number for number in range(20_000)]}), topic)
    producer.commit()
    producer.close()
    read = topics.read_topic(tickets.broker.bootstrap_servers, topic, 20_000)
    assert [one.value() for one in read] == [b"%d" % number for number in range(20_000)]


@pytest.mark.nightly
def test_sparks_client_logs_in(tickets: TicketBroker, topic_prefix: str, spark: SparkSession) -> None:
    settings, topic = tickets.login(), f"{topic_prefix}t"
    producer = clients.producer(settings)
    producer.produce(topic, b"one")
    assert producer.flush(SECONDS) == 0
    assert spark._jvm is not None
    spark._jvm.java.lang.System.setProperty("java.security.krb5.conf", str(tickets.realm.config))
    options = clients.spark_options(settings)
    rows = spark.read.format("kafka").options(**options).option("subscribe", topic).load().collect()
    assert [bytes(row.value) for row in rows] == [b"one"]


@pytest.mark.nightly
def test_a_key_table_that_is_replaced_is_read_again(tickets: TicketBroker) -> None:
    realm = tickets.realm
    realm.add("rotated")
    settings = tickets.login("rotated")
    assert clients.admin(settings).list_topics(timeout=SECONDS).brokers
    realm.change_key("rotated")
    realm.export("rotated")
    for ask in (
        lambda: clients.admin(settings).list_topics(timeout=SECONDS),
        lambda: fetch_group_offsets(settings, ["g"], SECONDS),
    ):
        assert ask()


@pytest.mark.nightly
def test_tickets_of_a_cache_are_taken(tickets: TicketBroker, tmp_path: Path) -> None:
    """As others get them, with kinit; without them the error says what to do."""
    cache = tmp_path / "cache"
    settings = tickets.login(useKeyTab="false", useTicketCache="true", ticketCache=str(cache))
    with pytest.raises(ConfigError, match="Get a ticket with kinit, or log in with a key table: useKeyTab=true"):
        clients.admin(settings)
    tickets.realm.log_in("connect", cache)
    assert clients.admin(settings).list_topics(timeout=SECONDS).brokers
    assert fetch_group_offsets(settings, ["g"], SECONDS) == {"g": {}}


def test_a_wrong_login_is_one_clear_error_of_both_libraries(tickets: TicketBroker) -> None:
    realm = tickets.realm
    realm.add("replaced")
    realm.change_key("replaced")
    realm.add("expired")
    realm.expire("expired")
    file = realm.key_table("connect")
    expected = {
        "no file": (
            tickets.login(keyTab="/no/file"),
            "Kerberos refuses connect@EXAMPLE.TEST with the key table /no/file: .*"
            "The key table cannot be read: No such file or directory",
        ),
        "not in the key table": (
            tickets.login(principal="other@EXAMPLE.TEST"),
            f"Kerberos refuses other@EXAMPLE.TEST with the key table {file}: .*"
            "The key table has keys of: connect@EXAMPLE.TEST",
        ),
        "old key": (
            tickets.login("replaced"),
            f"Kerberos refuses replaced@EXAMPLE.TEST with the key table {realm.key_table('replaced')}: .*"
            "Its key is not the principal's present one: export the key table again",
        ),
        "expired": (tickets.login("expired"), "entry in database has expired. Extend the principal in the realm"),
        "no key table": (
            tickets.login(useKeyTab="false"),
            'lacks useKeyTab=true with keyTab="/path" and principal="name@REALM", or useTicketCache=true',
        ),
    }
    for settings, text in expected.values():
        for ask in (clients.admin, lambda settings: fetch_group_offsets(settings, ["g"], SECONDS)):
            with pytest.raises(ConfigError, match=text):
                ask(settings)


@pytest.mark.nightly
def test_a_service_that_the_realm_does_not_know_is_an_error_of_both_libraries(
    tickets: TicketBroker, caplog: pytest.LogCaptureFixture
) -> None:
    settings = tickets.login() | {"sasl.kerberos.service.name": "other"}
    text = "sasl.kerberos.service.name must be the first part of the brokers' principals, and their host's name the"
    refused = []
    admin = clients.admin(settings, {"error_cb": lambda error: refused.append(clients.refusal("me", error))})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=5)
    admin.poll(1)
    assert any("The brokers refuse client me" in str(one) and text in str(one) for one in refused), refused
    with pytest.raises(ConnectError, match=f"The brokers refuse client me: .*{text}"):
        clients.quiet_admin(settings | {"client.id": "me"}).list_topics(timeout=5)
    with pytest.raises(KafkaException):
        fetch_group_offsets(settings, ["g"], 3.0)
    assert text in caplog.text


@pytest.mark.nightly
def test_a_centre_that_is_away_is_an_error_that_may_pass(
    tickets: TicketBroker, caplog: pytest.LogCaptureFixture
) -> None:
    tickets.realm.add("late")
    settings = tickets.login("late")
    tickets.realm.stop()
    text = "Kerberos gives late@EXAMPLE.TEST with the key table .* no ticket: Cannot contact any KDC for realm"
    try:
        with pytest.raises(KafkaException, match=text):
            clients.admin(settings)
        with pytest.raises(KafkaException):
            fetch_group_offsets(settings, ["g"], 5.0)
    finally:
        tickets.realm.start()
    assert clients.admin(settings).list_topics(timeout=SECONDS).brokers


@pytest.mark.nightly
def test_a_broker_that_comes_back_is_found_again(tickets: TicketBroker, topic_prefix: str) -> None:
    producer = clients.producer(tickets.login() | {"delivery.timeout.ms": "60000", **clients.JAVA_RECONNECT})
    producer.produce(f"{topic_prefix}t", b"one")
    assert producer.flush(SECONDS) == 0
    tickets.broker.restart()
    producer.produce(f"{topic_prefix}t", b"two")
    assert producer.flush(SECONDS) == 0


@pytest.mark.nightly
def test_connections_log_in_again(tickets: TicketBroker, topic_prefix: str, caplog: pytest.LogCaptureFixture) -> None:
    """A principal whose tickets live for ten seconds, on a broker that ends connections which do not log in again."""
    tickets.realm.add("short", "10 seconds")
    caplog.set_level(logging.DEBUG, "org.apache.kafka.clients")
    delivered: list[object] = []
    producer = clients.producer(tickets.login("short"), {"on_delivery": lambda error, _: delivered.append(error)})
    group = {"group.id": f"{topic_prefix}g", "auto.offset.reset": "earliest"}
    consumer = clients.consumer(tickets.login("short") | group)
    producer.produce(f"{topic_prefix}t", b"0")
    assert producer.flush(SECONDS) == 0
    consumer.subscribe([f"{topic_prefix}t"])
    found: list[bytes | None] = []
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline or len(found) < len(delivered):
        if time.monotonic() < deadline:
            producer.produce(f"{topic_prefix}t", str(len(delivered)).encode())
            assert producer.flush(SECONDS) == 0
        message = consumer.poll(SECONDS)
        assert message is not None
        found.append(message.value())
        time.sleep(0.05)
    consumer.close()
    assert found == [str(number).encode() for number in range(len(delivered))]
    assert set(delivered) == {None}
    broker = tickets.broker.log_file.read_text()
    assert broker.count("authenticationID=short@") >= 9, "three connections, three times each"
    assert "isconnected" not in caplog.text
