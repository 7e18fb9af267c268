"""A broker with a listener that wants a login, and one that wants a login and a certificate."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not said to be
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.key_tool import PASSWORD, make_key, trust

_MODULES = "org.apache.kafka.common.security"
PLAIN = f'{_MODULES}.plain.PlainLoginModule required username="me" password="secret";'
SCRAM = f'{_MODULES}.scram.ScramLoginModule required username="me" password="secret";'


@dataclass(frozen=True, slots=True)
class SecuredBroker:
    """The broker, and what clients are told to reach it.

    Attributes:
        broker: with a plain listener besides.
        login: brokers and client settings of the listener with a login alone.
        safe: of the one with a login over TLS, where both sides show certificates.
    """

    broker: EmbeddedBroker
    login: tuple[str, dict[str, str]]
    safe: tuple[str, dict[str, str]]


@contextmanager
def secured_broker(folder: Path) -> Iterator[SecuredBroker]:
    """Run the broker, with the user ``me`` and stores as ``keytool`` writes them."""
    for name in ("broker", "client"):
        make_key(folder, name)
    trust(folder, "broker", "client-trust.p12", "PKCS12")
    trust(folder, "client", "broker-trust.jks", "JKS")
    settings = {
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{_MODULES}.plain.PlainLoginModule required user_me="secret";',
        "listener.name.safe.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.safe.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        "listener.name.safe.ssl.keystore.location": str(folder / "broker.jks"),
        "listener.name.safe.ssl.keystore.password": PASSWORD,
        "listener.name.safe.ssl.truststore.location": str(folder / "broker-trust.jks"),
        "listener.name.safe.ssl.truststore.password": PASSWORD,
        "listener.name.safe.ssl.client.auth": "required",
    }
    listeners = {"LOGIN": "SASL_PLAINTEXT", "SAFE": "SASL_SSL"}
    with EmbeddedBroker(folder / "broker", 0, heap="512m", settings=settings, listeners=listeners) as broker:
        _add_user(broker.bootstrap_servers)
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
        safe = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": SCRAM,
            "ssl.keystore.location": str(folder / "client.jks"),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.location": str(folder / "client-trust.p12"),
            "ssl.truststore.password": PASSWORD,
        }
        yield SecuredBroker(
            broker, (broker.bootstrap_servers_of("LOGIN"), login), (broker.bootstrap_servers_of("SAFE"), safe)
        )


def for_all(settings: dict[str, str]) -> dict[str, str]:
    """The settings for each client of a worker: un-prefixed, ``producer.``, ``consumer.``."""
    return {f"{prefix}{name}": value for prefix in ("", "producer.", "consumer.") for name, value in settings.items()}


def _add_user(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    user = UserScramCredentialUpsertion("me", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"secret")
    for answer in admin.alter_user_scram_credentials([user]).values():
        answer.result(30)
