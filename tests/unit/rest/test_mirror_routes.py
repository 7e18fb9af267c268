"""What the processes of MirrorMaker ask of a leader."""

import pytest

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.protocol.signature import signed_headers
from connect_dagster.protocol.states import TaskId
from connect_dagster.rest.limits import LIMITS
from connect_dagster.rest.mirror_routes import mirror_app
from connect_dagster.worker.metrics.tasks import TaskPlugins
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

FLOWS = (Flow("A", "B"), Flow("B", "A"), Flow("us east", "a/b~"))
BODY = b'[{"task.index":"0"}]'


@pytest.fixture
def herders() -> dict[Flow, MemoryHerder]:
    made = {flow: MemoryHerder() for flow in FLOWS}
    for herder in made.values():
        herder.put_connector("c", {"name": "c", "connector.class": "Any"}, allow_replace=False)
    return made


@pytest.fixture
def ask(herders: dict[Flow, MemoryHerder]) -> Asking:
    return Asking(mirror_app(herders, RestClient(), LIMITS))


@pytest.mark.parametrize(
    ("flow", "path"),
    [
        (FLOWS[0], "/A/B"),
        (FLOWS[1], "/B/A"),
        (FLOWS[2], "/us%20east/a%2Fb%7E"),
        (FLOWS[2], "/us%20east/a%2fb~"),
    ],
)
def test_a_request_reaches_the_group_of_its_flow(
    herders: dict[Flow, MemoryHerder], ask: Asking, flow: Flow, path: str
) -> None:
    answer = ask("POST", f"{path}/connectors/c/tasks", BODY, signed_headers(b"key", "HmacSHA256", BODY))
    assert (answer.status, answer.body) == (204, b"")
    assert herders[flow].published[:2] == ("c", [{"task.index": "0"}])
    assert ask("PUT", f"{path}/connectors/c/fence").status == 204
    assert herders[flow].fenced[0] == "c"


def test_an_unknown_flow_is_named(ask: Asking) -> None:
    answer = ask("POST", "/A/C/connectors/c/tasks", BODY)
    assert (answer.status, answer.message) == (404, "No replication flow found for source 'A' and target 'C'")


def test_a_flow_shows_its_metrics(herders: dict[Flow, MemoryHerder], ask: Asking) -> None:
    herders[FLOWS[0]].measured.sink_task(TaskId("c", 0), TaskPlugins({"task-class": "x.Sink"}))
    shown, other = (ask("GET", f"{path}/metrics") for path in ("/A/B", "/B/A"))
    assert (shown.status, other.status) == (200, 200)
    assert b'connector="c"' in shown.body
    assert b'connector="c"' not in other.body


@pytest.mark.parametrize(
    "path",
    ["/", "/A", "/A/B", "/metrics", "/A/B/openapi.json", "/A/B/connectors", "/A/B/connectors/c", "/openapi.json"],
)
def test_there_is_nothing_for_users(ask: Asking, path: str) -> None:
    assert ask("GET", path).status == 404
