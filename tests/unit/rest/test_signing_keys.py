"""Signing keys from a server: kept, asked for again after a time and for unknown keys, and kept while it is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from joserfc.jwk import KeySet

from connect_dagster.errors import ConfigError
from connect_dagster.rest.signing_keys import EndpointKeys
from tests.rest_calls import Answer, call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving
from tests.unit.rest.tokens import Issuer

PATH = "/keys"
WAIT_SECONDS = 30.0


class KeyServer:
    """Gives a key set.

    Attributes:
        content: of its responses.
        status: of its responses.
        requests: how many there were.
        open: responses wait for it.
    """

    def __init__(self) -> None:
        self.url, self.content, self.status, self.requests = "", "", 200, 0
        self.open = threading.Event()
        self.open.set()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer.make()


@pytest.fixture
def server(issuer: Issuer) -> Iterator[KeyServer]:
    made = KeyServer()
    made.content = issuer.key_set

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests += 1
            made.open.wait(WAIT_SECONDS)
            self.send_response(made.status)
            self.send_header("Content-Length", str(len(made.content)))
            self.end_headers()
            self.wfile.write(made.content.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{http.server_port}{PATH}"
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield made
    made.open.set()
    http.shutdown()
    http.server_close()


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def renewed(keys: EndpointKeys) -> bool:
    """Whether the keys were asked for, and are there."""
    if (renewal := keys.renewal()) is None:
        return False
    renewal.result(WAIT_SECONDS)
    return True


def kids(found: KeySet) -> list[str | None]:
    return [key.kid for key in found]


def test_keys_are_asked_for_once_while_they_are_fresh(server: KeyServer, clock: Clock) -> None:
    keys = EndpointKeys(server.url, refresh_seconds=60, clock=clock)
    clock.now += 59
    assert [kids(keys.current()) for _ in range(3)] == [["one"]] * 3
    assert server.requests == 1


def test_old_keys_serve_until_the_new_ones_are_there(server: KeyServer, clock: Clock) -> None:
    keys = EndpointKeys(server.url, refresh_seconds=60, clock=clock)
    server.content = Issuer.make("two").key_set
    server.open.clear()
    clock.now += 61
    assert kids(keys.current()) == ["one"]
    renewal = keys.renewal()
    assert renewal is not None
    server.open.set()
    renewal.result(WAIT_SECONDS)
    assert kids(keys.current()) == ["two"]
    assert server.requests == 2


def test_unknown_keys_have_the_server_asked_at_most_every_ten_seconds(server: KeyServer, clock: Clock) -> None:
    keys = EndpointKeys(server.url, clock=clock)
    assert [renewed(keys) for _ in range(3)] == [True, False, False]
    clock.now += 10
    assert [renewed(keys) for _ in range(3)] == [True, False, False]
    assert server.requests == 3


@pytest.mark.parametrize(("status", "content"), [(503, None), (200, "{}"), (200, "<html>"), (200, '{"keys": []}')])
def test_keys_stay_while_the_server_fails(
    server: KeyServer, clock: Clock, status: int, content: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    keys = EndpointKeys(server.url, refresh_seconds=60, clock=clock)
    good = server.content
    server.status, server.content = status, good if content is None else content
    assert renewed(keys)
    assert kids(keys.current()) == ["one"]
    assert [message for message in caplog.messages if server.url in message and "the last keys stay in use" in message]
    server.status, server.content = 200, Issuer.make("two").key_set
    clock.now += 10
    assert renewed(keys)
    assert kids(keys.current()) == ["two"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1/keys", "The server of signing keys http://127.0.0.1:1/keys does not respond: "),
        ("file:///keys", "must begin with http:// or https://: file:///keys"),
    ],
)
def test_a_server_that_cannot_be_asked_is_one_error(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        EndpointKeys(url)
    assert says in str(caught.value)


def test_a_refusal_at_the_start_is_one_error(server: KeyServer) -> None:
    server.status = 404
    with pytest.raises(ConfigError, match=f"The server of signing keys {server.url} responds with 404 Not Found"):
        EndpointKeys(server.url)


def roles(url: str) -> dict[str, str]:
    return {
        "rest.extension.classes": "RoleRestExtension",
        "rest.roles.read": "User:reader",
        "rest.roles.oauthbearer.jwks.endpoint.url": url,
    }


def ask(url: str, token: str) -> Answer:
    return call(url, "GET", "/connectors/c", headers={"Authorization": f"Bearer {token}"})


def test_tokens_of_a_new_key_are_valid_at_once(herder: MemoryHerder, server: KeyServer, issuer: Issuer) -> None:
    new = Issuer.make("two")
    with serving(herder, **roles(server.url)) as rest:
        assert ask(rest.advertised_url, issuer.token("reader")).status == 200
        server.content = new.key_set
        assert ask(rest.advertised_url, new.token("reader")).status == 200
        assert server.requests == 2
        gone = ask(rest.advertised_url, issuer.token("reader"))
    assert (gone.status, gone.message) == (401, "The bearer token is not valid: invalid_key_id: No key for kid: 'one'")


def test_who_waits_for_a_slow_server_holds_up_nobody(herder: MemoryHerder, server: KeyServer, issuer: Issuer) -> None:
    with serving(herder, **roles(server.url)) as rest:
        server.open.clear()
        waiting: list[int] = []
        unknown = Issuer.make("two").token("reader")
        other = threading.Thread(target=lambda: waiting.append(ask(rest.advertised_url, unknown).status))
        other.start()
        assert [ask(rest.advertised_url, issuer.token("reader")).status for _ in range(5)] == [200] * 5
        assert not waiting
        server.open.set()
        other.join(WAIT_SECONDS)
    assert waiting == [401]


def test_a_file_and_a_url_are_too_many(server: KeyServer, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"from rest\.roles\.oauthbearer\.jwks\.file or .*, not from both"):
        rest_server(LOCAL, **roles(server.url), **{"rest.roles.oauthbearer.jwks.file": f"{tmp_path}/keys"})
