"""The options of a login with Kerberos, and what key tables hold; a realm's answers: test_kerberos_logins.py."""

import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security import sasl_relay
from connect_dagster.kafka.security.jaas import parse_modules, realm_file, realm_options
from connect_dagster.kafka.security.kerberos import KerberosLogin
from connect_dagster.kafka.security.key_tables import principals
from connect_dagster.kafka.settings import ClientKind, to_kafka_python, to_librdkafka

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
KEYS = 'useKeyTab=true keyTab="/etc/connect.keytab" principal="connect@EXAMPLE.TEST"'
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "GSSAPI",
    "sasl.kerberos.service.name": "kafka",
    "sasl.jaas.config": f"{MODULE} {KEYS};",
}


def parse(options: str, settings: dict[str, str] = LOGIN, module: str = MODULE) -> KerberosLogin:
    return KerberosLogin.parse(settings, parse_modules(f"{module} {options};")[0])


@pytest.mark.parametrize(
    ("options", "login"),
    [
        (KEYS, ("connect@EXAMPLE.TEST", "/etc/connect.keytab", None, "kafka")),
        (f"{KEYS} storeKey=true doNotPrompt=true", ("connect@EXAMPLE.TEST", "/etc/connect.keytab", None, "kafka")),
        ("useTicketCache=true", (None, None, "", "kafka")),
        ('useTicketCache=true ticketCache="/tmp/cc"', (None, None, "/tmp/cc", "kafka")),
        (f"{KEYS} useTicketCache=true", ("connect@EXAMPLE.TEST", "/etc/connect.keytab", "", "kafka")),
        (KEYS.replace("/etc", "file:/etc"), ("connect@EXAMPLE.TEST", "/etc/connect.keytab", None, "kafka")),
    ],
)
def test_java_s_options_are_read(options: str, login: tuple[str, ...]) -> None:
    assert parse(options) == KerberosLogin(*login)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", r"lacks useKeyTab=true with keyTab=.* or useTicketCache=true"),
        ('useKeyTab=true principal="me"', "lacks the option keyTab, which useKeyTab=true needs"),
        ('useKeyTab=true keyTab="/k"', "lacks the option principal, which useKeyTab=true needs"),
        (f"{KEYS} serviceName=other", "Conflicting serviceName values found in JAAS and Kafka configs"),
    ],
)
def test_a_wrong_option_is_named(options: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse(options)


def test_the_service_s_name_may_be_in_the_module() -> None:
    settings = {name: value for name, value in LOGIN.items() if name != "sasl.kerberos.service.name"}
    assert parse(f"{KEYS} serviceName=kafka", settings).service == "kafka"
    with pytest.raises(ConfigError, match="No serviceName defined in either JAAS or Kafka config"):
        parse(KEYS, settings)


def test_another_module_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Unknown login module a\.Module for GSSAPI"):
        parse(KEYS, module="a.Module required")


def test_librdkafka_logs_in_at_a_relay() -> None:
    found = to_librdkafka(ClientKind.ADMIN, LOGIN)
    assert {name: found[name] for name in ("security.protocol", "sasl.mechanism")} == {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
    }
    assert found == to_librdkafka(ClientKind.ADMIN, LOGIN), "clients with one login have one relay"
    canonical = LOGIN | {"client.dns.lookup": "resolve_canonical_bootstrap_servers_only"}
    assert to_librdkafka(ClientKind.ADMIN, canonical)["client.dns.lookup"] == "use_all_dns_ips"
    other = LOGIN | {"sasl.jaas.config": f"{MODULE} {KEYS.replace('connect@', 'other@')};"}
    assert found["sasl.password"] != to_librdkafka(ClientKind.ADMIN, other)["sasl.password"]


def test_clients_that_start_at_once_have_one_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a connector and its task do: a client that connects to one relay with the secret of another is refused."""
    begin, made = threading.Barrier(8), sasl_relay.SaslRelay.__init__

    def slowly(*given: Any) -> None:
        time.sleep(0.01)
        made(*given)

    def password(_: int) -> str:
        begin.wait()
        return to_librdkafka(ClientKind.ADMIN, login)["sasl.password"]

    monkeypatch.setattr(sasl_relay.SaslRelay, "__init__", slowly)
    login = LOGIN | {"sasl.kerberos.service.name": "at-once"}
    with ThreadPoolExecutor(begin.parties) as pool:
        assert len(set(pool.map(password, range(begin.parties)))) == 1


def test_a_wrong_key_table_is_an_error_of_kafka_python_s_client() -> None:
    with pytest.raises(ConfigError, match=r"/etc/connect\.keytab: .* cannot be read: No such file or directory"):
        to_kafka_python("a:1", "me", LOGIN)


def entry(realm: str, *names: str) -> bytes:
    texts = b"".join(struct.pack(">H", len(one)) + one.encode() for one in (realm, *names))
    content = struct.pack(">H", len(names)) + texts + struct.pack(">IIBHH", 1, 0, 1, 18, 4) + b"key!"
    return struct.pack(">i", len(content)) + content


def test_the_principals_of_a_key_table(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    removed = struct.pack(">i", -8) + bytes(8)
    file.write_bytes(b"\5\2" + entry("R", "kafka", "host") + removed + entry("R", "me") + entry("R", "me"))
    assert principals(file) == ["kafka/host@R", "me@R"]


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"text", "begin with 05 02"), (b"\5\2" + entry("R", "me")[:9], "cut off"), (b"\5\2\0\0", "cut off")],
)
def test_a_file_that_is_no_key_table(tmp_path: Path, content: bytes, text: str) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(ValueError, match=text):
        principals(tmp_path / "keys")


def test_the_realms_file_is_the_jvm_s() -> None:
    options = {"KAFKA_OPTS": "-Xmx1g -Djava.security.krb5.conf=/a -Djava.security.krb5.conf=/etc/krb5.conf"}
    assert realm_file(options) == "/etc/krb5.conf"
    assert realm_file({}) is None
    assert realm_options(options | {"KRB5_CONFIG": "/b"}) == ["-Djava.security.krb5.conf=/etc/krb5.conf"]
    assert realm_options({"KRB5_CONFIG": "/b"}) == ["-Djava.security.krb5.conf=/b"]
    assert realm_options({}) == []
