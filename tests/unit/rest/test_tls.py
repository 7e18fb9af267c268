"""Listeners with https, and requests to them: real sockets, real certificates."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import requests

from connect_dagster.errors import ConfigError, RestError
from connect_dagster.herder.interface import NotLeaderError
from tests.rest_calls import call
from tests.unit.rest.certificates import Identity
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving
from tests.unit.rest.test_forwarding import Follower

SECURE = "https://127.0.0.1:0"
PASSWORD = "store secret"


@pytest.fixture(scope="module")
def authority() -> Identity:
    return Identity.authority()


@pytest.fixture(scope="module")
def worker(authority: Identity) -> Identity:
    return authority.vouch_for("worker")


@pytest.fixture(scope="module")
def files(authority: Identity, worker: Identity, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    (folder / "worker.p12").write_bytes(worker.key_store(PASSWORD))
    (folder / "worker.pem").write_text(worker.key_pem("key secret") + worker.certificate_pem)
    (folder / "trusted.p12").write_bytes(authority.trust_store(PASSWORD))
    (folder / "trusted.pem").write_text(authority.certificate_pem)
    (folder / "client.pem").write_text((client := authority.vouch_for("client")).key_pem() + client.certificate_pem)
    (folder / "stranger.pem").write_text(Identity.authority().certificate_pem)
    (folder / "old.jks").write_bytes(bytes.fromhex("feedfeed00000002"))
    return folder


def pkcs12(files: Path) -> dict[str, str]:
    return {"ssl.keystore.location": f"{files}/worker.p12", "ssl.keystore.password": PASSWORD}


def trusting(files: Path) -> dict[str, str]:
    return {"ssl.truststore.location": f"{files}/trusted.p12", "ssl.truststore.password": PASSWORD}


def pem_file(files: Path) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{files}/worker.pem",
        "ssl.key.password": "key secret",
    }


def pem_inline(files: Path) -> dict[str, str]:
    # In a properties file all is one line.
    _, key, certificate = (files / "worker.pem").read_text().replace("\n", " ").split("-----BEGIN ")
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": f"-----BEGIN {key}",
        "ssl.keystore.certificate.chain": f"-----BEGIN {certificate}",
        "ssl.key.password": "key secret",
    }


def prefixed(files: Path) -> dict[str, str]:
    named = {f"listeners.https.{name}": value for name, value in pkcs12(files).items()}
    return {**named, "ssl.keystore.location": "/none", "ssl.client.auth": "required"}


@pytest.mark.parametrize("store", [pkcs12, pem_file, pem_inline, prefixed])
def test_a_listener_speaks_tls(herder: MemoryHerder, files: Path, store: Callable[[Path], Mapping[str, str]]) -> None:
    with serving(herder, SECURE, **store(files)) as server:
        assert server.advertised_url == f"https://127.0.0.1:{server.ports[0]}/"
        answer = requests.get(f"{server.advertised_url}connectors", verify=f"{files}/trusted.pem", timeout=5)
        assert (answer.status_code, answer.json()) == (200, ["c"])
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(server.advertised_url, verify=f"{files}/stranger.pem", timeout=5)


def test_http_and_https_side_by_side(herder: MemoryHerder, files: Path) -> None:
    with serving(herder, SECURE, LOCAL, **pkcs12(files)) as server:
        secure, plain = server.ports
        assert server.advertised_url == f"http://127.0.0.1:{plain}/"
        assert server.worker_id == f"127.0.0.1:{plain}"
        assert requests.get(f"http://127.0.0.1:{plain}/connectors", timeout=5).json() == ["c"]
        url = f"https://127.0.0.1:{secure}/connectors"
        created = requests.post(
            url,
            json={"name": "d", "config": {"connector.class": "X"}},
            verify=f"{files}/trusted.pem",
            timeout=5,
        )
        assert created.headers["location"] == f"{url}/d"
    told = {**pkcs12(files), "rest.advertised.listener": "HTTPS"}
    with serving(herder, LOCAL, SECURE, **told) as server:
        assert server.advertised_url == f"https://127.0.0.1:{server.ports[1]}/"


@pytest.mark.parametrize(
    ("auth", "certificate", "admitted"),
    [
        ("required", "client.pem", True),
        ("required", None, False),
        ("requested", None, True),
        ("requested", "client.pem", True),
        ("none", None, True),
    ],
)
def test_clients_may_have_to_show_a_certificate(
    herder: MemoryHerder, files: Path, auth: str, certificate: str | None, admitted: bool
) -> None:
    shown = certificate and f"{files}/{certificate}"
    props = {**pkcs12(files), **trusting(files), "ssl.client.auth": auth}
    with serving(herder, SECURE, **props) as server:
        try:
            answer = requests.get(server.advertised_url, verify=f"{files}/trusted.pem", cert=shown, timeout=5)
        except requests.ConnectionError:
            assert not admitted
        else:
            assert (answer.status_code, admitted) == (200, True)


def test_a_request_is_forwarded_over_tls(herder: MemoryHerder, files: Path) -> None:
    follower = Follower()
    props = {**pkcs12(files), **trusting(files), "ssl.client.auth": "required"}
    with serving(herder, SECURE, **props) as leader, serving(follower, SECURE, LOCAL, **props) as other:
        follower.elsewhere = NotLeaderError("", leader.advertised_url)
        created = call(other.advertised_url, "PUT", "/connectors/d/config", {"connector.class": "X"})
        assert created.status == 201
        assert created.headers["location"] == f"{other.advertised_url}connectors/d"


def test_workers_with_the_same_key_trust_each_other(herder: MemoryHerder, files: Path) -> None:
    with serving(herder, SECURE, **pkcs12(files)) as leader:
        assert rest_server(LOCAL, **pkcs12(files)).client.request(leader.advertised_url, "GET").status == 200


def test_a_worker_of_another_name_is_not_believed(
    herder: MemoryHerder, authority: Identity, files: Path, tmp_path: Path
) -> None:
    impostor = authority.vouch_for("impostor", [])
    (tmp_path / "impostor.pem").write_text(impostor.key_pem() + impostor.certificate_pem)
    with serving(herder, SECURE, **{"ssl.keystore.location": f"{tmp_path}/impostor.pem"}) as leader:
        with pytest.raises(RestError, match=r"^IO Error trying to forward REST request: .*CERTIFICATE_VERIFY_FAILED"):
            rest_server(LOCAL, **trusting(files)).client.request(leader.advertised_url, "GET")
        careless = {**trusting(files), "ssl.endpoint.identification.algorithm": ""}
        assert rest_server(LOCAL, **careless).client.request(leader.advertised_url, "GET").status == 200


def test_an_idle_client_does_not_hold_up_the_stop(herder: MemoryHerder, files: Path) -> None:
    with serving(herder, SECURE, **pkcs12(files)) as server, requests.Session() as session:
        assert session.get(server.advertised_url, verify=f"{files}/trusted.pem", timeout=5).status_code == 200
        began = time.monotonic()
        server.stop(30)
        assert time.monotonic() - began < 5


OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
GCM, CHACHA = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
NEW_AES, NEW_CHACHA, NEW_SMALL = "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"
OPENSSLS_GCM, OPENSSLS_CHACHA = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"


def shake_hands(port: int, files: Path, lowest: ssl.TLSVersion, highest: ssl.TLSVersion) -> tuple[str, str] | None:
    """Version and suite that a client agrees on with a server; `None` when there is none."""
    context = ssl.create_default_context(cafile=f"{files}/trusted.pem")
    context.minimum_version, context.maximum_version = lowest, highest
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost") as secured:
                suite, version, _ = secured.cipher() or ("", "", 0)
                return secured.version() or version, suite
        except ssl.SSLError:
            return None


@pytest.mark.parametrize(
    ("enabled", "suites", "old", "new"),
    [
        ("TLSv1.2", "", "TLSv1.2", None),
        ("TLSv1.3", "", None, "TLSv1.3"),
        ("TLSv1.2,TLSv1.3", "", "TLSv1.2", "TLSv1.3"),
        ("TLSv1.2,TLSv1.3", GCM, OPENSSLS_GCM, None),
        ("TLSv1.2,TLSv1.3", f"{CHACHA},{GCM}", OPENSSLS_CHACHA, None),
        ("TLSv1.3,TLSv1.2", f"{NEW_AES},{GCM}", OPENSSLS_GCM, NEW_AES),
        ("TLSv1.2,TLSv1.3", f"{NEW_AES},{NEW_CHACHA},{NEW_SMALL}", None, NEW_AES),
        ("TLSv1.2", f"{NEW_AES},{GCM}", OPENSSLS_GCM, None),
    ],
)
def test_versions_and_suites_can_be_chosen(
    herder: MemoryHerder, files: Path, enabled: str, suites: str, old: str | None, new: str | None
) -> None:
    """Failed with suites: they were refused."""
    props = {**pkcs12(files), "ssl.enabled.protocols": enabled, "ssl.cipher.suites": suites}
    with serving(herder, SECURE, **props) as server:
        for version, expected in ((OLD, old), (NEW, new)):
            agreed = shake_hands(server.ports[0], files, version, version)
            assert expected in (agreed or (None,))
            assert (agreed is None) is (expected is None)


@pytest.mark.parametrize(
    ("enabled", "suites", "logged"),
    [
        (
            "TLSv1.2,TLSv1.3",
            f"{NEW_AES},{GCM}",
            [
                f"ssl.cipher.suites leaves out {NEW_CHACHA}, {NEW_SMALL}, which Python's ssl module still uses with "
                "TLSv1.3"
            ],
        ),
        ("TLSv1.2", f"{NEW_AES},{GCM}", []),
        ("TLSv1.2,TLSv1.3", GCM, []),
    ],
)
def test_suites_of_tls_1_3_that_are_used_all_the_same_are_named(
    files: Path, enabled: str, suites: str, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    rest_server(SECURE, **pkcs12(files), **{"ssl.enabled.protocols": enabled, "ssl.cipher.suites": suites})
    assert caplog.messages == logged


@pytest.mark.parametrize(
    ("props", "text"),
    [
        ({}, "A listener with https needs ssl.keystore.location, or"),
        ({"ssl.keystore.location": "/none/x.p12"}, "Cannot read the key store /none/x.p12: No such file"),
        ({"ssl.keystore.location": "{files}/old.jks"}, "Invalid keystore format: it ends too early"),
        ({"ssl.keystore.location": "{files}/worker.p12", "ssl.keystore.password": "no"}, "or its password is wrong"),
        ({"ssl.keystore.location": "{files}/worker.pem", "ssl.key.password": "no"}, "holds PEM that cannot be read"),
        ({"ssl.keystore.location": "{files}/trusted.pem"}, "needs a private key and its certificate"),
        ({"ssl.keystore.key": "x"}, "holds no PEM"),
        ({"ssl.client.auth": "maybe"}, "Invalid value maybe for configuration ssl.client.auth"),
        (
            {"ssl.keystore.location": "{files}/client.pem", "ssl.cipher.suites": "TLS_X"},
            "Invalid value TLS_X for configuration ssl.cipher.suites: OpenSSL has no such suite; it has TLS_",
        ),
        (
            {
                "ssl.keystore.location": "{files}/client.pem",
                "ssl.cipher.suites": GCM,
                "ssl.enabled.protocols": "TLSv1.3",
            },
            f"Invalid value [{GCM}] for configuration ssl.cipher.suites: It has no suite of TLSv1.3, which alone",
        ),
        (
            {"ssl.keystore.location": "{files}/client.pem", "ssl.enabled.protocols": "SSLv3"},
            "Invalid value [SSLv3] for configuration ssl.enabled.protocols: One or more of TLSv1.2, TLSv1.3",
        ),
        (
            {"ssl.keystore.location": "{files}/worker.p12", "listeners.https.ssl.client.auth": "none"},
            "A listener with https needs",
        ),
    ],
)
def test_what_cannot_be_served_is_refused(files: Path, props: dict[str, str], text: str) -> None:
    given = {name: value.format(files=files) for name, value in props.items()}
    with pytest.raises(ConfigError) as caught:
        rest_server(SECURE, **given)
    assert text in str(caught.value)
    rest_server(LOCAL, **given)  # without https nobody reads these settings


@pytest.mark.parametrize(("auth", "open_to_all"), [("required", False), ("requested", True)])
def test_an_admin_listener_that_requires_certificates_is_not_open_to_all(
    files: Path, auth: str, open_to_all: bool, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = "admin.listeners.https."
    stores = {f"{prefix}{name}": value for name, value in (pkcs12(files) | trusting(files)).items()}
    props = {**stores, "admin.listeners": "https://0.0.0.0:0", f"{prefix}ssl.client.auth": auth}
    server = rest_server(LOCAL, **props)
    server.bind()
    server.stop()
    assert any("without a login" in message for message in caplog.messages) is open_to_all
