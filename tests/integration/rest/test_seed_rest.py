"""The REST calls of the first article, on a running worker."""

import re

from confluent_kafka.admin import AdminClient

from tests.integration.rest.conftest import NAME, SeedWorker
from tests.rest_calls import Answer

PATH = f"/connectors/{NAME}"
SINK_PLUGIN = "/connector-plugins/FileStreamSinkConnector/config/validate"
FULL_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
FULL_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def _get(worker: SeedWorker, target: str) -> Answer:
    return worker.process.call("GET", target)


def test_s1_27_the_root_tells_version_commit_and_cluster(worker: SeedWorker) -> None:
    answer = _get(worker, "/")
    cluster = AdminClient({"bootstrap.servers": worker.broker.bootstrap_servers}).list_topics(timeout=10).cluster_id
    assert answer.status == 200
    assert list(answer.json) == ["version", "commit", "kafka_cluster_id"]
    assert answer.json["version"] == "4.3.1"
    assert re.fullmatch(r"[0-9a-f]{16}", answer.json["commit"])
    assert answer.json["kafka_cluster_id"] == cluster


def test_s1_28_the_list_and_its_expansions(worker: SeedWorker) -> None:
    for target in ("/connectors/", "/connectors"):
        answer = _get(worker, target)
        assert (answer.status, answer.json) == (200, [NAME])
    expanded = _get(worker, "/connectors?expand=status&expand=info")
    single = {"status": _get(worker, f"{PATH}/status").json, "info": _get(worker, PATH).json}
    assert (expanded.status, expanded.json) == (200, {NAME: single})


def test_s1_29_put_without_a_body_changes_nothing_and_get_reads(worker: SeedWorker) -> None:
    before = _get(worker, f"{PATH}/config")
    answer = worker.process.call("PUT", f"{PATH}/config")
    assert answer.status == 500
    assert answer.message.startswith("The request has no body")
    after = _get(worker, f"{PATH}/config")
    assert (after.status, after.body) == (200, before.body)
    assert after.json["connector.class"] == "FileStreamSource"


def test_s1_30_the_status_tells_versions(worker: SeedWorker) -> None:
    status = _get(worker, f"{PATH}/status").json
    state = {"state": "RUNNING", "worker_id": worker.process.rest_url.removeprefix("http://"), "version": "4.3.1"}
    assert list(status) == ["name", "connector", "tasks", "type"]
    assert status == {"name": NAME, "connector": state, "tasks": [{"id": 0, **state}], "type": "source"}


def test_s1_33_deleted_and_created_again_it_resumes(worker: SeedWorker) -> None:
    call, config = worker.process.call, _get(worker, f"{PATH}/config").json
    worker.process.wait_until(lambda: _get(worker, f"{PATH}/offsets").json["offsets"] != [], "commit", 20)
    records = worker.end_offset()
    deleted = call("DELETE", PATH)
    assert (deleted.status, deleted.body) == (204, b"")
    gone = {target: _get(worker, PATH + target) for target in ("", "/config", "/tasks", "/offsets", "/tasks/0/status")}
    assert {answer.status for answer in gone.values()} == {404}
    assert _get(worker, f"{PATH}/status").message == "No status found for connector local-file-source"
    assert _get(worker, f"{PATH}/topics").status == 200

    assert call("POST", "/connectors", {"name": NAME, "config": config}).status == 201
    worker.process.wait_states(NAME, "RUNNING", "RUNNING")
    with worker.file.open("a") as file:
        file.write("fourth\n")
    worker.process.wait_until(lambda: worker.end_offset() > records, "send the new line", 20)
    assert worker.end_offset() == records + 1


def test_s1_34_tasks_and_topics(worker: SeedWorker) -> None:
    (task,) = _get(worker, f"{PATH}/tasks").json
    assert task["id"] == {"connector": NAME, "task": 0}
    assert task["config"]["task.class"] == "org.apache.kafka.connect.file.FileStreamSourceTask"
    status = _get(worker, f"{PATH}/tasks/0/status").json
    assert list(status) == ["id", "state", "worker_id", "version"]
    assert (status["id"], status["state"]) == (0, "RUNNING")

    topics = {NAME: {"topics": [worker.topic]}}
    worker.process.wait_until(lambda: _get(worker, f"{PATH}/topics").json == topics, "show its topic", 20)
    assert worker.process.call("PUT", f"{PATH}/topics/reset").status == 202
    assert _get(worker, f"{PATH}/topics").json == {NAME: {"topics": []}}
    unknown = _get(worker, "/connectors/nobody/topics")
    assert (unknown.status, unknown.json) == (200, {"nobody": {"topics": []}})


def test_s1_35_plugins_are_sinks_then_sources(worker: SeedWorker) -> None:
    plugins = _get(worker, "/connector-plugins").json
    assert all(list(plugin) == ["class", "type", "version"] for plugin in plugins)
    by_type = [[plugin["class"] for plugin in plugins if plugin["type"] == kind] for kind in ("sink", "source")]
    assert [plugin["class"] for plugin in plugins] == [*by_type[0], *by_type[1]]
    assert all(classes == sorted(classes) for classes in by_type)
    assert {FULL_SINK, FULL_SOURCE} <= {plugin["class"] for plugin in plugins}


def test_s1_36_validate_wants_json(worker: SeedWorker) -> None:
    form = worker.process.call("PUT", SINK_PLUGIN, b"-@", {"Content-Type": "application/x-www-form-urlencoded"})
    assert (form.status, form.body) == (415, b'{"error_code":415,"message":"HTTP 415 Unsupported Media Type"}')
    config = {"connector.class": FULL_SINK, "tasks.max": "1", "topics": "connect-test", "file": "/tmp/test.sink.txt"}
    answer = worker.process.call("PUT", SINK_PLUGIN, config)
    assert (answer.status, answer.json["name"], answer.json["error_count"]) == (200, FULL_SINK, 1)
    errors = {c["value"]["name"]: c["value"]["errors"] for c in answer.json["configs"] if c["value"]["errors"]}
    assert errors == {"name": ['Missing required configuration "name" which has no default value.']}
    assert len(answer.json["configs"]) == 25
