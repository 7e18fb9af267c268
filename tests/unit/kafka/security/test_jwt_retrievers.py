"""Origins of tokens, with a real token endpoint."""

import base64
import importlib.metadata
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.security.jwt_retrievers import GROUP, retriever_of
from connect_dagster.plugin import JwtRetriever
from tests.authorization_server import CLIENT_ID, CLIENT_SECRET, AuthorizationServer, authorization_server

URL, JWT = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.jwt.retriever.class"
OPTIONS = {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET}
AT_ONCE = {"sasl.login.retry.backoff.max.ms": "0"}
PACKAGE = "org.apache.kafka.common.security.oauthbearer."


@pytest.fixture(scope="module")
def server() -> Iterator[AuthorizationServer]:
    with authorization_server() as made:
        yield made


def claims(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))


@pytest.mark.parametrize(
    ("settings", "options", "scope"),
    [
        ({}, OPTIONS, None),
        ({}, OPTIONS | {"scope": "a"}, "a"),
        ({"sasl.oauthbearer.scope": "b"}, OPTIONS | {"scope": "a"}, "b"),
        (
            {
                "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
                "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
                JWT: f"{PACKAGE}ClientCredentialsJwtRetriever",
            },
            {"clientSecret": "older"},
            None,
        ),
    ],
)
def test_client_credentials(
    server: AuthorizationServer, settings: dict[str, str], options: dict[str, str], scope: str | None
) -> None:
    found = retriever_of({URL: server.token_url, **settings}, options).retrieve()
    assert isinstance(found, str)
    assert claims(found)["sub"] == CLIENT_ID
    assert server.requests[-1].get("scope") == scope


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"clientId": CLIENT_ID, "clientSecret": "wrong"}, "responds with 401: invalid_client Wrong name or secret"),
        ({"clientSecret": "x"}, "needs a client id: set sasl.oauthbearer.client.credentials.client.id, or clientId in"),
        ({"clientId": "x"}, "needs a client secret: set sasl.oauthbearer.client.credentials.client.secret, or clientS"),
    ],
)
def test_refused_credentials(server: AuthorizationServer, options: dict[str, str], text: str) -> None:
    with pytest.raises(ConnectError, match=text) as caught:
        retriever_of({URL: server.token_url}, options).retrieve()
    assert not isinstance(caught.value, RetriableError)


def test_an_endpoint_that_fails_for_a_while_is_asked_again(server: AuthorizationServer) -> None:
    server.status = 503
    server.requests.clear()
    try:
        with pytest.raises(RetriableError, match="responds with 503: server_error It is told to fail"):
            retriever_of({URL: server.token_url, "sasl.login.retry.backoff.max.ms": "250"}, OPTIONS).retrieve()
    finally:
        server.status = 200
    assert len(server.requests) > 1


def test_an_endpoint_that_does_not_respond() -> None:
    with pytest.raises(RetriableError, match=r"The token endpoint http://127\.0\.0\.1:1/t does not respond"):
        retriever_of({URL: "http://127.0.0.1:1/t", **AT_ONCE}, OPTIONS).retrieve()


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    retriever = retriever_of({URL: f"{file.as_uri()}"}, {})
    with pytest.raises(ConnectError, match=f"The token file {file} of {URL} cannot be read: No such file"):
        retriever.retrieve()
    for text in ("one", "two"):
        file.write_text(text)
        assert retriever.retrieve() == text


def test_tokens_without_a_signature() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "me",
        "unsecuredLoginNumberClaim_level": "3",
        "unsecuredLoginListClaim_roles": ",a,b",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    found = claims(str(retriever_of({}, options).retrieve()))
    assert (found["sub"], found["level"], found["roles"]) == ("me", 3, ["a", "b"])
    assert 0 < found["exp"] - time.time() <= 60


@pytest.mark.parametrize(
    ("algorithm", "retriever", "name"),
    [("RS256", "JwtBearerJwtRetriever", "assertion"), ("ES256", "DefaultJwtRetriever", "client_assertion")],
)
def test_assertions(server: AuthorizationServer, tmp_path: Path, algorithm: str, retriever: str, name: str) -> None:
    key = rsa.generate_private_key(65537, 2048) if algorithm == "RS256" else ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "template").write_text('{"header": {"kid": "k"}, "payload": {"iss": "template", "role": "r"}}')
    settings = {
        URL: server.token_url,
        JWT: PACKAGE + retriever,
        **{
            f"sasl.oauthbearer.assertion.{option}": value
            for option, value in {
                "algorithm": algorithm,
                "private.key.file": str(tmp_path / "key"),
                "template.file": str(tmp_path / "template"),
                "claim.iss": "me",
                "claim.jti.include": "true",
            }.items()
        },
    }
    assert retriever_of(settings, {}).retrieve()
    sent = server.requests[-1][name]
    found = claims(sent)
    assert (found["iss"], found["role"], found["exp"] - found["iat"]) == ("me", "r", 300)
    assert found["jti"]
    signed, _, signature = sent.rpartition(".")
    content = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    if isinstance(key, rsa.RSAPrivateKey):
        key.public_key().verify(content, signed.encode(), padding.PKCS1v15(), SHA256())
    else:
        assert len(content) == 64


class FromVault(JwtRetriever):
    """A user's class."""

    def configure(self, config: Mapping[str, str], options: Mapping[str, str]) -> None:
        self.given = {**config, **options}

    def retrieve(self) -> str:
        return self.given["vault"] + self.given["sasl.oauthbearer.scope"]


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    points = importlib.metadata.EntryPoints(
        [importlib.metadata.EntryPoint(name, f"{__name__}:{of}", GROUP) for name, of in ENTRIES.items()]
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points.select(group=group))
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(FromVault=FromVault))


ENTRIES = {"Vault": "FromVault", "com.example.VaultCallbackHandler": "FromVault", "Broken": "Missing"}


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (JWT, "Vault"),
        (JWT, f"{__name__}.FromVault"),
        ("sasl.login.callback.handler.class", "com.example.VaultCallbackHandler"),
    ],
)
def test_a_class_of_the_user(name: str, value: str) -> None:
    """Also under the name of the Java class that it replaces, so that files of Java's worker stay as they are."""
    settings = {name: value, "sasl.oauthbearer.scope": "b", "ssl.key.password": "not passed"}
    assert retriever_of(settings, {"vault": "a"}).retrieve() == "ab"


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "The OAuth configuration option sasl.oauthbearer.token.endpoint.url value must be non-null"),
        ({URL: "ftp://a"}, "It must be an address with http:// or https://, or a file:// with a token"),
        ({JWT: "os.Missing"}, f"of the entry points in {GROUP} none has it: Broken, Vault, com.example"),
        ({JWT: "Broken"}, "It cannot be imported: AttributeError"),
        (
            {URL: "http://a", JWT: f"{PACKAGE}JwtBearerJwtRetriever"},
            "An assertion needs sasl.oauthbearer.asser",
        ),
        (
            {URL: "http://a", "sasl.oauthbearer.assertion.file": "f", "sasl.oauthbearer.assertion.algorithm": "HS256"},
            "It must be one of: RS256, ES256",
        ),
    ],
)
def test_settings_that_are_wrong(settings: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        retriever_of(settings, {})
