"""The polling sensor, on a served worker whose connectors do what a test tells them."""

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, NoReturn

import dagster as dg
import pytest
from dagster import AssetCheckEvaluation, AssetKey, AssetMaterialization, AssetObservation, DagsterInstance
from dagster._core.definitions.sensor_definition import SensorExecutionData

from connect_dagster.embedded.ports import free_port
from connect_dagster.herder.interface import ConnectorOffset, RebalanceNeededError
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration import KafkaConnectWorkspace, build_kafka_connect_polling_sensor
from connect_dagster.orchestration.assets.keys import connector_key, topic_key
from connect_dagster.orchestration.observations import poll as connector_poll
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from connect_dagster.orchestration.sensors.polling import (
    EVENT_INTERVAL_SECONDS,
    KafkaConnectPollingSensorCursor,
    rotated,
)
from connect_dagster.plugin.config import ConfigKey, Type, key_info
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

LINES = connector_key("local", "lines")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("lines", topic="lines")
        yield server


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


def tick(
    workspace: KafkaConnectWorkspace, instance: DagsterInstance, cursor: str | None = None, **options: Any
) -> SensorExecutionData:
    """One tick, whose events the daemon would store."""
    sensor = build_kafka_connect_polling_sensor(workspace=workspace, **options)
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        result = sensor.evaluate_tick(context)
    for event in result.asset_events:
        assert isinstance(event, AssetObservation | AssetMaterialization | AssetCheckEvaluation)
        instance.report_runless_asset_event(event)
    return result


def advance(server: ConnectServer, position: int) -> None:
    server.herder.offsets["lines"] = [ConnectorOffset({"filename": "/tmp/in.txt"}, {"position": position})]


def kinds(result: SensorExecutionData) -> list[tuple[str, AssetKey]]:
    return [(type(event).__name__, event.asset_key) for event in told(result)]


def told(result: SensorExecutionData) -> list[AssetObservation | AssetMaterialization]:
    """Events of assets, their checks apart."""
    return [event for event in result.asset_events if isinstance(event, AssetObservation | AssetMaterialization)]


def evaluations(result: SensorExecutionData) -> list[AssetCheckEvaluation]:
    return [event for event in result.asset_events if isinstance(event, AssetCheckEvaluation)]


def rebalances(*_: object) -> NoReturn:
    raise RebalanceNeededError


OBSERVED, MATERIALIZED = ("AssetObservation", LINES), ("AssetMaterialization", topic_key("lines"))


def test_its_name_holds_the_clusters_or_is_given() -> None:
    workspace = KafkaConnectWorkspace(cluster="eu-west")
    sensor = build_kafka_connect_polling_sensor(workspace=workspace)
    assert sensor.name == "kafka_connect_eu_west__connector_status_sensor"
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
    assert build_kafka_connect_polling_sensor(workspace=workspace, name="mine").name == "mine"


def test_data_is_materialised_below_the_prefix_of_its_workspace(instance: DagsterInstance) -> None:
    with connect_server(data_key_prefix=["eu"]) as server:
        server.create("lines", topic="lines")
        advance(server, 7)
        assert kinds(tick(server.workspace, instance)) == [
            OBSERVED,
            ("AssetMaterialization", AssetKey(["eu", "kafka", "lines"])),
        ]


def test_a_mirrored_topic_is_materialised_with_what_both_clusters_say(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[str]]] = []

    def bounds(brokers: Bootstrap, topics: Iterable[str], timeout: float) -> dict[Partition, Bounds]:
        asked.append((str(brokers), sorted(topics)))
        return {(topic, 0): Bounds(0, 100) for topic in topics}

    def newest(brokers: Bootstrap, topics: Iterable[str], timeout: float) -> dict[Partition, float]:
        asked.append((f"newest of {brokers}", sorted(topics)))
        return {(topic, 0): time.time() - 5 for topic in topics}

    monkeypatch.setattr(connector_poll, "fetch_topic_bounds", bounds)
    monkeypatch.setattr(connector_poll, "fetch_newest_times", newest)
    europe = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="eu:9092")
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("mirror", connector_class="MirrorSourceConnector", source_cluster_alias="eu", topics="orders")
        place = {"cluster": "eu", "partition": 0, "topic": "orders"}
        server.herder.offsets["mirror"] = [ConnectorOffset(place, {"offset": 89})]
        result = tick(server.workspace, instance, mirror_sources=[europe])
    materialized = told(result)[1]
    assert materialized.asset_key == AssetKey(["kafka", "us", "eu.orders"])
    assert materialized.metadata["records_lag_total"].value == 10
    assert materialized.metadata["heartbeat_age_seconds"].value == pytest.approx(5, abs=3)
    assert sorted(asked) == [
        ("eu:9092", ["orders"]),
        ("newest of us:9092", ["eu.checkpoints.internal", "eu.heartbeats", "eu.orders"]),
        ("us:9092", ["eu.orders"]),
    ]


def test_of_mirrored_topics_those_are_materialised_whose_records_moved(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector_poll, "fetch_topic_bounds", lambda *_: {})
    monkeypatch.setattr(connector_poll, "fetch_newest_times", lambda *_: {})

    def moved(result: SensorExecutionData) -> list[str]:
        return [one.asset_key.path[-1] for one in told(result) if isinstance(one, AssetMaterialization)]

    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("mirror", connector_class="MirrorSourceConnector", source_cluster_alias="eu", topics="a, b, c")
        places = {name: {"cluster": "eu", "partition": 0, "topic": name} for name in ("a", "b")}
        server.herder.offsets["mirror"] = [ConnectorOffset(place, {"offset": 1}) for place in places.values()]
        first = tick(server.workspace, instance, event_interval_seconds=0)
        server.herder.offsets["mirror"] = [
            ConnectorOffset(places["a"], {"offset": 2}),
            ConnectorOffset(places["b"], {"offset": 1}),
        ]
        second = tick(server.workspace, instance, first.cursor, event_interval_seconds=0)
    assert (moved(first), moved(second)) == (["eu.a", "eu.b"], ["eu.a"])


def test_a_cursor_that_cannot_be_read_is_a_fresh_one() -> None:
    fresh = KafkaConnectPollingSensorCursor()
    assert KafkaConnectPollingSensorCursor.read("{") == KafkaConnectPollingSensorCursor.read(None) == fresh


def test_a_poll_goes_on_after_the_last_one_and_comes_around() -> None:
    assert rotated(["c", "a", "b"], None) == ["a", "b", "c"]
    assert rotated(["c", "a", "b"], "a") == ["b", "c", "a"]
    assert rotated(["c", "a"], "b") == ["c", "a"]


def test_a_connector_is_observed_and_its_topic_materialised_when_offsets_advance(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    first = tick(server.workspace, instance, event_interval_seconds=0)
    assert kinds(first) == [OBSERVED]
    advance(server, 12)
    second = tick(server.workspace, instance, first.cursor, event_interval_seconds=0)
    assert kinds(second) == [OBSERVED, MATERIALIZED]
    assert told(second)[1].metadata["offset_total"].value == 12
    assert kinds(tick(server.workspace, instance, second.cursor, event_interval_seconds=0)) == [OBSERVED]
    assert second.skip_message == "Polled 1 connectors: 1 observations, 1 outputs advanced"


def test_without_news_events_wait_for_their_interval_and_what_advanced_is_not_lost(
    server: ConnectServer, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance(server, 1)
    first = tick(server.workspace, instance)
    assert kinds(first) == [OBSERVED, MATERIALIZED]
    advance(server, 2)
    second = tick(server.workspace, instance, first.cursor)
    assert kinds(second) == []
    later = time.time() + EVENT_INTERVAL_SECONDS + 1
    monkeypatch.setattr("connect_dagster.orchestration.sensors.polling.time.time", lambda: later)
    assert kinds(tick(server.workspace, instance, second.cursor)) == [OBSERVED, MATERIALIZED]


def test_offsets_that_cannot_be_read_stand_for_no_event(
    server: ConnectServer, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance(server, 1)
    first = tick(server.workspace, instance)
    advance(server, 2)
    second = tick(server.workspace, instance, first.cursor)
    later = time.time() + EVENT_INTERVAL_SECONDS + 1
    monkeypatch.setattr("connect_dagster.orchestration.sensors.polling.time.time", lambda: later)
    with monkeypatch.context() as rebalance:
        rebalance.setattr(server.herder, "connector_offsets", rebalances)
        third = tick(server.workspace, instance, second.cursor)
    assert kinds(third) == [OBSERVED]
    assert kinds(tick(server.workspace, instance, third.cursor)) == [MATERIALIZED]


def test_s3_03_a_plugin_that_cannot_be_asked_what_is_secret_is_a_skip(
    server: ConnectServer, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.herder, "plugin_config", rebalances)
    result = tick(server.workspace, instance)
    assert result.asset_events == []
    assert "409" in str(result.skip_message)


def test_a_state_that_changed_is_observed_at_once(server: ConnectServer, instance: DagsterInstance) -> None:
    first = tick(server.workspace, instance)
    server.herder.fail("lines", trace="java.io.IOException: disk full\n at x")
    second = tick(server.workspace, instance, first.cursor)
    assert kinds(second) == [OBSERVED]
    assert told(second)[0].metadata["error"].value == "task 0: java.io.IOException: disk full"
    server.herder.heal("lines")
    third = tick(server.workspace, instance, second.cursor)
    assert told(third)[0].metadata["restarts_total"].value == 1


def test_a_changed_state_is_an_evaluation_of_the_check_without_a_run(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    first = tick(server.workspace, instance)
    assert [(one.check_name, one.passed) for one in evaluations(first)] == [("connector_state", True)]
    server.herder.fail("lines", trace="java.io.IOException: disk full\n\tat somewhere")
    second = tick(server.workspace, instance, first.cursor)
    (failed,) = evaluations(second)
    assert (failed.asset_key, failed.passed) == (LINES, False)
    assert failed.description == "1 of 1 tasks FAILED: task 0: java.io.IOException: disk full"
    assert evaluations(tick(server.workspace, instance, second.cursor, event_interval_seconds=0)) == []


def test_s3_03_the_plugin_is_asked_what_is_secret(server: ConnectServer, instance: DagsterInstance) -> None:
    """The served worker defines a key of each plugin's own name; only PASSWORD ones count."""
    keys = [key_info(ConfigKey("connection.pin", Type.PASSWORD)), key_info(ConfigKey("topic", Type.STRING))]
    server.herder.plugin_config = lambda name, version=None: keys  # type: ignore[method-assign]
    server.create("pinned", topic="t", connection_pin="kafka123")
    result = tick(server.workspace, instance, connector_selector_fn=lambda props: "kafka123" not in str(props))
    assert kinds(result) == [OBSERVED, ("AssetObservation", connector_key("local", "pinned"))]
    assert "kafka123" not in str(told(result)[1].metadata["config"].value)
    assert "kafka123" not in server.workspace.fetch_kafka_connect_workspace_data().model_dump_json()


def test_the_same_numbers_come_with_every_poll(server: ConnectServer, instance: DagsterInstance) -> None:
    cursor, keys = None, []
    for position in range(3):
        advance(server, position)
        result = tick(server.workspace, instance, cursor, event_interval_seconds=0)
        cursor = result.cursor
        metadata = told(result)[0].metadata
        keys.append({key: type(value.value) for key, value in metadata.items()})
    assert keys[0] == keys[1] == keys[2]


def test_offsets_an_event_stands_for_already_are_not_told_again(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    """The cursor was reset, or a run told of them."""
    advance(server, 12)
    assert MATERIALIZED in kinds(tick(server.workspace, instance))
    assert kinds(tick(server.workspace, instance)) == [OBSERVED]


def test_columns_once_told_stay_with_the_topic(server: ConnectServer, instance: DagsterInstance) -> None:
    columns = dg.TableSchema([dg.TableColumn("id", "int32")])
    instance.report_runless_asset_event(
        AssetMaterialization(topic_key("lines"), metadata={"dagster/column_schema": columns})
    )
    cursor = None
    for position in (1, 2):
        advance(server, position)
        result = tick(server.workspace, instance, cursor, event_interval_seconds=0)
        cursor = result.cursor
        assert told(result)[1].metadata["dagster/column_schema"].value == columns


def test_only_selected_connectors_are_reported(server: ConnectServer, instance: DagsterInstance) -> None:
    server.create("other", topic="others")
    result = tick(server.workspace, instance, connector_selector_fn=lambda props: props.name == "other")
    assert kinds(result) == [("AssetObservation", connector_key("local", "other"))]


def test_a_connector_that_is_gone_is_forgotten(server: ConnectServer, instance: DagsterInstance) -> None:
    first = tick(server.workspace, instance)
    server.herder.delete_connector("lines")
    second = tick(server.workspace, instance, first.cursor)
    assert KafkaConnectPollingSensorCursor.read(second.cursor).connectors == {}


def test_settings_from_the_environment_are_resolved_in_the_tick(
    server: ConnectServer, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = KafkaConnectWorkspace(url=dg.EnvVar("TEST_CONNECT_URL"))
    monkeypatch.setenv("TEST_CONNECT_URL", server.workspace.url)
    assert kinds(tick(workspace, instance)) == [OBSERVED]


def test_no_worker_is_a_skip_that_says_so(instance: DagsterInstance) -> None:
    workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}", request_max_retries=0)
    result = tick(workspace, instance)
    assert result.skip_message == f"No Kafka Connect worker responds at {workspace.url}: connection refused or broken"
    assert result.asset_events == []


def test_a_tick_does_not_wait_for_a_rebalance(server: ConnectServer, instance: DagsterInstance) -> None:
    asked: list[str] = []

    def rebalancing() -> list[str]:
        asked.append("connectors")
        raise RebalanceNeededError

    server.herder.connectors = rebalancing  # type: ignore[method-assign]
    skipped = tick(server.workspace, instance).skip_message
    assert skipped is not None
    assert "→ 409: " in skipped
    assert asked == ["connectors"], "the workspace has no retries, and the next tick comes soon"


def test_brokers_that_do_not_answer_cost_the_lag_and_nothing_else(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    workspace = server.workspace.model_copy(update={"bootstrap_servers": f"127.0.0.1:{free_port()}"})
    began = time.monotonic()
    result = tick(workspace, instance)
    assert kinds(result) == [OBSERVED]
    assert "records_lag_total" not in told(result)[0].metadata
    assert time.monotonic() - began < 5.0


def test_a_topic_that_advanced_is_fresh(server: ConnectServer, instance: DagsterInstance) -> None:
    (check,) = dg.build_last_update_freshness_checks(
        assets=[topic_key("lines")], lower_bound_delta=timedelta(minutes=5)
    )
    spec = dg.AssetSpec(topic_key("lines"))
    advance(server, 1)
    tick(server.workspace, instance)
    job = dg.define_asset_job("fresh", selection=dg.AssetSelection.checks(check))
    defs = dg.Definitions(assets=[spec], asset_checks=[check], jobs=[job])
    run = defs.resolve_job_def("fresh").execute_in_process(instance=instance)
    assert [one.passed for one in run.get_asset_check_evaluations()] == [True]


def test_an_eager_asset_downstream_runs_when_the_topic_advanced(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    @dg.asset(deps=[topic_key("lines")], automation_condition=dg.AutomationCondition.eager())
    def report() -> None: ...

    defs = dg.Definitions(assets=[report, *server.workspace.load_asset_specs()])
    advance(server, 1)
    first = tick(server.workspace, instance, event_interval_seconds=0)
    dg.materialize([report], instance=instance, selection=[report])
    before = dg.evaluate_automation_conditions(defs, instance)
    calm = dg.evaluate_automation_conditions(defs, instance, cursor=before.cursor)
    assert calm.total_requested == 0
    advance(server, 2)
    tick(server.workspace, instance, first.cursor, event_interval_seconds=0)
    assert dg.evaluate_automation_conditions(defs, instance, cursor=calm.cursor).total_requested == 1


class SlowWorker(BaseHTTPRequestHandler):
    """A worker of 200 connectors that takes its time to tell offsets."""

    delay: ClassVar[float] = 0.5
    names: ClassVar[list[str]] = [f"c{number:03}" for number in range(200)]

    def do_GET(self) -> None:
        body, status = b"{}", 200
        if self.path.startswith("/connectors?"):
            entries = ",".join(f'"{name}": {_entry(name)}' for name in self.names)
            body = f"{{{entries}}}".encode()
        elif self.path.endswith("/topics"):
            name = self.path.split("/")[2]
            body = f'{{"{name}": {{"topics": []}}}}'.encode()
        elif self.path.endswith("/offsets"):
            time.sleep(self.delay)
            body = b'{"offsets": []}'
        else:
            status = 404
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a request is no news."""


def _entry(name: str) -> str:
    state = '{"state": "RUNNING", "worker_id": "w:8083"}'
    status = f'{{"name": "{name}", "connector": {state}, "tasks": [], "type": "source"}}'
    config = f'{{"name": "{name}", "connector.class": "FileStreamSource", "topic": "{name}"}}'
    return f'{{"status": {status}, "info": {{"name": "{name}", "config": {config}}}}}'


def test_a_tick_with_200_slow_connectors_ends_in_time_and_the_next_goes_on(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a twentieth of the time there is, so that the test is quick: 1 s instead of 20. All would take 12 s."""
    monkeypatch.setattr(connector_poll, "READING_SECONDS", 1.0)
    monkeypatch.setattr(ThreadingHTTPServer, "request_queue_size", 64)
    server = ThreadingHTTPServer(("127.0.0.1", 0), SlowWorker)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{server.server_port}")
        began = time.monotonic()
        first = tick(workspace, instance)
        took = time.monotonic() - began
        second = tick(workspace, instance, first.cursor)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert took < 6.0
    seen = [event.asset_key for result in (first, second) for event in told(result)]
    assert len(told(first)) < len(seen) < len(SlowWorker.names)
    assert seen == [connector_key("local", name) for name in SlowWorker.names[: len(seen)]]
