"""Extensions of the REST API: found by their entry points, called before the routes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any, ClassVar

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation.declarations import REST_EXTENSIONS
from connect_dagster.plugin import ClusterState, RestExtension
from connect_dagster.rest.roles import RoleRestExtension
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving

HERE = __name__


class Counting(RestExtension):
    """Counts requests under `/count`, which it adds, and refuses those that say so."""

    closed: ClassVar[int] = 0

    def configure(self, config: Mapping[str, str]) -> None:
        self._begin = int(config.get("count.begin", "0"))

    def register(self, app: ASGIApp, cluster_state: ClusterState) -> ASGIApp:
        async def count(request: Request) -> JSONResponse:
            names = await run_in_threadpool(cluster_state.connectors)
            config = await run_in_threadpool(cluster_state.connector_config, "c")
            health = await run_in_threadpool(cluster_state.connector_health, "c")
            counted = {"requests": self._begin, "class": config["connector.class"], "health": health["name"]}
            return JSONResponse({**counted, "connectors": names})

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            self._begin += 1
            if b"x-refuse" in dict(scope["headers"]):
                await PlainTextResponse("refused", 418)(scope, receive, send)
            elif b"x-fail" in dict(scope["headers"]):
                raise KeyError("secret")
            else:
                await app(scope, receive, send)

        return Router([Route("/count", count), Mount("/", counted)])

    def close(self) -> None:
        Counting.closed += 1


class Marking(RestExtension):
    """Marks requests of which the other has had none yet."""

    def register(self, app: ASGIApp, cluster_state: ClusterState) -> ASGIApp:
        async def marked(scope: Scope, receive: Receive, send: Send) -> None:
            added = [(b"x-refuse", b"1")] if scope["path"] == "/connectors/marked" else []
            await app({**scope, "headers": [*scope["headers"], *added]}, receive, send)

        return marked


class Signing(MemoryHerder):
    """Of a group whose workers sign."""

    @property
    def requires_signature(self) -> bool:
        return True


NOT_ONE = object


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declare the extensions of this module, as a distribution would."""
    points = [("counting", "Counting"), ("marking", "Marking"), ("object", "NOT_ONE"), ("gone", "Gone")]
    found = EntryPoints(EntryPoint(alias, f"{HERE}:{name}", REST_EXTENSIONS) for alias, name in points)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: found if group == REST_EXTENSIONS else EntryPoints()
    )


def test_an_extension_answers_passes_on_and_adds_routes(herder: MemoryHerder) -> None:
    before = Counting.closed
    with serving(herder, **{"rest.extension.classes": "counting", "count.begin": "40"}) as server:
        url = server.advertised_url
        assert call(url, "GET", "/connectors").json == ["c"]
        refused = call(url, "GET", "/connectors/c/status", headers={"X-Refuse": "1"})
        assert (refused.status, refused.body) == (418, b"refused")
        assert call(url, "PUT", "/connectors/c/pause").status == 202
        assert call(url, "GET", "/nope").message == "HTTP 404 Not Found"
        told = {"requests": 44, "class": "FileStreamSource", "health": "c", "connectors": ["c"]}
        assert call(url, "GET", "/count").json == told
    assert Counting.closed == before + 1


def test_extensions_run_in_the_order_of_their_names(herder: MemoryHerder) -> None:
    for names, status in ((f"marking,{HERE}.Counting", 418), ("counting,marking", 404)):
        with serving(herder, **{"rest.extension.classes": names}) as server:
            assert call(server.advertised_url, "GET", "/connectors/marked").status == status


def test_basic_authentication_goes_with_them(herder: MemoryHerder, basic_auth: dict[str, str]) -> None:
    names = f"{basic_auth['rest.extension.classes']},counting"
    with serving(herder, **{"rest.extension.classes": names}) as server:
        assert call(server.advertised_url, "GET", "/connectors").status == 401
        assert call(server.advertised_url, "GET", "/connectors", headers={"X-Refuse": "1"}).status == 418


def test_an_extension_that_fails_is_an_error_of_kafka_connect(
    herder: MemoryHerder, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(herder, **{"rest.extension.classes": "counting"}) as server:
        answer = call(server.advertised_url, "GET", "/connectors", headers={"X-Fail": "1"})
        assert answer.json == {
            "error_code": 500,
            "message": "An extension of the REST API failed; the worker's log has the cause",
        }
    assert "A REST extension failed at GET /connectors" in caplog.messages


@pytest.mark.parametrize(("herder_class", "passed_on"), [(Signing, True), (MemoryHerder, False)])
def test_requests_among_workers_go_past_it_only_when_they_are_signed(
    herder_class: type[MemoryHerder], passed_on: bool
) -> None:
    herder = herder_class()
    herder.put_connector("c", {"connector.class": "X", "name": "c"}, allow_replace=False)
    with serving(herder, **{"rest.extension.classes": "counting"}) as server:
        for request in (("PUT", "/connectors/c/fence"), ("POST", "/connectors/c/tasks/")):
            status = call(server.advertised_url, *request, headers={"X-Refuse": "1"}).status
            assert (status != 418) is passed_on
            assert (status == 400) is passed_on  # it has no signature
        other = call(server.advertised_url, "GET", "/connectors/c/tasks", headers={"X-Refuse": "1"})
        assert other.status == 418


def test_what_ships_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    props: dict[str, Any] = {"rest.roles.read": "User:a"}
    for name in ("RoleRestExtension", "connect_dagster.rest.roles.RoleRestExtension"):
        server = rest_server(LOCAL, **{"rest.extension.classes": name, **props})
        (extension,) = server._settings.extensions
        assert isinstance(extension, RoleRestExtension)


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("x.Y", ConnectError, "name matches x.Y, available extensions are: org.apache.kafka.connect.rest.basic.auth"),
        ("gone", ConnectError, f"The REST extension {HERE}.Gone cannot be loaded: module '{HERE}' has no attribute"),
        ("object", ConfigError, "is not a subclass of RestExtension"),
    ],
)
def test_other_names_are_refused(name: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        rest_server(LOCAL, **{"rest.extension.classes": name})
    assert says in str(caught.value)
