"""The description of the API: complete, and true as far as schemathesis can tell."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case

from connect_dagster.rest.app import ENDPOINTS, create_app
from connect_dagster.rest.exchange import Endpoint
from connect_dagster.rest.openapi import openapi_document
from tests.unit.rest.asking import Asking
from tests.unit.rest.conftest import FILE_SOURCE
from tests.unit.rest.describing import CHECKS, is_ours_to_mend
from tests.unit.rest.memory_herder import MemoryHerder


def _app_with_connectors() -> object:
    herder = MemoryHerder()
    for name in ("0", "00"):  # the names that schemathesis tries first
        herder.put_connector(name, {**FILE_SOURCE, "name": name}, allow_replace=False)
    return create_app(herder)


SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", _app_with_connectors())


# The same few hundred requests each time: seconds, not minutes.
@SCHEMA.parametrize()
@settings(max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
def test_answers_follow_the_description(case: Case[Any]) -> None:
    answer = case.call()
    case.validate_response(answer, checks=CHECKS)
    assert not is_ours_to_mend(answer)


def test_every_route_for_users_is_described() -> None:
    for_users = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS if not endpoint.internal}
    paths = openapi_document(ENDPOINTS)["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == for_users
    assert all(operation["summary"].endswith(".") for methods in paths.values() for operation in methods.values())


def test_a_route_without_description_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="operation"):
        Endpoint("GET", "/new", ENDPOINTS[0].answer)  # type: ignore[call-arg]  # this is the point


def test_requests_among_workers_are_not_for_users(ask: Asking) -> None:
    paths = ask("GET", "/openapi.json").json["paths"]
    assert list(paths["/connectors/{connector}/tasks"]) == ["get"]
    assert "/connectors/{connector}/fence" not in paths


def test_parameters_are_described(ask: Asking) -> None:
    paths = ask("GET", "/openapi.json").json["paths"]
    names = {
        (path, method): {parameter["name"] for parameter in operation["parameters"]}
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    assert names["/connectors", "get"] == {"expand"}
    assert names["/connectors/{connector}/restart", "post"] == {"connector", "includeTasks", "onlyFailed", "forward"}
    assert names["/admin/loggers/{logger}", "put"] == {"logger", "scope"}
    assert names["/connector-plugins/{plugin}/config", "get"] == {"plugin", "version"}


def test_the_description_describes_itself(ask: Asking) -> None:
    answer = ask("GET", "/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["openapi"].startswith("3.1")
    assert "get" in answer.json["paths"]["/openapi.json"]
