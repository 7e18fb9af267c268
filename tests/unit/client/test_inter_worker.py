"""Requests from worker to worker, against a server that records them."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConfigError, RestError
from connect_dagster.protocol.signature import RequestSignature

JSON = {"Content-Type": "application/json"}


@dataclass(slots=True)
class Other:
    """Another worker: what it was asked, and what it answers."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length", 0))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append((request.command, request.path, headers, request.rfile.read(length)))
        request.send_response(self.status)
        for name, value in self.headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(self.body)


@pytest.fixture
def other() -> Iterator[Other]:
    other = Other()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            other.answer(self)

        do_POST = do_PUT  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        other.url = f"http://127.0.0.1:{server.server_port}/connectors/a%2Fb/tasks?forward=true"
        yield other
        server.shutdown()


def test_a_request_carries_what_javas_does(other: Other) -> None:
    other.body, other.headers = b'{"name":"c"}', {"Location": "/x"}
    answer = RestClient().request(other.url, "POST", {"Authorization": "Basic eA=="}, b"[]")
    assert (answer.status, answer.body, answer.headers["location"]) == (200, b'{"name":"c"}', "/x")
    ((method, target, headers, body),) = other.asked
    assert (method, target, body) == ("POST", "/connectors/a%2Fb/tasks?forward=true", b"[]")
    assert {name: headers[name] for name in ("accept", "user-agent", "content-type", "authorization")} == {
        "accept": "application/json",
        "user-agent": "kafka-connect",
        "content-type": "application/json",
        "authorization": "Basic eA==",
    }
    assert "x-connect-authorization" not in headers


def test_without_a_body_there_is_no_content_type(other: Other) -> None:
    RestClient().request(other.url, "PUT")
    ((_, _, headers, body),) = other.asked
    assert (body, "content-type" in headers) == (b"", False)


@pytest.mark.parametrize("body", [b'[{"a":"b"}]', None])
def test_a_signed_request_is_believed(other: Other, body: bytes | None) -> None:
    RestClient().request(other.url, "POST", body=body, signature_key=b"key", signature_algorithm="HmacSHA256")
    ((_, _, headers, sent),) = other.asked
    signature = RequestSignature.of(sent, headers)
    assert signature
    assert signature.matches(b"key")


def test_no_content_is_a_success(other: Other) -> None:
    other.status, other.body = 204, b""
    assert RestClient().request(other.url, "PUT").status == 204


def test_an_error_keeps_its_status_and_text(other: Other) -> None:
    other.status, other.body = 409, json.dumps({"error_code": 409, "message": "Connector c already exists"}).encode()
    with pytest.raises(RestError, match=r"^Connector c already exists$") as caught:
        RestClient().request(other.url, "POST")
    assert caught.value.status == 409


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (401, b"User cannot access the resource.", "IO Error trying to forward REST request: Expecting value"),
        (500, b'["x"]', "IO Error trying to forward REST request: the other worker's error is not an error document"),
        (502, b"\xff", "IO Error trying to forward REST request: 'utf-8' codec"),
        (200, b"", "IO Error trying to forward REST request: Expecting value"),
        (302, b"", "Unexpected status code when handling forwarded request: 302"),
    ],
)
def test_what_no_worker_answers_is_500(other: Other, status: int, body: bytes, text: str) -> None:
    other.status, other.body, other.headers = status, body, {"Location": other.url}
    with pytest.raises(RestError) as caught:
        RestClient().request(other.url, "PUT")
    assert caught.value.status == 500
    assert str(caught.value).startswith(text)
    assert len(other.asked) == 1


def test_nobody_there_is_500(other: Other) -> None:
    with pytest.raises(RestError, match=r"^IO Error trying to forward REST request: .*refused") as caught:
        RestClient().request("http://127.0.0.1:1/", "PUT")
    assert caught.value.status == 500


def test_the_machines_proxies_and_passwords_are_not_used(
    other: Other, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    RestClient().request(other.url, "PUT")
    assert "authorization" not in other.asked[0][2]


def test_tls_settings_are_read_for_https_alone(other: Other) -> None:
    def fail() -> None:
        raise ConfigError("no such key store")

    client = RestClient(fail)  # type: ignore[arg-type]  # it makes nothing
    assert client.request(other.url, "PUT").status == 200
    with pytest.raises(RestError, match=r"^Error trying to forward REST request: no such key store$"):
        client.request(other.url.replace("http:", "https:"), "PUT")
