"""Creating, changing and looking up connectors."""

from typing import Any

import pytest

from connect_dagster.herder.interface import Health, HealthReport
from connect_dagster.protocol.states import TargetState
from tests.unit.rest.asking import Asking
from tests.unit.rest.conftest import FILE_SOURCE
from tests.unit.rest.memory_herder import MemoryHerder

INFO = (
    b'{"name":"c","config":{"connector.class":"FileStreamSource","file":"/tmp/test.txt","topic":"connect-test",'
    b'"name":"c"},"tasks":[{"connector":"c","task":0}],"type":"source"}'
)
STATE = b'{"state":"RUNNING","worker_id":"127.0.0.1:8083","version":"4.3.1"}'
TASK_STATE = b'{"id":0,' + STATE[1:]
STATUS = b'{"name":"c","connector":' + STATE + b',"tasks":[' + TASK_STATE + b'],"type":"source"}'


def test_the_root_tells_version_and_cluster(ask: Asking) -> None:
    assert ask("GET", "/").body == b'{"version":"4.3.1","commit":"26b251a451ce941d","kafka_cluster_id":"cluster"}'


def test_progress_is_told_by_task(ask: Asking) -> None:
    assert ask("GET", "/dagster/progress").body == b'{"c-0":{"batchId":3}}'


@pytest.mark.parametrize(("health", "status"), [(Health.HEALTHY, 200), (Health.STARTING, 503), (Health.UNHEALTHY, 500)])
def test_health_has_a_status_each(herder: MemoryHerder, ask: Asking, health: Health, status: int) -> None:
    herder.report = HealthReport(health, "Why.")
    answer = ask("GET", "/health")
    assert (answer.status, answer.json) == (status, {"status": health.value, "message": "Why."})


def test_documents_have_javas_bytes(ask: Asking) -> None:
    assert ask("GET", "/connectors/c").body == INFO
    assert ask("GET", "/connectors/c/status").body == STATUS
    assert (
        ask("GET", "/connectors?expand=status&expand=info").body
        == b'{"c":{"status":' + STATUS + b',"info":' + INFO + b"}}"
    )
    assert ask("GET", "/connectors?expand=foo").body == b'{"c":{}}'


def test_a_connector_gone_while_it_is_expanded_is_left_out(
    herder: MemoryHerder, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(herder, "connectors", lambda: ["c", "gone"])
    assert list(ask("GET", "/connectors?expand=info").json) == ["c"]


def test_create_trims_the_name_and_reads_scalars_as_text(herder: MemoryHerder, ask: Asking) -> None:
    body = b'{"name":" n ","config":{"connector.class":"X","a":1.10,"b":true,"c":1E400,"d":-0}}'
    answer = ask("POST", "/connectors", body)
    assert answer.status == 201
    assert answer.headers["location"] == "http://here:8083/connectors/n"
    assert herder.configs["n"] == {
        "connector.class": "X",
        "a": "1.10",
        "b": "true",
        "c": "1E400",
        "d": "-0",
        "name": "n",
    }


@pytest.mark.parametrize(
    ("initial", "target"),
    [
        (None, TargetState.STARTED),
        ("running", TargetState.STARTED),
        ("Paused", TargetState.PAUSED),
        ("STOPPED", TargetState.STOPPED),
    ],
)
def test_create_knows_initial_states(
    herder: MemoryHerder, ask: Asking, initial: str | None, target: TargetState
) -> None:
    ask("POST", "/connectors", {"name": "n", "config": FILE_SOURCE, "initial_state": initial})
    assert herder.targets["n"] is target


def test_create_of_an_existing_name_is_409(ask: Asking) -> None:
    answer = ask("POST", "/connectors", {"name": "c", "config": FILE_SOURCE})
    assert (answer.status, answer.message) == (409, "Connector c already exists")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "no body"),
        (b" null ", "no body"),
        (b"{", "not valid JSON"),
        (b'{"config":{}} x', "not valid JSON"),
        (b'{"config":{"a":NaN}}', "`NaN` is not a JSON value"),
        (b'{"config":"\xff"}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (
            b"[]",
            "Cannot deserialize value of type `org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest` "
            "from Array value (token `JsonToken.START_ARRAY`)\n at the body: expected an object, got an array",
        ),
        (b'{"name":"x"}', "`config` is missing"),
        (b'{"nam":"x","config":{}}', 'Unrecognized field "nam"'),
        (b'{"name":"x","config":[]}', "config: expected an object, got an array"),
        (b'{"name":"x","config":{"n":{"a":1}}}', "config.n: expected a string, got an object"),
        (b'{"name":"x","config":{},"initial_state":"bad"}', "`bad` is none of RUNNING, PAUSED, STOPPED"),
        (b'{"name":"x","config":{},"initial_state":3}', "`3` is none of"),
    ],
)
def test_what_cannot_be_read_is_a_readable_500(ask: Asking, body: bytes | None, text: str) -> None:
    answer = ask("POST", "/connectors", body, {"Content-Type": "application/json"})
    assert (answer.status, answer.headers["content-type"]) == (500, "application/json")
    assert text in answer.message


def test_a_body_of_very_many_values_is_not_parsed(ask: Asking) -> None:
    """Failed: 32 megabytes of `[],` took 42 seconds and 11 gigabytes, for the millions of errors in them."""
    answer = ask("PUT", "/connectors/n/config", b"[" + b"[]," * 300_000 + b"[]]")
    assert (answer.status, answer.message) == (413, "The body has more than 500000 JSON values")


def test_put_config_creates_or_updates(herder: MemoryHerder, ask: Asking) -> None:
    created, updated = (ask("PUT", "/connectors/n/config", FILE_SOURCE) for _ in range(2))
    assert (created.status, created.headers["location"]) == (201, "http://here:8083/connectors/n")
    assert (updated.status, "location" in updated.headers) == (200, False)
    assert created.json == updated.json
    assert herder.configs["n"]["name"] == "n"


def test_put_config_refuses_another_name(ask: Asking) -> None:
    answer = ask("PUT", "/connectors/c/config", {**FILE_SOURCE, "name": "y"})
    assert answer.status == 400
    assert answer.message == "Connector name configuration (y) doesn't match connector name in the URL (c)"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("body", [None, b"null"])
def test_a_missing_config_is_a_readable_500(ask: Asking, method: str, body: bytes | None) -> None:
    answer = ask(method, "/connectors/c/config", body)
    assert (answer.status, answer.message[:23]) == (500, "The request has no body")


def test_patch_merges_and_deletes(ask: Asking) -> None:
    patch: dict[str, Any] = {"topic": "new", "file": None, "batch.size": 5}
    answer = ask("PATCH", "/connectors/c/config", patch)
    expected = {"connector.class": "FileStreamSource", "topic": "new", "name": "c", "batch.size": "5"}
    assert (answer.status, answer.json["config"]) == (200, expected)


def test_delete_has_no_body(ask: Asking) -> None:
    answer = ask("DELETE", "/connectors/c")
    assert (answer.status, answer.body, "content-type" in answer.headers) == (204, b"", False)
    assert ask("GET", "/connectors/c/config").message == "Connector c not found"
