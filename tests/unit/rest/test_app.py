"""What all routes share: paths, methods, media types, errors, time limits."""

import time

import pytest

from connect_dagster.herder.interface import Herder
from connect_dagster.rest.app import ENDPOINTS, create_app
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import TEXT, returns
from connect_dagster.rest.worker_routes import unhealthy
from tests.unit.rest.asking import Asking
from tests.unit.rest.conftest import FILE_SOURCE
from tests.unit.rest.memory_herder import MemoryHerder


@pytest.mark.parametrize(
    "path", ["/nope", "/connectors/c/nope", "/Connectors", "/connectors//", "/connectors/a/b/status"]
)
def test_unknown_paths_are_404_without_content_type(ask: Asking, path: str) -> None:
    answer = ask("GET", path)
    assert answer.body == b'{"error_code":404,"message":"HTTP 404 Not Found"}'
    assert answer.status == 404
    assert "content-type" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/"), ("DELETE", "/connectors"), ("GET", "/connectors/c/pause"), ("FOO", "/connectors")],
)
def test_wrong_methods_are_405_without_content_type(ask: Asking, method: str, path: str) -> None:
    answer = ask(method, path)
    assert (answer.status, answer.message) == (405, "HTTP 405 Method Not Allowed")
    assert "content-type" not in answer.headers


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/connectors"), ("PUT", "/connectors/c/pause"), ("GET", "/connectors")]
)
def test_a_declared_type_other_than_json_is_415(ask: Asking, method: str, path: str, media: str) -> None:
    answer = ask(method, path, b"{}", {"Content-Type": media})
    assert (answer.status, answer.message) == (415, "HTTP 415 Unsupported Media Type")
    assert "content-type" not in answer.headers


def test_a_body_without_type_is_415_where_it_would_be_read(ask: Asking) -> None:
    answer = ask("PUT", "/connectors/c/config", b"{}", {"Content-Type": ""})
    assert (answer.status, answer.headers["content-type"]) == (415, "application/json")
    assert ask("PUT", "/connectors/c/pause", b"x", {"Content-Type": ""}).status == 202


def test_the_root_takes_any_type(ask: Asking) -> None:
    assert ask("GET", "/", headers={"Content-Type": "text/plain"}).status == 200


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/html", 406),
        ("application/json;q=0", 200),  # as Jersey
        ("*/*", 200),
        ("application/xml, application/json;q=0.5", 200),
        ("application/*", 200),
    ],
)
def test_accept_is_honoured(ask: Asking, accept: str, status: int) -> None:
    assert ask("GET", "/connectors", headers={"Accept": accept}).status == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", 200),
        ("text/*", 200),
        ("", 200),
        ("application/json", 406),
    ],
)
def test_an_endpoint_may_answer_with_other_types(herder: MemoryHerder, accept: str, status: int) -> None:
    told = Endpoint("GET", "/text", _accepted, returns(TEXT), json_only=False, produces=("text/plain",))
    answer = Asking(create_app(herder, [told]))("GET", "/text", headers={"Accept": accept})
    assert answer.status == status
    if status == 200:
        assert answer.body.decode() == accept


@pytest.mark.parametrize("path", ["/connectors/", "/connectors;a=b", "/connectors/?x=y"])
def test_trailing_slash_and_matrix_parameters_are_ignored(ask: Asking, path: str) -> None:
    assert ask("GET", path).body == b'["c"]'


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("a b", "a%20b"),
        ("a+b", "a+b"),
        ("a;b", "a%3Bb"),
        ("한글", "%ED%95%9C%EA%B8%80"),
        ("a%2Fb", "a%252Fb"),
    ],
)
def test_names_are_escaped_in_paths_and_in_location(ask: Asking, name: str, segment: str) -> None:
    answer = ask("POST", "/connectors", {"name": name, "config": FILE_SOURCE})
    assert answer.headers["location"] == f"http://here:8083/connectors/{segment}"
    assert ask("GET", f"/connectors/{segment}/status").json["name"] == name
    assert ask("DELETE", f"/connectors/{segment}").status == 204


def test_head_and_options(ask: Asking) -> None:
    assert ask("HEAD", "/connectors").headers["content-length"] == "5"
    options = ask("OPTIONS", "/connectors")
    assert sorted(options.headers["allow"].split(",")) == ["GET", "HEAD", "OPTIONS", "POST"]
    assert options.headers["content-type"].startswith("text/plain")


def test_a_late_answer_is_a_500_that_tells_since_when(herder: MemoryHerder) -> None:
    ask = Asking(create_app(herder, [Endpoint("GET", "/slow", _sleep, returns(TEXT), seconds=0.05)]))
    answer = ask("GET", "/slow")
    assert answer.status == 500
    assert answer.message.startswith("Request timed out. The worker is currently handling GET /slow, which began at 2")
    assert answer.message.endswith("Z.")


def test_a_late_answer_tells_what_the_worker_is_doing_if_it_knows(
    herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = "The worker is currently polling the group coordinator, which began at 2026-01-01T00:00:00Z."
    monkeypatch.setattr(herder, "stage", lambda: stage)
    answer = Asking(create_app(herder, [Endpoint("GET", "/slow", _sleep, returns(TEXT), seconds=0.05)]))("GET", "/slow")
    assert (answer.status, answer.message) == (500, f"Request timed out. {stage}")


def test_a_late_health_is_unhealthy(herder: MemoryHerder) -> None:
    ask = Asking(create_app(herder, [Endpoint("GET", "/health", _sleep, returns(TEXT), seconds=0.05, late=unhealthy)]))
    answer = ask("GET", "/health")
    assert (answer.status, answer.json["status"]) == (500, "unhealthy")
    assert "may be unable to handle other requests. The worker is currently" in answer.json["message"]


def test_the_unexpected_is_a_500_with_its_text(herder: MemoryHerder) -> None:
    def fail(_: Herder, __: Call) -> Reply:
        raise KeyError("offset")

    answer = Asking(create_app(herder, [Endpoint("GET", "/bad", fail, returns(TEXT))]))("GET", "/bad")
    assert (answer.status, answer.message) == (500, "'offset'")


def test_the_text_of_the_unexpected_has_no_secrets(herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Herder, __: Call) -> Reply:
        raise KeyError("hunter2")

    monkeypatch.setattr(herder, "masked", lambda text: text.replace("hunter2", "[hidden]"))
    answer = Asking(create_app(herder, [Endpoint("GET", "/bad", fail, returns(TEXT))]))("GET", "/bad")
    assert (answer.status, answer.message) == (500, "'[hidden]'")


def test_each_method_of_a_path_has_one_endpoint() -> None:
    rows = [(endpoint.method, endpoint.path) for endpoint in ENDPOINTS]
    assert len(rows) == len(set(rows))


def _sleep(_: Herder, __: Call) -> Reply:
    time.sleep(0.3)
    return Reply(200)


def _accepted(_: Herder, call: Call) -> Reply:
    return Reply(200, call.headers.get("accept", "").encode(), {"Content-Type": "text/plain"})
