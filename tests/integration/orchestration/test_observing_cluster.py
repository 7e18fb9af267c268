"""What Dagster shows of connectors on a distributed worker: the same of ours and of Java's, but for the generation."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from confluent_kafka import Producer
from dagster import AssetKey, DagsterInstance

from connect_dagster.client.types import Direction, State
from connect_dagster.orchestration import (
    KafkaConnectClient,
    KafkaConnectWorkspace,
    build_kafka_connect_assets_definitions,
    build_kafka_connect_polling_sensor,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from tests.conformance.java_cluster import JavaDistributed
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.topics import create
from tests.shipped_project import wait_until
from tests.unit.orchestration.assets.test_column_schema import CUSTOMERS, CUSTOMERS_COLUMNS, told

STRINGS = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
SOURCE_CLASS, SINK_CLASS = (f"org.apache.kafka.connect.file.FileStream{end}Connector" for end in ("Source", "Sink"))
WORKERS: Mapping[str, Callable[[dict[str, str], Path], DistributedProcess | JavaDistributed]] = {
    "ours": DistributedProcess,
    "java": JavaDistributed,
}


@dataclass
class Observed:
    """A cluster of one worker, a sensor's instance, and what the sensor said last."""

    kind: str
    workspace: KafkaConnectWorkspace
    instance: DagsterInstance
    folder: Path
    mark: str
    cursor: str | None = None
    observed: dict[AssetKey, Mapping[str, Any]] = field(default_factory=dict)
    materialized: dict[AssetKey, Mapping[str, Any]] = field(default_factory=dict)
    checked: dict[tuple[str, str], bool] = field(default_factory=dict)

    @property
    def client(self) -> KafkaConnectClient:
        return self.workspace.get_client()

    def name(self, what: str) -> str:
        """A name of connector or topic that no other test has."""
        return f"{self.mark}-{what}"

    def create(self, what: str, **config: str) -> str:
        """Create a connector with values as text; answers its name once it runs."""
        name = self.name(what)
        plugin = SINK_CLASS if "topics" in config else SOURCE_CLASS
        keys = {key.replace("_", "."): value for key, value in config.items()}
        converters = {"key.converter": STRINGS, "value.converter": STRINGS}
        self.client.create({"name": name, "connector.class": plugin, **converters, **keys}, "RUNNING")
        self.wait_state(name, State.RUNNING)
        return name

    def wait_state(self, connector: str, state: State) -> None:
        wait_until(lambda: self._has_reached(connector, state), f"see {connector} {state}", 90)

    def tick(self) -> None:
        """Poll, and keep the events by asset, as the daemon would in the instance."""
        sensor = build_kafka_connect_polling_sensor(workspace=self.workspace, event_interval_seconds=0, max_lag=1)
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor) as context:
            result = sensor.evaluate_tick(context)
        self.cursor, self.observed, self.materialized, self.checked = result.cursor, {}, {}, {}
        for event in result.asset_events:
            assert isinstance(event, dg.AssetObservation | dg.AssetMaterialization | dg.AssetCheckEvaluation)
            self.instance.report_runless_asset_event(event)
            if isinstance(event, dg.AssetCheckEvaluation):
                self.checked[event.asset_key.path[-1], event.check_name] = event.passed
                continue
            kept = self.observed if isinstance(event, dg.AssetObservation) else self.materialized
            kept[event.asset_key] = {key: value.value for key, value in event.metadata.items()}

    def seen(self, connector: str) -> Mapping[str, Any]:
        """Metadata of a connector's newest observation."""
        return self.observed[connector_key("local", connector)]

    def reads(self, sink: str) -> bool:
        """Return whether a new poll sees the tasks of a sink read."""
        self.tick()
        return bool(self.seen(sink).get("read_records_per_second", 0.0) > 0)

    def _has_reached(self, connector: str, state: State) -> bool:
        info = self.client.connectors().get(connector)
        return info is not None and info.status.has_reached(state)


@pytest.fixture(scope="module", params=["ours", pytest.param("java", marks=pytest.mark.nightly)])
def cluster(request: pytest.FixtureRequest, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, mark = tmp_path_factory.mktemp("observed"), f"observed-{uuid4().hex[:8]}"
    props = group_properties(broker.bootstrap_servers, f"{mark}-", offset_flush_interval_ms="500")
    with WORKERS[request.param](props, folder / "worker") as worker, DagsterInstance.ephemeral() as instance:
        workspace = KafkaConnectWorkspace(url=worker.rest_url, bootstrap_servers=broker.bootstrap_servers)
        yield Observed(request.param, workspace, instance, folder, mark)


@pytest.fixture(scope="module")
def pipeline(cluster: Observed) -> tuple[str, str]:
    """A source and a sink of two tasks around one topic of two partitions, which have committed three lines."""
    create(cluster.workspace.bootstrap_servers or "", cluster.name("lines"), 2)
    (cluster.folder / "in.txt").write_text("one\ntwo\nthree\n")
    source = cluster.create("source", file=str(cluster.folder / "in.txt"), topic=cluster.name("lines"))
    out = str(cluster.folder / "out.txt")
    sink = cluster.create("sink", file=out, topics=cluster.name("lines"), tasks_max="2")

    def both_committed() -> bool:
        cluster.tick()
        return cluster.seen(source).get("offset_total") == 14 and cluster.seen(sink).get("offset_total") == 3

    wait_until(both_committed, "see both commit", 90)
    return source, sink


def test_offsets_that_advance_materialise_topic_and_file(cluster: Observed, pipeline: tuple[str, str]) -> None:
    lines, out = topic_key(cluster.name("lines")), file_key(str(cluster.folder / "out.txt"))
    told = {key: event for key in (lines, out) if (event := cluster.instance.get_latest_materialization_event(key))}
    metadata = {key: event.asset_materialization.metadata for key, event in told.items() if event.asset_materialization}
    assert metadata[lines]["end_offset_total"].value == 3
    assert metadata[out]["offset_total"].value == 3
    assert metadata[out].keys() >= {"dagster/last_updated_timestamp", "connect-dagster/offsets_version"}
    cluster.tick()
    assert cluster.materialized == {}


def test_s3_02_the_status_is_that_of_rest_one_row_for_each_task(cluster: Observed, pipeline: tuple[str, str]) -> None:
    _, sink = pipeline
    cluster.tick()
    status = cluster.client.status(sink)
    rows = [record.data for record in cluster.seen(sink)["status"].records]
    expected = [("connector", status.connector), *((f"task {task.id}", task) for task in status.tasks)]
    assert [(row["what"], row["state"], row["worker_id"]) for row in rows] == [
        (what, part.state.value, part.worker_id) for what, part in expected
    ]
    assert len(rows) == 3
    # Java's REST API does not tell the generation; our metrics do.
    generations = {row.get("generation") for row in rows}
    assert generations == ({None} if cluster.kind == "java" else {cluster.seen(sink)["generation"]})
    assert cluster.kind == "java" or cluster.seen(sink)["generation"] > 0


def test_a_paused_sink_lags_and_a_running_one_has_a_rate(cluster: Observed, pipeline: tuple[str, str]) -> None:
    _, sink = pipeline
    cluster.client.pause(sink)
    cluster.wait_state(sink, State.PAUSED)
    with (cluster.folder / "in.txt").open("a") as file:
        file.write("four\nfive\n")

    def lags() -> bool:
        cluster.tick()
        return bool(cluster.seen(sink)["records_lag_total"] == 2)

    wait_until(lags, "see the lag", 60)
    assert cluster.seen(sink)["records_lag_max"] in (1, 2)
    assert (cluster.seen(sink)["state"], cluster.seen(sink)["connector_running"]) == ("PAUSED", 0)
    assert cluster.checked[sink, "connector_lag"] is False, "one record is allowed"
    cluster.client.resume(sink)
    rates: list[float] = []

    def caught_up() -> bool:
        cluster.tick()
        rates.append(cluster.seen(sink)["records_per_second"])
        return bool(cluster.seen(sink)["records_lag_total"] == 0)

    wait_until(caught_up, "see the lag go", 60)
    assert cluster.checked[sink, "connector_lag"] is True
    assert max(rates) > 0
    assert cluster.seen(sink)["commit_age_seconds"] < 60
    assert cluster.seen(sink)["seconds_left"] == 0.0
    if cluster.kind == "ours":
        wait_until(lambda: cluster.reads(sink), "see the rate of its tasks", 60)


def test_a_failed_task_shows_its_trace(cluster: Observed) -> None:
    missing = str(cluster.folder / "missing" / "out.txt")
    name = cluster.name("stuck")
    config = {"connector.class": SINK_CLASS, "file": missing, "topics": cluster.name("lines")}
    cluster.client.create({"name": name, **config, "database.password": "connect_dev"}, "RUNNING")
    wait_until(lambda: _failed(cluster, name), "see the task fail", 90)
    cluster.tick()
    seen = cluster.seen(name)
    assert (seen["tasks_failed"], seen["config"]["database.password"]) == (1, "********")
    assert seen["error"].startswith("task 0: org.apache.kafka.connect.errors.ConnectException: ")
    assert missing in seen["error_trace"]
    cluster.client.delete(name)


def _failed(cluster: Observed, name: str) -> bool:
    info = cluster.client.connectors().get(name)
    return info is not None and info.status.tasks_in(State.FAILED) == 1


def test_what_the_cluster_has_is_loaded_as_a_graph(cluster: Observed, pipeline: tuple[str, str]) -> None:
    source, sink = pipeline
    data = cluster.workspace.fetch_kafka_connect_workspace_data()
    types = {one.name: one.type for one in data.connectors}
    assert (types[source], types[sink]) == (Direction.SOURCE, Direction.SINK)
    deps = {spec.key: {dep.asset_key for dep in spec.deps} for spec in cluster.workspace.load_asset_specs()}
    assert deps[topic_key(cluster.name("lines"))] == {connector_key("local", source)}
    assert deps[connector_key("local", sink)] == {topic_key(cluster.name("lines"))}
    assert deps[file_key(str(cluster.folder / "out.txt"))] == {connector_key("local", sink)}


def test_s3_09_a_run_tells_the_columns_of_the_newest_record(cluster: Observed) -> None:
    """JSON with its schema, as the seed's `mysql-customers` holds it: only a run may read a record."""
    topic = cluster.name("mysql-customers")
    producer = Producer({"bootstrap.servers": cluster.workspace.bootstrap_servers or ""})
    producer.produce(topic, _customer())
    producer.flush(30)
    sink = cluster.create("customers", file=str(cluster.folder / "customers.txt"), topics=topic)
    defs = build_kafka_connect_assets_definitions(
        workspace=cluster.workspace, connector_selector_fn=lambda props: props.name == sink
    )
    job = dg.define_asset_job("apply", selection=dg.AssetSelection.assets(connector_key("local", sink)))
    merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    assert merged.resolve_job_def("apply").execute_in_process(instance=cluster.instance).success
    event = cluster.instance.get_latest_materialization_event(topic_key(topic))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    columns = metadata["dagster/column_schema"].value
    assert isinstance(columns, dg.TableSchema)
    assert told(columns) == CUSTOMERS_COLUMNS
    assert (metadata["partition_count"].value, metadata["end_offset_total"].value) == (1, 1)


def _customer() -> bytes:
    payload = {"id": 1, "name": "jyp", "email": "ypjeong@kafka.com", "created": 0, "modified": 1642904785000}
    return json.dumps({"schema": CUSTOMERS, "payload": payload}).encode()


@pytest.mark.parametrize("cluster", ["ours"], indirect=True)
def test_spark_connectors_have_their_folders_materialised_with_numbers(cluster: Observed) -> None:
    read, written, topic = (cluster.folder / "csv"), (cluster.folder / "parquet"), cluster.name("rows")
    read.mkdir()
    (read / "rows.csv").write_text("1,ann\n2,bob\n")
    json_of = {f"{part}_converter": JSON for part in ("key", "value")}
    source = cluster.create(
        "spark-source",
        connector_class="SparkSource",
        format="csv",
        schema="id INT, name STRING",
        options_path=str(read),
        checkpoint_location=str(cluster.folder / "checkpoint"),
        topic=topic,
        **json_of,
    )
    sink = cluster.create(
        "spark-sink", connector_class="SparkSink", format="parquet", options_path=str(written), topics=topic, **json_of
    )
    seen: dict[AssetKey, Mapping[str, Any]] = {}

    def both_materialised() -> bool:
        cluster.tick()
        seen.update(cluster.materialized)
        return file_key(str(written)) in seen and topic_key(topic) in seen

    wait_until(both_materialised, "see the topic and the folder materialised", 120)
    assert seen[file_key(str(written))]["offset_total"] == 2
    assert seen[file_key(str(written))]["spark_rows_total"] == 2
    assert seen[topic_key(topic)]["end_offset_total"] == 2
    loaded = build_kafka_connect_assets_definitions(workspace=cluster.workspace)
    defs = dg.Definitions.merge(loaded, dg.Definitions())
    graph = defs.resolve_asset_graph()
    line = [file_key(str(read)), connector_key("local", source), topic_key(topic), connector_key("local", sink)]
    assert [graph.get(key).parent_keys for key in [*line[1:], file_key(str(written))]] == [{key} for key in line]
    run = defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=cluster.instance, asset_selection=[connector_key("local", sink)]
    )
    assert run.success
    event = cluster.instance.get_latest_materialization_event(file_key(str(written)))
    assert event is not None
    assert event.asset_materialization is not None
    columns = event.asset_materialization.metadata["dagster/column_schema"].value
    assert isinstance(columns, dg.TableSchema)
    assert told(columns) == ["id int32?", "name string?"]
