"""Where `/admin` is served."""

import logging

import pytest

from connect_dagster.errors import ConfigError
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving


def test_the_listeners_serve_it_by_default(herder: MemoryHerder) -> None:
    with serving(herder) as server:
        assert call(server.advertised_url, "GET", "/admin/loggers/root").status == 200
        assert server.admin_ports == []


def test_nothing_serves_it_when_it_is_empty(herder: MemoryHerder) -> None:
    with serving(herder, **{"admin.listeners": ""}) as server:
        answer = call(server.advertised_url, "GET", "/admin/loggers")
        assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")
        assert "/admin/loggers" not in call(server.advertised_url, "GET", "/openapi.json").json["paths"]


def test_listeners_of_its_own_serve_it_and_nothing_else(
    herder: MemoryHerder, basic_auth: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    props = {"admin.listeners": f"{LOCAL}, http://localhost:0", "access.control.allow.origin": "*", **basic_auth}
    with caplog.at_level(logging.INFO), serving(herder, **props) as server:
        assert call(server.advertised_url, "GET", "/admin/loggers").status == 404
        for port in server.admin_ports:
            admin = f"http://127.0.0.1:{port}"
            told = call(admin, "GET", "/admin/loggers/root")
            assert (told.status, told.json["level"]) == (200, "INFO")
            assert "vary" not in told.headers
            assert call(admin, "PUT", "/admin/loggers/x", {"level": "WARN"}).json == ["x"]
            assert call(admin, "GET", "/connectors").status == 404
    assert f"REST admin endpoints at {LOCAL},http://localhost:0" in caplog.messages
    assert sum('"GET /admin/loggers/root HTTP/1.1" 200 ' in message for message in caplog.messages) == 2


def test_a_taken_admin_port_frees_the_others(herder: MemoryHerder) -> None:
    with serving(herder, **{"admin.listeners": LOCAL}) as server:
        taken = f"http://127.0.0.1:{server.admin_ports[0]}"
        other = rest_server(LOCAL, **{"admin.listeners": taken})
        with pytest.raises(Exception, match="Address already in use"):
            other.bind()
        assert other.ports == []


def test_other_listeners_are_refused_by_their_setting() -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value ftp://x:1 for configuration admin\.listeners: "):
        rest_server(LOCAL, **{"admin.listeners": "ftp://x:1"})


@pytest.mark.parametrize(
    ("listener", "reached"),
    [(LOCAL, False), ("http://localhost:0", False), ("http://:0", True), ("http://0.0.0.0:0", True)],
)
def test_listeners_that_other_machines_reach_are_named(
    caplog: pytest.LogCaptureFixture, listener: str, reached: bool
) -> None:
    server = rest_server(LOCAL, **{"admin.listeners": listener})
    server.bind()
    server.stop()
    told = [message for message in caplog.messages if "without a login" in message]
    assert len(told) == reached
    assert all(f"/admin at {listener} of admin.listeners" in message for message in told)
