"""Requests that another worker must answer: servers with real sockets, each on a herder of its own."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from connect_dagster.herder.interface import (
    ConnectorConfig,
    ConnectorOffset,
    ConnectorStatus,
    Created,
    NotAssignedError,
    NotLeaderError,
    RebalanceNeededError,
    RequestTargetError,
    RestartRequest,
)
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.rest.server import RestServer
from tests.rest_calls import Answer, call
from tests.unit.rest.conftest import FILE_SOURCE
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import serving

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
TOO_MANY_HOPS = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class Follower(MemoryHerder):
    """Leaves to another worker what a follower must leave to the leader, and the leader to a task's owner."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere: RequestTargetError = NotLeaderError("This worker is not the leader", None)

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        raise self.elsewhere

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        raise self.elsewhere

    def restart_task(self, task: TaskId) -> None:
        raise self.elsewhere

    def alter_connector_offsets(self, name: str, offsets: Any) -> str:
        raise self.elsewhere

    def put_task_configs(self, name: str, configs: Any, signature: Any) -> None:
        raise self.elsewhere

    def connectors(self) -> list[str]:
        raise RebalanceNeededError


class Pair:
    """A follower in front of a leader that holds the connector `c`."""

    def __init__(self, leader: RestServer, follower: RestServer, herder: Follower) -> None:
        self.leader, self.follower, self.herder = leader, follower, herder
        herder.elsewhere = NotLeaderError("This worker is not the leader", leader.advertised_url)

    def ask(self, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        return call(self.follower.advertised_url, method, target, body, headers)


@pytest.fixture
def following() -> Follower:
    return Follower()


@pytest.fixture
def pair(herder: MemoryHerder, following: Follower) -> Iterator[Pair]:
    with serving(herder) as leader, serving(following) as follower:
        yield Pair(leader, follower, following)


def test_a_created_connector_is_located_where_it_was_asked_for(pair: Pair, herder: MemoryHerder) -> None:
    name, path = "a/b 한", "a%2Fb%20%ED%95%9C"
    created = pair.ask("POST", "/connectors", {"name": f" {name} ", "config": {**FILE_SOURCE, "n": 1.10}})
    assert created.status == 201
    assert created.headers["location"] == f"{pair.follower.advertised_url}connectors/{path}"
    assert created.json["config"] == herder.configs[name] == {**FILE_SOURCE, "n": "1.1", "name": name}
    replaced = pair.ask("PUT", f"/connectors/{path}/config", {**FILE_SOURCE, "x": b"1.10".decode()})
    assert (replaced.status, "location" in replaced.headers) == (200, False)
    assert herder.configs[name]["x"] == "1.10"
    assert pair.ask("PUT", "/connectors/new/config", FILE_SOURCE).status == 201


def test_the_initial_state_is_kept(pair: Pair, herder: MemoryHerder) -> None:
    body = {"name": "s", "config": FILE_SOURCE, "initial_state": "stopped"}
    assert pair.ask("POST", "/connectors", body).status == 201
    assert herder.targets["s"] is TargetState.STOPPED


def test_numbers_stay_as_they_were_spelt(pair: Pair, herder: MemoryHerder) -> None:
    pair.ask("PUT", "/connectors/c/config", b'{"connector.class":"X","a":1.10,"b":true}')
    assert herder.configs["c"] == {"connector.class": "X", "a": "1.10", "b": "true", "name": "c"}


def test_errors_come_through(pair: Pair) -> None:
    exists = pair.ask("POST", "/connectors", {"name": "c", "config": FILE_SOURCE})
    assert (exists.status, exists.message) == (409, "Connector c already exists")
    invalid = pair.ask("PUT", "/connectors/d/config", {})
    assert (invalid.status, invalid.message) == (400, "Connector config {} contains no connector type")


def test_parameters_and_bodies_come_through(pair: Pair, herder: MemoryHerder) -> None:
    planned = pair.ask("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=TRUE&other=1")
    assert (planned.status, planned.json["name"]) == (202, "c")
    assert herder.restarts == [RestartRequest("c", only_failed=True, include_tasks=True)]
    offsets = {"offsets": [{"partition": {"p": "x"}, "offset": {"o": 7, "f": 0.5}}, {"partition": {}, "offset": None}]}
    assert pair.ask("PATCH", "/connectors/c/offsets", offsets).json == {"message": "altered"}
    assert herder.offsets["c"] == [ConnectorOffset({"p": "x"}, {"o": 7, "f": 0.5}), ConnectorOffset({}, None)]


def test_no_content_comes_through(pair: Pair, herder: MemoryHerder) -> None:
    answer = pair.ask("POST", "/connectors/c/tasks/0/restart")
    assert (answer.status, answer.body) == (204, b"")
    assert "content-type" not in answer.headers
    assert herder.restarts == [TaskId("c", 0)]


def test_a_user_is_known_to_the_leader_too(
    pair: Pair, herder: MemoryHerder, basic_auth: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(herder, **basic_auth) as leader:
        pair.herder.elsewhere = NotLeaderError("", leader.advertised_url)
        admitted = pair.ask("POST", "/connectors/c/tasks/0/restart", headers={"Authorization": "Basic bWU6c2VjcmV0"})
        assert admitted.status == 204
        refused = pair.ask("POST", "/connectors/c/tasks/0/restart")
        assert (refused.status, refused.message[:47]) == (500, "IO Error trying to forward REST request: Expect")


def test_without_a_leader_it_is_a_conflict(pair: Pair) -> None:
    pair.herder.elsewhere = NotLeaderError("", None)
    answer = pair.ask("PUT", "/connectors/c/config", FILE_SOURCE)
    assert (answer.status, answer.message) == (409, NO_LEADER)


def test_a_worker_that_is_gone_is_500(pair: Pair) -> None:
    pair.herder.elsewhere = NotLeaderError("", "http://127.0.0.1:1/")
    answer = pair.ask("PUT", "/connectors/c/config", FILE_SOURCE)
    assert answer.status == 500
    assert answer.message.startswith("IO Error trying to forward REST request: ")


def test_a_pending_rebalance_is_a_conflict(pair: Pair) -> None:
    answer = pair.ask("GET", "/connectors")
    text = "Cannot complete request momentarily due to stale configuration"
    assert (answer.status, answer.message) == (409, f"{text} (typically caused by a concurrent config change)")


def test_a_request_makes_two_hops_and_no_third(herder: MemoryHerder) -> None:
    first, second, third = Follower(), Follower(), Follower()
    with ExitStack() as servers:
        owner, *workers = [servers.enter_context(serving(each)) for each in (herder, third, second, first)]
        by_worker = dict(zip((third, second, first), workers, strict=True))
        first.elsewhere = NotLeaderError("", by_worker[second].advertised_url)
        second.elsewhere = NotAssignedError("", owner.advertised_url)
        restart = "/connectors/c/tasks/0/restart"
        assert call(by_worker[first].advertised_url, "POST", restart).status == 204
        assert herder.restarts == [TaskId("c", 0)]
        second.elsewhere = NotAssignedError("", by_worker[third].advertised_url)
        third.elsewhere = NotLeaderError("", owner.advertised_url)
        refused = call(by_worker[first].advertised_url, "POST", restart)
        assert (refused.status, refused.message) == (409, TOO_MANY_HOPS)
        assert len(herder.restarts) == 1


@pytest.mark.parametrize(("forward", "status"), [("true", 204), ("", 204), ("TRUE", 204), ("false", 409), ("x", 409)])
def test_a_request_may_say_that_it_was_forwarded(pair: Pair, forward: str, status: int) -> None:
    assert pair.ask("POST", f"/connectors/c/tasks/0/restart?forward={forward}").status == status


def test_a_signature_is_not_passed_on(pair: Pair, herder: MemoryHerder) -> None:
    signed = {"X-Connect-Authorization": "aaaa", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    assert pair.ask("POST", "/connectors/c/tasks", [{"a": 1}], signed).status == 204
    assert herder.published == ("c", [{"a": "1"}], None)
