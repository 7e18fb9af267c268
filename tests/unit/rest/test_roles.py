"""Roles: who gets in, by a user, a token or a certificate, and what each may do."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import requests
from joserfc import jwt
from joserfc.jwk import OctKey

from connect_dagster.errors import ConfigError
from connect_dagster.herder.interface import NotLeaderError
from connect_dagster.rest.app import ENDPOINTS
from connect_dagster.rest.roles import Role, required_role
from tests.rest_calls import Answer, call
from tests.unit.rest.certificates import Identity
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving
from tests.unit.rest.test_forwarding import Follower
from tests.unit.rest.tokens import AUDIENCE, ISSUER, Issuer

SECURE = "https://127.0.0.1:0"
USERS = "reader=r1\noperator=o1\nchanger=c1\nstranger=s1\n"
READ, OPERATE, CHANGE = ("GET", "/connectors/c"), ("PUT", "/connectors/c/pause"), ("DELETE", "/connectors/c")


def basic(user: str, password: str) -> str:
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer.make()


@pytest.fixture(scope="module")
def authority() -> Identity:
    return Identity.authority()


@pytest.fixture
def files(tmp_path: Path, issuer: Issuer, authority: Identity) -> Path:
    (tmp_path / "users.properties").write_text(USERS)
    (tmp_path / "jwks.json").write_text(issuer.key_set)
    (tmp_path / "trusted.pem").write_text(authority.certificate_pem)
    for name in ("worker", "dashboard", "deployer", "visitor"):
        one = authority.vouch_for(name)
        (tmp_path / f"{name}.pem").write_text(one.key_pem() + one.certificate_pem)
    return tmp_path


@pytest.fixture
def roles(files: Path) -> dict[str, str]:
    return {
        "rest.extension.classes": "RoleRestExtension",
        "rest.roles.read": "User:reader; User:dashboard",
        "rest.roles.operate": "User:operator;User:on-call",
        "rest.roles.change": "User:changer;User:deployer;User:CN=worker",
        "rest.roles.users.file": f"{files}/users.properties",
        "rest.roles.oauthbearer.jwks.file": f"{files}/jwks.json",
        "rest.roles.oauthbearer.expected.issuer": ISSUER,
        "rest.roles.oauthbearer.expected.audience": AUDIENCE,
    }


def with_tls(roles: dict[str, str], files: Path, auth: str = "requested") -> dict[str, str]:
    return {
        **roles,
        "ssl.keystore.location": f"{files}/worker.pem",
        "ssl.truststore.location": f"{files}/trusted.pem",
        "ssl.client.auth": auth,
        "ssl.principal.mapping.rules": r"RULE:^CN=(worker)$/CN=$1/,RULE:^CN=(.*?)$/$1/L",
    }


def ask(url: str, request: tuple[str, str], authorization: str = "") -> Answer:
    method, path = request
    return call(url, method, path, headers={"Authorization": authorization})


def test_each_user_may_do_what_the_role_allows(herder: MemoryHerder, roles: dict[str, str]) -> None:
    with serving(herder, **roles) as server:
        url = server.advertised_url
        for user, password, allowed in (("reader", "r1", 1), ("operator", "o1", 2), ("changer", "c1", 3)):
            statuses = [ask(url, request, basic(user, password)).status for request in (READ, OPERATE, CHANGE)]
            assert [status < 300 for status in statuses] == [number < allowed for number in range(3)]
            assert all(status in (200, 202, 204, 403) for status in statuses)
        herder.put_connector("c", {"connector.class": "X", "name": "c"}, allow_replace=True)
        refused = ask(url, CHANGE, basic("reader", "r1"))
        assert refused.json == {
            "error_code": 403,
            "message": "User:reader has the role read: DELETE /connectors/c needs change",
        }
        assert refused.headers["content-type"] == "application/json"
        nobody = ask(url, READ, basic("stranger", "s1"))
        assert (nobody.status, nobody.message) == (403, "User:stranger has no role: GET /connectors/c needs read")


@pytest.mark.parametrize(
    ("authorization", "message"),
    [
        ("", "The request has no user, no bearer token and no client certificate"),
        (basic("reader", "wrong"), "The user is unknown or the password is wrong"),
        (basic("nobody", "r1"), "The user is unknown or the password is wrong"),
        ("Basic !!!", "The user is unknown or the password is wrong"),
        ("Digest x", "This worker takes no credentials of the kind 'Digest'"),
        ("Bearer x", "The bearer token is not valid: "),
        ("Bearer ", "The bearer token is not valid: "),
    ],
)
def test_who_is_not_known_is_asked_for_credentials(
    herder: MemoryHerder, roles: dict[str, str], authorization: str, message: str
) -> None:
    with serving(herder, **roles) as server:
        answer = ask(server.advertised_url, READ, authorization)
    assert (answer.status, answer.json["error_code"]) == (401, 401)
    assert answer.message.startswith(message)
    challenge = 'Basic realm="KafkaConnect", Bearer realm="KafkaConnect"'
    refused_token = ', error="invalid_token"' if authorization.startswith("Bearer") else ""
    assert answer.headers["www-authenticate"] == challenge + refused_token


def test_tokens_have_roles(herder: MemoryHerder, roles: dict[str, str], issuer: Issuer) -> None:
    with serving(herder, **roles) as server:
        for name, statuses in (("reader", [200, 403, 403]), ("on-call", [200, 202, 403]), ("other", [403, 403, 403])):
            bearer = f"Bearer {issuer.token(name)}"
            assert [ask(server.advertised_url, one, bearer).status for one in (READ, OPERATE, CHANGE)] == statuses
        several = f"Bearer {issuer.token('reader', aud=['x', AUDIENCE])}"
        assert ask(server.advertised_url, READ, several).status == 200


@pytest.mark.parametrize(
    ("token", "says"),
    [
        (lambda issuer: issuer.token("reader", seconds=-60), "The bearer token has expired"),
        (lambda issuer: issuer.token("reader", exp=None), "exp"),
        (lambda issuer: issuer.token("reader", aud="another"), "aud"),
        (lambda issuer: issuer.token("reader", aud=None), "aud"),
        (lambda issuer: issuer.token("reader", iss="https://else.example"), "iss"),
        (lambda issuer: issuer.token("reader", sub=None), "has no claim 'sub' with a name"),
        (lambda issuer: Issuer.make().token("reader"), "bad_signature"),
        (lambda issuer: Issuer.make("another").token("reader"), "kid"),
        (lambda issuer: jwt.encode({"alg": "HS256"}, {"sub": "reader"}, OctKey.generate_key()), "is not valid: "),
    ],
)
def test_other_tokens_are_refused(
    herder: MemoryHerder, roles: dict[str, str], issuer: Issuer, token: Any, says: str
) -> None:
    with serving(herder, **roles) as server:
        answer = ask(server.advertised_url, READ, f"Bearer {token(issuer)}")
    assert answer.status == 401
    assert says in answer.message


def test_keys_are_read_again_when_their_file_changes(
    herder: MemoryHerder, roles: dict[str, str], files: Path, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    new, keys = Issuer.make("two"), files / "jwks.json"
    with serving(herder, **roles) as server:
        keys.write_text(new.key_set)
        assert ask(server.advertised_url, READ, f"Bearer {new.token('reader')}").status == 200
        assert ask(server.advertised_url, READ, f"Bearer {issuer.token('reader')}").status == 401
        keys.write_text("{}")
        assert ask(server.advertised_url, READ, f"Bearer {new.token('reader')}").status == 200
    assert any("holds no JSON Web Key Set" in message for message in caplog.messages)


def ask_by_certificate(url: str, files: Path, name: str | None, request: tuple[str, str]) -> requests.Response:
    shown = name and f"{files}/{name}.pem"
    method, path = request
    return requests.request(method, url.rstrip("/") + path, cert=shown, verify=f"{files}/trusted.pem", timeout=10)


def test_certificates_have_roles(herder: MemoryHerder, roles: dict[str, str], files: Path) -> None:
    with serving(herder, SECURE, **with_tls(roles, files)) as server:
        url = server.advertised_url
        for name, statuses in (("dashboard", [200, 403, 403]), ("visitor", [403, 403, 403]), (None, [401, 401, 401])):
            asked = [ask_by_certificate(url, files, name, one) for one in (READ, OPERATE, CHANGE)]
            assert [answer.status_code for answer in asked] == statuses
        assert ask_by_certificate(url, files, "deployer", CHANGE).status_code == 204
        visitor = ask_by_certificate(url, files, "visitor", READ).json()
        assert visitor == {"error_code": 403, "message": "User:visitor has no role: GET /connectors/c needs read"}


def test_without_a_rule_for_it_a_certificate_has_no_name(
    herder: MemoryHerder, roles: dict[str, str], files: Path
) -> None:
    props = {**with_tls(roles, files), "ssl.principal.mapping.rules": "RULE:^CN=none$/x/"}
    with serving(herder, SECURE, **props) as server:
        answer = ask_by_certificate(server.advertised_url, files, "dashboard", READ)
    message = "No rule of ssl.principal.mapping.rules applies to the client certificate of CN=dashboard"
    assert (answer.status_code, answer.json()["message"]) == (401, message)


def test_a_followers_certificate_and_the_users_header_reach_the_leader(
    herder: MemoryHerder, roles: dict[str, str], files: Path, issuer: Issuer
) -> None:
    """A user with a header is the same one at the leader; one with a certificate is the worker there."""
    follower, props = Follower(), with_tls(roles, files)
    with serving(herder, SECURE, **props) as leader, serving(follower, SECURE, LOCAL, **props) as other:
        follower.elsewhere = NotLeaderError("", leader.advertised_url)
        plain = f"http://127.0.0.1:{other.ports[1]}"
        create = ("PUT", "/connectors/d/config")
        for authorization, status in (
            (basic("changer", "c1"), 201),
            (f"Bearer {issuer.token('changer')}", 200),
            (basic("operator", "o1"), 403),
        ):
            headers = {"Authorization": authorization}
            assert call(plain, *create, {"connector.class": "X"}, headers).status == status
        secure = f"https://127.0.0.1:{other.ports[0]}/connectors/e/config"
        created = requests.put(
            secure,
            json={"connector.class": "X"},
            cert=f"{files}/deployer.pem",
            verify=f"{files}/trusted.pem",
            timeout=10,
        )
        assert created.status_code == 201


def test_matrix_parameters_and_other_spellings_change_no_role(herder: MemoryHerder, roles: dict[str, str]) -> None:
    with serving(herder, **roles) as server:
        operator = basic("operator", "o1")
        for path in ("/connectors/c;a=b/pause", "/connectors/c/pause/", "/connectors/c/pause;x"):
            assert ask(server.advertised_url, ("PUT", path), operator).status == 202
        for method, path in (("PUT", "/connectors/c/config;/pause"), ("PUT", "/connectors/c/offsets/pause")):
            assert ask(server.advertised_url, (method, path), operator).status == 403


@pytest.mark.parametrize(
    ("props", "says"),
    [
        ({"rest.roles.read": "", "rest.roles.operate": "", "rest.roles.change": " ; "}, "would let nobody in"),
        ({"rest.roles.read": "ann"}, "Invalid value ann for configuration rest.roles.read: 'ann' is not of the form"),
        ({"rest.roles.users.file": "/no/file"}, "Cannot read /no/file"),
        ({"rest.roles.oauthbearer.jwks.file": "/no/file"}, "Cannot read the keys in /no/file: No such file"),
        ({"rest.roles.oauthbearer.jwks.file": "{files}/users.properties"}, "holds no JSON Web Key Set"),
        ({"ssl.principal.mapping.rules": "RULE:x"}, "Expected DEFAULT or RULE:pattern/replacement/[LU] at 'RULE:x'"),
        ({"ssl.principal.mapping.rules": "RULE:(/x/"}, "The pattern '(' is wrong: "),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    roles: dict[str, str], files: Path, props: dict[str, str], says: str
) -> None:
    given = {name: value.format(files=files) for name, value in props.items()}
    with pytest.raises(ConfigError) as caught:
        rest_server(LOCAL, **{**roles, **given})
    assert says in str(caught.value)


def test_all_that_are_identified_may_be_named(herder: MemoryHerder, roles: dict[str, str]) -> None:
    with serving(herder, **{**roles, "rest.roles.read": "User:*"}) as server:
        assert ask(server.advertised_url, READ, basic("stranger", "s1")).status == 200
        assert ask(server.advertised_url, OPERATE, basic("operator", "o1")).status == 202
        assert ask(server.advertised_url, READ).status == 401


def test_each_route_has_its_role() -> None:
    needed = {(one.method, one.path): required_role(one.method, one.path) for one in ENDPOINTS}
    assert {path for path, role in needed.items() if role is Role.OPERATE} == {
        ("PUT", "/connectors/{connector}/pause"),
        ("PUT", "/connectors/{connector}/resume"),
        ("PUT", "/connectors/{connector}/stop"),
        ("POST", "/connectors/{connector}/restart"),
        ("POST", "/connectors/{connector}/tasks/{task}/restart"),
    }
    assert all(method == "GET" for (method, _), role in needed.items() if role is Role.READ)
    assert all(method != "GET" for (method, _), role in needed.items() if role is Role.CHANGE)
