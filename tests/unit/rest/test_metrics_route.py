"""`GET /metrics`: formats that Prometheus reads back."""

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.metrics.tasks import TaskPlugins
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

OPENMETRICS = "application/openmetrics-text"
# What Prometheus 2 and 3 send.
PROMETHEUS_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"  # noqa: E501
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)

NAME = 'a "b\\c\nd'


@pytest.fixture(autouse=True)
def measured(herder: MemoryHerder) -> None:
    sink = herder.measured.sink_task(TaskId(NAME, 0), TaskPlugins({"task-class": "x.Sink"}))
    sink.put_ended(20, 100, 100, None)


def test_text_by_default(ask: Asking) -> None:
    answer = ask("GET", "/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = {
        (sample.name, sample.labels.get("connector")): (family.type, sample.value)
        for family in parser.text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }
    assert found["kafka_connect_sink_task_sink_record_read_total", NAME] == ("counter", 100)
    assert found["kafka_connect_sink_task_put_batch_avg_time_ms", NAME] == ("gauge", 20)
    assert found["kafka_connect_worker_task_count", None] == ("gauge", 1)


@pytest.mark.parametrize("accept", [OPENMETRICS, PROMETHEUS_2, PROMETHEUS_3])
def test_openmetrics_for_those_who_ask(ask: Asking, accept: str) -> None:
    answer = ask("GET", "/metrics", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith(f"{OPENMETRICS}; version=1.0.0")
    families = read_openmetrics(answer.body.decode())  # type: ignore[no-untyped-call]
    samples = [sample for family in families for sample in family.samples]
    assert ("kafka_connect_sink_task_sink_record_read_total", 100) in [(one.name, one.value) for one in samples]
    assert "kafka_connect_version_info" in [one.name for one in samples]


def test_json_is_refused(ask: Asking) -> None:
    assert ask("GET", "/metrics", headers={"Accept": "application/json"}).status == 406
