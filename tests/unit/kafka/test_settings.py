"""Java's settings in the terms of librdkafka and of kafka-python."""

import logging
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.clients import admin, consumer, producer
from connect_dagster.kafka.security.cipher_suites import SUITES_OF_1_3
from connect_dagster.kafka.settings import ClientKind, definitions, librdkafka, to_kafka_python, to_librdkafka
from connect_dagster.kafka.settings.consumer import reset_duration, reset_policy
from connect_dagster.kafka.settings.java_settings import rows
from connect_dagster.kafka.settings.librdkafka import assignors
from connect_dagster.kafka.settings.rows import Ignored, Row, Taken
from connect_dagster.plugin.config import NO_DEFAULT, Type
from tests.unit.rest.certificates import Identity

PRODUCER, CONSUMER, ADMIN = ClientKind
PACKAGE = "org.apache.kafka.clients.consumer."
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a \\"b\\"";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required username=me password=secret;"
TOKENS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SASL = {"security.protocol": "SASL_PLAINTEXT"}


@pytest.mark.parametrize(
    ("kind", "java", "expected"),
    [
        (PRODUCER, {"delivery.timeout.ms": "120000"}, {"delivery.timeout.ms": "120000"}),
        (PRODUCER, {"delivery.timeout.ms": "2147483647"}, {"delivery.timeout.ms": "0"}),
        (PRODUCER, {"buffer.memory": "1048576"}, {"queue.buffering.max.kbytes": "1024"}),
        (PRODUCER, {"batch.size": "0"}, {"batch.size": "1"}),
        (PRODUCER, {"linger.ms": " 5 "}, {"linger.ms": "5"}),
        (PRODUCER, {"max.request.size": "10"}, {"message.max.bytes": "1000"}),
        (PRODUCER, {"key.serializer": "x", "max.block.ms": "1"}, {}),
        (PRODUCER, {"request.timeout.ms": "5000"}, {"socket.timeout.ms": "5000", "request.timeout.ms": "5000"}),
        (PRODUCER, {"compression.type": "zstd", "compression.zstd.level": "22", "compression.gzip.level": "1"},
         {"compression.type": "zstd", "compression.level": "12"}),
        (PRODUCER, {"partitioner.ignore.keys": "true"}, {"partitioner": "random"}),
        (PRODUCER, {"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"},
         {"partitioner": "random"}),
        (CONSUMER, {"fetch.max.wait.ms": "10"}, {"fetch.wait.max.ms": "10"}),
        (CONSUMER, {"fetch.min.bytes": "0", "isolation.level": "READ_COMMITTED"},
         {"fetch.min.bytes": "1", "isolation.level": "read_committed"}),
        (CONSUMER, {"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        (CONSUMER, {"auto.offset.reset": "by_duration:PT1H"}, {"auto.offset.reset": "error"}),
        (CONSUMER, {"auto.offset.reset": "latest"}, {"auto.offset.reset": "latest"}),
        (CONSUMER, {"group.protocol": "CONSUMER", "group.instance.id": "a", "max.poll.records": "1"},
         {"group.protocol": "consumer", "group.instance.id": "a"}),
        (ADMIN, {"send.buffer.bytes": "-1", "receive.buffer.bytes": "-1", "connections.max.idle.ms": "-1"},
         {"socket.send.buffer.bytes": "0", "socket.receive.buffer.bytes": "0", "connections.max.idle.ms": "0"}),
        (ADMIN, {"request.timeout.ms": "5000"}, {"socket.timeout.ms": "5000"}),
        (ADMIN, {"metadata.max.age.ms": "500"}, {"topic.metadata.refresh.interval.ms": "500"}),
        (ADMIN, {"security.protocol": "PLAINTEXT"}, {"security.protocol": "plaintext"}),
        (ADMIN, {"statistics.interval.ms": "5"}, {"statistics.interval.ms": "5"}),
    ],
)  # fmt: skip
def test_names_and_values(kind: ClientKind, java: dict[str, str], expected: dict[str, str]) -> None:
    default = {"partitioner": "murmur2_random"} if kind is PRODUCER else {}
    assert to_librdkafka(kind, java) == default | expected


MAKE: dict[ClientKind, Callable[[dict[str, str]], Producer | Consumer | AdminClient]] = {
    PRODUCER: producer,
    CONSUMER: consumer,
    ADMIN: admin,
}


@pytest.mark.parametrize("kind", ClientKind)
def test_librdkafka_takes_every_default_of_java(kind: ClientKind, caplog: pytest.LogCaptureFixture) -> None:
    defaults = {
        key.name: ",".join(key.default) if isinstance(key.default, tuple) else str(key.default)
        for key in definitions(kind)
        if key.default not in (NO_DEFAULT, None, ())
    }
    logger = client_logger()
    with caplog.at_level(logging.WARNING, logger=logger.name):
        group = {"group.id": "g"} if kind is CONSUMER else {}
        made = MAKE[kind]({**defaults, **group, "bootstrap.servers": "localhost:1"})
        made.poll(0)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("connect_dagster")]
    assert ours == []
    assert not [text for text in caplog.messages if "will be ignored" in text]
    if isinstance(made, Consumer):
        made.close()


@pytest.mark.parametrize("kind", ClientKind)
@pytest.mark.parametrize("number", [-1, 0, 1, 2**31 - 1])
def test_librdkafka_takes_every_number_that_java_takes(kind: ClientKind, number: int) -> None:
    numbers = [row for row in rows(kind).values() if row.key.type.value in ("INT", "LONG")]
    refused = [_refused(kind, row.target, number) for row in numbers if isinstance(row.target, Taken)]
    # How settings go together is checked by librdkafka, as Java's clients do.
    assert not [text for text in refused if text is not None and "must be" not in text]


def _refused(kind: ClientKind, target: Taken, number: int) -> str | None:
    own = {"group.id": "g"} if kind is CONSUMER else {}
    config = {"log_level": 0, **own, **dict.fromkeys(target.names, target.turn(number))}
    try:
        made = {PRODUCER: Producer, CONSUMER: Consumer, ADMIN: AdminClient}[kind](config)
    except KafkaException as error:
        return str(error)
    if isinstance(made, Consumer):
        made.close()
    return None


HARMLESS = {
    "config.providers",
    "key.deserializer",
    "key.serializer",
    "ssl.keystore.type",
    "ssl.truststore.type",
    "value.deserializer",
    "value.serializer",
}
OTHER_VALUES = {
    Type.BOOLEAN: ("true", "false"),
    Type.CLASS: ("a.B",),
    Type.DOUBLE: ("0.123",),
    Type.INT: ("7",),
    Type.LIST: ("a.B",),
    Type.LONG: ("7",),
    Type.PASSWORD: ("secret",),
    Type.SHORT: ("7",),
    Type.STRING: ("x",),
}
IGNORED = [(kind, row) for kind in ClientKind for row in rows(kind).values() if isinstance(row.target, Ignored)]


@pytest.fixture(autouse=True)
def logged_again() -> None:
    """Have each test log what is logged once."""
    librdkafka._log_ignored.cache_clear()


@pytest.mark.parametrize(("kind", "row"), IGNORED, ids=lambda one: getattr(one, "name", one))
def test_no_setting_of_a_user_is_ignored_in_silence(
    kind: ClientKind, row: Row, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(row.target, Ignored)
    for value in OTHER_VALUES[row.key.type]:
        to_librdkafka(kind, {row.name: value})
        to_librdkafka(kind, {row.name: value})
    text = f"{row.name} has no effect on the {kind.value} here: {row.target.reason}"
    assert caplog.messages == ([] if row.name in HARMLESS else [text])


def test_settings_that_are_ignored_harmlessly_are_these() -> None:
    assert {row.name for _, row in IGNORED if isinstance(row.target, Ignored) and row.target.harmless} == HARMLESS


@pytest.mark.parametrize("name", ["interceptor.classes", "sasl.login.class"])
def test_what_cannot_have_an_effect_is_said(name: str, caplog: pytest.LogCaptureFixture) -> None:
    to_librdkafka(PRODUCER, {name: "a.B"})
    assert caplog.messages == [f"{name} has no effect on the producer here: classes of the JVM cannot be called"]


def test_a_partitioner_of_the_users(caplog: pytest.LogCaptureFixture) -> None:
    assert to_librdkafka(PRODUCER, {"partitioner.class": "a.B"}) == {"partitioner": "murmur2_random"}
    assert "partitioner.class=a.B has no effect here" in caplog.text


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([PACKAGE + "RangeAssignor", PACKAGE + "CooperativeStickyAssignor"], ["range"]),
        ([PACKAGE + "CooperativeStickyAssignor", PACKAGE + "RangeAssignor"], ["cooperative-sticky"]),
        (["class " + PACKAGE + "RoundRobinAssignor", "range"], ["roundrobin", "range"]),
    ],
)
def test_assignors(names: list[str], expected: list[str]) -> None:
    assert assignors(names) == expected


def test_an_assignor_that_there_is_not() -> None:
    with pytest.raises(
        ConfigError, match=r"StickyAssignor for configuration partition\.assignment\.strategy: It must be"
    ):
        assignors([PACKAGE + "StickyAssignor"])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("earliest", None),
        ("none", None),
        ("by_duration:PT1H", 3600),
        ("by_duration:P2DT3H4M5.5S", 183_845.5),
        ("by_duration:P1D", 86_400),
    ],
)
def test_durations_to_begin_at(value: str, seconds: float | None) -> None:
    assert reset_duration(value) == seconds


@pytest.mark.parametrize(
    "value", ["by_duration", "by_duration:", "by_duration:PT", "by_duration:-PT1H", "EARLIEST", "x"]
)
def test_policies_that_are_none(value: str) -> None:
    with pytest.raises(ConfigError, match="The value must be either 'earliest', 'latest', 'none' or of the format"):
        reset_policy(value)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(mechanism: str) -> None:
    settings = SASL | {"sasl.mechanism": mechanism, "sasl.jaas.config": SCRAM}
    assert to_librdkafka(ADMIN, settings) == {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": mechanism,
        "sasl.username": "me",
        "sasl.password": "secret",
    }
    python = to_kafka_python("a:1,b:2", "me", settings)
    assert python == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "me",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }


def test_a_quoted_password() -> None:
    found = to_librdkafka(ADMIN, SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN})
    assert found["sasl.password"] == 'a "b"'


@pytest.mark.parametrize("password", ['"a" canary', 'canary" b', "a canary b", '"a"canary'])
def test_r16_a_malformed_login_module_keeps_its_password(password: str) -> None:
    """At ce718d3 the error had the word behind the mistake."""
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password={password};'
    with pytest.raises(ConfigError, match="expected ") as raised:
        to_librdkafka(ADMIN, SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    assert "canary" not in str(raised.value)


def test_a_login_without_sasl_is_left_alone() -> None:
    assert to_librdkafka(ADMIN, {"sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}) == {}


def test_tokens_come_by_a_callback() -> None:
    """librdkafka gets them from the login that all clients of the worker share, and asks no endpoint itself."""
    jaas = f'{TOKENS} clientId="id" clientSecret="geheim" scope="a";'
    endpoint = {"sasl.oauthbearer.token.endpoint.url": "https://login/token", "sasl.oauthbearer.scope": "b"}
    found = to_librdkafka(ADMIN, SASL | endpoint | {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas})
    assert found == {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}


def test_the_login_file_of_kafkas_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jaas").write_text(f"KafkaClient {{ {SCRAM} }};")
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={tmp_path}/jaas")
    assert to_librdkafka(ADMIN, SASL | {"sasl.mechanism": "SCRAM-SHA-256"})["sasl.username"] == "me"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"sasl.mechanism": "PLAIN"}, "Could not find a 'KafkaClient' entry in the JAAS configuration."),
        ({"sasl.jaas.config": ""}, "JAAS config property does not contain any login modules"),
        ({"sasl.jaas.config": SCRAM + SCRAM}, "JAAS config property contains 2 login modules, should be 1 module"),
        ({"sasl.jaas.config": "a.B", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config: expected a flag"),
        (
            {"sasl.jaas.config": "a.B required username=x;", "sasl.mechanism": "PLAIN"},
            "The login module of sasl.jaas.config lacks the option password, which PLAIN needs",
        ),
        ({"sasl.jaas.config": SCRAM, "sasl.mechanism": "X"}, "Invalid value X for configuration sasl.mechanism"),
    ],
)
def test_logins_that_are_not_possible(settings: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    with pytest.raises(ConfigError) as caught:
        to_librdkafka(ADMIN, SASL | settings)
    assert text in str(caught.value)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The same identity as PKCS12 files and as PEM lines."""
    folder = tmp_path_factory.mktemp("tls")
    authority = Identity.authority()
    own = authority.vouch_for("client")
    (folder / "own.p12").write_bytes(own.key_store("secret"))
    (folder / "trust.p12").write_bytes(authority.trust_store("secret"))
    return {
        "files": {
            "ssl.keystore.location": str(folder / "own.p12"),
            "ssl.keystore.password": "secret",
            "ssl.truststore.location": str(folder / "trust.p12"),
            "ssl.truststore.password": "secret",
        },
        "lines": {
            "ssl.keystore.key": own.key_pem("secret").replace("\n", " "),
            "ssl.key.password": "secret",
            "ssl.keystore.certificate.chain": own.certificate_pem.replace("\n", " "),
            "ssl.truststore.certificates": authority.certificate_pem,
        },
    }


def test_stores_are_handed_over_as_pem(tls: dict[str, dict[str, str]]) -> None:
    files = to_librdkafka(ADMIN, tls["files"] | {"security.protocol": "SSL"})
    assert files == to_librdkafka(ADMIN, tls["lines"] | {"security.protocol": "SSL"})
    assert files["ssl.ca.pem"].startswith("-----BEGIN CERTIFICATE-----")
    assert files["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY-----")
    assert files["ssl.endpoint.identification.algorithm"] == "https"
    admin(tls["files"] | {"security.protocol": "SSL"}).poll(0)


@pytest.mark.parametrize(("algorithm", "checks"), [("https", True), ("", False)])
def test_kafka_python_gets_a_context(tls: dict[str, dict[str, str]], algorithm: str, checks: bool) -> None:
    settings = {"security.protocol": "ssl", "ssl.endpoint.identification.algorithm": algorithm}
    found = to_kafka_python("a:1", "me", tls["files"] | settings)
    assert found["security_protocol"] == "SSL"
    assert found["ssl_context"].check_hostname is checks
    assert [one["subject"] for one in found["ssl_context"].get_ca_certs()] == [((("commonName", "authority"),),)]
    expected = "https" if checks else "none"
    assert to_librdkafka(ADMIN, tls["files"] | settings)["ssl.endpoint.identification.algorithm"] == expected


def test_stores_that_no_protocol_needs_are_not_read() -> None:
    assert to_librdkafka(ADMIN, {"ssl.keystore.location": "/no/such/file"}) == {}


def test_kafka_python_asks_for_tokens() -> None:
    jaas = f'{TOKENS} unsecuredLoginStringClaim_sub="me" extension_pool="a";'
    found = to_kafka_python("a:1", "me", SASL | {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas})
    provider = found["sasl_oauth_token_provider"]
    assert (found["sasl_mechanism"], provider.extensions()) == ("OAUTHBEARER", {"pool": "a"})
    assert provider.token().endswith("."), "without a signature"


def test_an_unknown_mechanism_is_an_error() -> None:
    settings = SASL | {"sasl.mechanism": "NTLM", "sasl.jaas.config": f"{TOKENS};"}
    for translate in (lambda: to_kafka_python("a:1", "me", settings), lambda: to_librdkafka(ADMIN, settings)):
        with pytest.raises(ConfigError, match="It must be one of: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, "):
            translate()


OLD_SUITE, OLDER_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA"
OPENSSLS_SUITES = "ECDHE-ECDSA-AES128-GCM-SHA256:AES256-SHA"
LEFT_OUT = (
    f"ssl.cipher.suites leaves out {SUITES_OF_1_3[1]}, {SUITES_OF_1_3[2]}, which librdkafka still uses with TLSv1.3"
)
EXCLUDED = "excludes TLSv1.3, which librdkafka still uses where brokers offer it"


@pytest.mark.parametrize(
    ("settings", "suites", "logged"),
    [
        ({}, None, []),
        ({"ssl.enabled.protocols": "TLSv1.3, TLSv1.2", "ssl.protocol": "TLS"}, None, []),
        ({"ssl.enabled.protocols": "TLSv1.3"}, "PSK", []),
        ({"ssl.enabled.protocols": "TLSv1.2"}, None, [f"ssl.enabled.protocols {EXCLUDED}"]),
        ({"ssl.protocol": "TLSv1.2"}, None, [f"ssl.protocol {EXCLUDED}"]),
        ({"ssl.cipher.suites": f"{OLD_SUITE},{OLDER_SUITE}"}, OPENSSLS_SUITES, [f"ssl.cipher.suites {EXCLUDED}"]),
        ({"ssl.cipher.suites": f"{OLD_SUITE},{OLDER_SUITE},{','.join(SUITES_OF_1_3)}"}, OPENSSLS_SUITES, []),
        ({"ssl.cipher.suites": ",".join(SUITES_OF_1_3)}, "PSK", []),
        ({"ssl.cipher.suites": SUITES_OF_1_3[0]}, "PSK", [LEFT_OUT]),
    ],
)
def test_versions_and_suites_of_tls(
    settings: dict[str, str], suites: str | None, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    found = to_librdkafka(ADMIN, {"security.protocol": "SSL"} | settings)
    assert found.get("ssl.cipher.suites") == suites
    assert caplog.messages == logged


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"ssl.enabled.protocols": "TLSv1.1"}, "It must contain one or more of TLSv1.2, TLSv1.3"),
        ({"ssl.enabled.protocols": "TLSv1.3", "ssl.protocol": "TLSv1.2"}, "It must contain one or more of TLSv1.2"),
        ({"ssl.cipher.suites": "ECDHE-RSA"}, "Invalid value ECDHE-RSA for configuration ssl.cipher.suites"),
        ({"ssl.cipher.suites": OLD_SUITE, "ssl.enabled.protocols": "TLSv1.3"}, "It has no suite of TLSv1.3"),
        ({"ssl.engine.factory.class": "a.B"}, "Invalid value a.B for configuration ssl.engine.factory.class"),
    ],
)
def test_tls_that_is_not_possible(settings: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        to_librdkafka(ADMIN, {"security.protocol": "SSL"} | settings)
    with pytest.raises(ConfigError):
        to_kafka_python("a:1", "me", {"security.protocol": "SSL"} | settings)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("ssl.enabled.protocols", "TLSv1.2"), ("ssl.protocol", "TLSv1.2"), ("ssl.cipher.suites", OLD_SUITE)],
)
def test_kafka_python_keeps_to_older_tls(setting: str, value: str) -> None:
    found = to_kafka_python("a:1", "me", {"security.protocol": "SSL", setting: value})
    assert found["ssl_context"].maximum_version is ssl.TLSVersion.TLSv1_2


class TlsServer:
    """Accepts one connection and shakes hands."""

    def __init__(self, folder: Path, identity: Identity, highest: ssl.TLSVersion) -> None:
        (folder / "own.pem").write_text(identity.key_pem() + identity.certificate_pem)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "own.pem")
        self._context.maximum_version = highest
        self._listener = socket.create_server(("localhost", 0))
        self.address = f"localhost:{self._listener.getsockname()[1]}"

    def suite_spoken(self) -> tuple[str, str] | None:
        """Return suite and version of TLS of the first connection; ``None`` when none was agreed on."""
        self._listener.settimeout(10)
        with self._listener, self._listener.accept()[0] as connection:
            try:
                with self._context.wrap_socket(connection, server_side=True) as secured:
                    suite, _, _ = secured.cipher() or ("", "", 0)
                    return suite, secured.version() or ""
            except ssl.SSLError:
                return None


@pytest.mark.parametrize(
    ("settings", "highest", "spoken"),
    [
        ({"ssl.enabled.protocols": "TLSv1.2,TLSv1.3"}, ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
        ({"ssl.enabled.protocols": "TLSv1.2,TLSv1.3"}, ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
        ({"ssl.enabled.protocols": "TLSv1.3"}, ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
        ({"ssl.enabled.protocols": "TLSv1.3"}, ssl.TLSVersion.TLSv1_2, None),
        ({"ssl.cipher.suites": OLD_SUITE}, ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ({"ssl.cipher.suites": OLDER_SUITE}, ssl.TLSVersion.TLSv1_2, None),  # the server's key is not RSA
        ({"ssl.cipher.suites": ",".join(SUITES_OF_1_3)}, ssl.TLSVersion.TLSv1_2, None),
    ],
)
def test_librdkafka_keeps_to_versions_and_suites(
    tmp_path: Path, settings: dict[str, str], highest: ssl.TLSVersion, spoken: str | None
) -> None:
    """Failed with suites: they were ignored."""
    authority = Identity.authority()
    server = TlsServer(tmp_path, authority.vouch_for("localhost"), highest)
    client = admin(
        {
            "bootstrap.servers": server.address,
            "security.protocol": "SSL",
            "ssl.truststore.certificates": authority.certificate_pem,
            **settings,
        }
    )
    agreed = server.suite_spoken()
    assert spoken in (agreed or (None,))
    assert (agreed is None) is (spoken is None)
    client.poll(0)
