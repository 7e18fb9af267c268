"""Credentials that clients show to a worker, and the errors of refused ones: on the command line and in Dagster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from connect_dagster.cli.main import main
from connect_dagster.client.access import Access
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration import KafkaConnectWorkspace
from tests.unit.orchestration.connect_server import CLASS, DrivenHerder
from tests.unit.rest.certificates import Identity
from tests.unit.rest.serving import LOCAL, serving
from tests.unit.rest.tokens import AUDIENCE, Issuer

SECURE = "https://127.0.0.1:0"
PASSWORD = "store secret"


@pytest.fixture(scope="module")
def authority() -> Identity:
    return Identity.authority()


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer.make()


@pytest.fixture(scope="module")
def files(authority: Identity, issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("access")
    worker, client, stranger = authority.vouch_for("worker"), authority.vouch_for("client"), Identity.authority()
    (folder / "worker.pem").write_text(worker.key_pem() + worker.certificate_pem)
    (folder / "ca.pem").write_text(authority.certificate_pem)
    (folder / "ca.p12").write_bytes(authority.trust_store(PASSWORD))
    (folder / "stranger.pem").write_text(stranger.key_pem() + stranger.certificate_pem)
    (folder / "both.pem").write_text(client.key_pem() + client.certificate_pem)
    (folder / "cert.pem").write_text(client.certificate_pem)
    (folder / "key.pem").write_text(client.key_pem(PASSWORD))
    (folder / "client.p12").write_bytes(client.key_store(PASSWORD))
    (folder / "users.properties").write_text("reader=r1\n")
    (folder / "jwks.json").write_text(issuer.key_set)
    (folder / "empty").write_text("\n")
    return folder


def props(files: Path, auth: str) -> dict[str, str]:
    return {
        "rest.extension.classes": "RoleRestExtension",
        "rest.roles.read": "User:reader",
        "rest.roles.change": "User:CN=client",
        "rest.roles.users.file": f"{files}/users.properties",
        "rest.roles.oauthbearer.jwks.file": f"{files}/jwks.json",
        "rest.roles.oauthbearer.expected.audience": AUDIENCE,
        "ssl.keystore.location": f"{files}/worker.pem",
        "ssl.truststore.location": f"{files}/ca.pem",
        "ssl.client.auth": auth,
    }


@pytest.fixture(name="url", scope="module")
def url_fixture(files: Path) -> Iterator[str]:
    """A worker that knows users, tokens and certificates."""
    herder = DrivenHerder()
    herder.put_connector("lines", {"name": "lines", "connector.class": CLASS, "file": "/x"}, allow_replace=False)
    with serving(herder, SECURE, **props(files, "requested")) as server:
        yield server.advertised_url.rstrip("/")


@pytest.fixture(name="strict_url", scope="module")
def strict_url_fixture(files: Path) -> Iterator[str]:
    """A worker that lets in nobody without a certificate."""
    with serving(DrivenHerder(), SECURE, **props(files, "required")) as server:
        yield server.advertised_url.rstrip("/")


def by_command_line(url: str, options: dict[str, str], verb: str = "list") -> str | None:
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    ran = CliRunner().invoke(main, [verb, "--url", url, *words, *(["lines"] if verb != "list" else [])])
    if ran.exit_code == 0:
        return None
    assert (ran.exit_code, ran.stderr.startswith("Error: "), ran.stderr.count("\n")) == (2, True, 1)
    return ran.stderr.removeprefix("Error: ").rstrip()


def by_workspace(url: str, options: dict[str, str], verb: str = "list") -> str | None:
    given: dict[str, Any] = dict(options)
    client = KafkaConnectWorkspace(url=url, request_max_retries=0, **given).get_client()
    try:
        client.connectors() if verb == "list" else client.pause("lines")
    except KafkaConnectError as error:
        return str(error)
    return None


Asking = Callable[..., str | None]
BOTH = pytest.mark.parametrize("ask", [by_command_line, by_workspace])


def options_of(files: Path, issuer: Issuer, options: dict[str, str]) -> dict[str, str]:
    def resolved(value: str) -> str:
        return value.format(files=files, token=issuer.token("reader"), old=issuer.token("reader", seconds=-60))

    return {name: resolved(value) for name, value in {"ca_file": "{files}/ca.pem", **options}.items()}


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {"username": "reader", "password": "r1"},
        {"username": "reader", "password": "r1", "ca_file": "{files}/ca.p12", "ca_password": PASSWORD},
        {"username": "reader", "password": "r1", "ca_file": "{files}/worker.pem"},
        {"token": "{token}"},
        {"cert_file": "{files}/both.pem"},
        {"cert_file": "{files}/cert.pem", "key_file": "{files}/key.pem", "key_password": PASSWORD},
        {"cert_file": "{files}/client.p12", "key_password": PASSWORD},
    ],
)
@pytest.mark.filterwarnings("ignore:.*has a literal secret")
def test_each_identity_gets_in(url: str, files: Path, issuer: Issuer, ask: Asking, options: dict[str, str]) -> None:
    assert ask(url, options_of(files, issuer, options)) is None


@BOTH
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "GET {url}/connectors{query} → 401: The request has no user, no bearer token and no client certificate"),
        (
            {"username": "reader", "password": "wrong"},
            "GET {url}/connectors{query} → 401: The user is unknown or the password is wrong",
        ),
        ({"token": "{old}"}, "GET {url}/connectors{query} → 401: The bearer token has expired"),
        ({"token": "x"}, "GET {url}/connectors{query} → 401: The bearer token is not valid: "),
        ({"ca_file": "{files}/stranger.pem"}, "TLS with {url} failed: "),
        (
            {"username": "reader", "token": "{token}"},
            "{url} cannot be asked: Give one of username, token and token_file to ask as; there are username and token",
        ),
        ({"token_file": "{files}/empty"}, "{url} cannot be asked: The token file {files}/empty is empty"),
        (
            {"cert_file": "{files}/cert.pem"},
            "{url} cannot be asked: The file {files}/cert.pem needs a private key and its certificate",
        ),
        ({"key_file": "{files}/key.pem"}, "{url} cannot be asked: The key {files}/key.pem needs its certificate"),
        (
            {"cert_file": "{files}/cert.pem", "key_file": "{files}/key.pem", "key_password": "no"},
            "{url} cannot be asked: {files}/cert.pem with {files}/key.pem holds PEM that cannot be read",
        ),
        ({"cert_file": "{files}/client.p12", "key_password": "no"}, "{url} cannot be asked: "),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has a literal secret")
def test_each_refusal_is_one_sentence(
    url: str, files: Path, issuer: Issuer, ask: Asking, options: dict[str, str], says: str
) -> None:
    expected = says.format(url=url, files=files, query="?expand=status&expand=info")
    told = ask(url, options_of(files, issuer, options))
    assert told is not None
    assert told.startswith(expected)


@BOTH
@pytest.mark.filterwarnings("ignore:.*has a literal secret")
def test_a_role_that_is_missing_is_named(url: str, files: Path, issuer: Issuer, ask: Asking) -> None:
    told = ask(url, options_of(files, issuer, {"token": "{token}"}), "pause")
    assert told == (
        f"PUT {url}/connectors/lines/pause → 403: User:reader has the role read: PUT /connectors/lines/pause needs "
        "operate"
    )


@BOTH
@pytest.mark.parametrize(
    ("options", "admitted"),
    [({"cert_file": "{files}/both.pem"}, True), ({}, False), ({"cert_file": "{files}/stranger.pem"}, False)],
)
def test_a_certificate_that_is_required(
    strict_url: str, files: Path, issuer: Issuer, ask: Asking, options: dict[str, str], admitted: bool
) -> None:
    told = ask(strict_url, given := options_of(files, issuer, options))
    assert (told is None) is admitted
    access: dict[str, Any] = dict(given)
    assert KafkaConnectClient(strict_url, access=Access(**access)).responds()
    if told is not None:
        assert told.startswith(f"TLS with {strict_url} failed: ")
        assert "certificate" in told


def test_a_token_file_is_read_for_each_request(url: str, files: Path, tmp_path: Path, issuer: Issuer) -> None:
    file = tmp_path / "token"
    client = KafkaConnectClient(url, access=Access(token_file=str(file), ca_file=f"{files}/ca.pem"))
    for seconds, admitted in ((600, True), (-60, False), (300, True)):
        file.write_text(issuer.token("reader", seconds=seconds) + "\n")
        assert client.is_alive() is admitted
    file.unlink()
    assert not client.is_alive()
    assert client.responds()
    with pytest.raises(KafkaConnectError, match=f"Cannot read {file}: No such file or directory"):
        client.connectors()


def test_options_come_from_the_environment(url: str, files: Path, issuer: Issuer) -> None:
    environment = {
        "CONNECT_DAGSTER_REST_URL": url,
        "CONNECT_DAGSTER_TOKEN": issuer.token("reader"),
        "CONNECT_DAGSTER_CA_FILE": f"{files}/ca.pem",
    }
    ran = CliRunner(env=environment).invoke(main, ["list", "--json"])
    assert (ran.exit_code, [each["name"] for each in json.loads(ran.stdout)]) == (0, ["lines"])


def test_a_certificate_is_not_shown_without_tls(files: Path) -> None:
    with serving(DrivenHerder(), LOCAL) as server:
        access: dict[str, Any] = {"cert_file": f"{files}/both.pem"}
        client = KafkaConnectClient(server.advertised_url, access=Access(**access))
        with pytest.raises(KafkaConnectError, match=r"both\.pem is shown to addresses with https only"):
            client.connectors()


def test_a_certificate_need_not_be_checked(url: str, files: Path) -> None:
    workspace = KafkaConnectWorkspace(url=url, verify=False, cert_file=f"{files}/both.pem")
    assert workspace.get_client().is_alive()
