"""The board's queries beside a running worker with sources, sinks, a failed task, a capture and a mirror."""

import uuid
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connect_dagster.testing.recording_sink import RecordingSinkConnector
from tests.conftest import Broker
from tests.databases import Database
from tests.distributed_process import DistributedProcess, group_properties
from tests.grafana_board import OF_PROMETHEUS, selectors
from tests.integration.mirror.clusters import Cluster
from tests.integration.mirror.conftest import Flow
from tests.integration.mysql.conftest import Capture

pytestmark = pytest.mark.nightly

RECORDING = f"{RecordingSinkConnector.__module__}.{RecordingSinkConnector.__qualname__}"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SECONDS = 90


def shown(worker: DistributedProcess) -> dict[str, list[set[str]]]:
    """By metric, the labels of each of its samples."""
    found: dict[str, list[set[str]]] = {}
    for family in text_string_to_metric_families(worker.call("GET", "/metrics").body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(set(sample.labels))
    return found


def missing(worker: DistributedProcess) -> list[str]:
    """The queries that find nothing."""
    samples = shown(worker)
    return [
        f"{one.panel}: {one.name} {sorted(one.labels)}"
        for one in selectors()
        if not any(one.labels - OF_PROMETHEUS <= labels for labels in samples.get(one.name, ()))
    ]


def test_each_query_finds_a_metric(broker: Broker, mariadb_with_log_database: Database, tmp_path: Path) -> None:
    name = f"board-{uuid.uuid4().hex[:8]}"
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"line {number}\n" for number in range(100)))
    mariadb_with_log_database.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    props = group_properties(broker.bootstrap_servers, f"{name}-", metrics_sample_window_ms="1000")
    with DistributedProcess(props, tmp_path / "worker") as worker:
        cluster = Cluster(broker.bootstrap_servers)
        flow = Flow(name, cluster, cluster, worker)
        strings = {"key.converter": STRING, "value.converter": STRING}
        file = {"connector.class": "FileStreamSource", "file": str(lines), "topic": name, **strings}
        flow.create(f"{name}-file", file)
        sink = {"connector.class": RECORDING, "topics": name, **strings}
        flow.create(f"{name}-sink", {**sink, "journal": str(tmp_path / "sink.jsonl")})
        flow.create(f"{name}-bad", {**sink, "journal": str(tmp_path / "bad.jsonl"), "on.put": "fail no room *"})
        worker.wait_states(f"{name}-bad", "RUNNING", "FAILED", timeout=SECONDS)
        cluster.commit(f"{name}-readers", {(name, 0): 10})
        converters = {"key_converter": BYTES, "value_converter": BYTES}
        flow.start("Source", topics=name, **converters)
        flow.start("Checkpoint", topics=name, groups=f"{name}-readers", **converters)
        capture = Capture(worker, broker)
        capture.create(capture.config(mariadb_with_log_database))
        try:
            worker.wait_until(lambda: not missing(worker), "show all that the board asks for", SECONDS)
        except AssertionError as error:
            raise AssertionError("Nothing is found for\n" + "\n".join(missing(worker))) from error
