"""Topics as observable assets: in the graph of their connectors, and for assets downstream of them."""

from collections.abc import Iterable
from datetime import timedelta

import dagster as dg
import pytest
from confluent_kafka import KafkaException
from dagster import AssetKey, AssetMaterialization, DagsterInstance, FreshnessPolicy

from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration import (
    FileStreamSinkResource,
    FileStreamSourceResource,
    KafkaConnectWorkspace,
    build_connector_definitions,
    build_kafka_connect_polling_sensor,
    build_kafka_topic_assets,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from connect_dagster.orchestration.observations import poll, topics
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from connect_dagster.orchestration.observations.topics import TopicReading
from tests.unit.orchestration.components.sandbox import loaded
from tests.unit.orchestration.connect_server import connect_server

HOUR = FreshnessPolicy.time_window(timedelta(hours=1))
LINES = topic_key("lines")


def definitions(workspace: KafkaConnectWorkspace) -> dg.Definitions:
    return build_connector_definitions(
        FileStreamSourceResource(workspace=workspace, name="src", file="/tmp/in", topic="lines"),
        FileStreamSinkResource(workspace=workspace, name="snk", file="/tmp/out", topics=["lines"]),
        observe_topics=True,
        freshness_policy=HOUR,
    )


def test_topics_of_connectors_are_observable_and_stay_between_them() -> None:
    graph = definitions(KafkaConnectWorkspace(bootstrap_servers="k:9092")).resolve_asset_graph()
    assert graph.observable_asset_keys == {LINES}
    line = [
        file_key("/tmp/in"),
        connector_key("local", "src"),
        LINES,
        connector_key("local", "snk"),
        file_key("/tmp/out"),
    ]
    assert [graph.get(key).parent_keys for key in line] == [set(), *({key} for key in line[:-1])]
    assert graph.get(LINES).freshness_policy == HOUR


def test_in_yaml_it_is_an_option() -> None:
    source = {"name": "src", "connector_class": "FileStreamSource", "config": {"topic": "lines", "file": "/tmp/in"}}
    given = {"workspace": {"bootstrap_servers": "k:9092"}, "connectors": [source], "observe_topics": True}
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
        assert defs.resolve_asset_graph().observable_asset_keys == {LINES}


def test_topics_without_brokers_or_names_are_refused() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="Observe of topics asks the brokers: give bootstrap_se"):
        definitions(KafkaConnectWorkspace())
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="at least one topic"):
        build_kafka_topic_assets(workspace=KafkaConnectWorkspace(bootstrap_servers="k:9092"), topics=[])


@pytest.mark.parametrize(
    ("workspace", "key"),
    [
        (KafkaConnectWorkspace(bootstrap_servers="k:9092"), ["kafka", "orders"]),
        (KafkaConnectWorkspace(bootstrap_servers="k:9092", data_key_prefix=["eu"]), ["eu", "kafka", "orders"]),
        (
            KafkaConnectWorkspace(bootstrap_servers="k:9092", data_key_prefix=["eu"], kafka_cluster="eu"),
            ["kafka", "eu", "orders"],
        ),
    ],
    ids=["plain", "prefix", "alias"],
)
def test_keys_are_those_of_connectors_topics(workspace: KafkaConnectWorkspace, key: list[str]) -> None:
    (found,) = build_kafka_topic_assets(workspace=workspace, topics=["orders"]).keys
    assert found == AssetKey(key)


def test_what_brokers_do_not_return_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> dict[Partition, int]:
        raise KafkaException("not authorized")

    monkeypatch.setattr(
        topics, "fetch_topic_bounds", lambda *_: {("lines", 0): Bounds(3, 9), ("lines", 1): Bounds(0, 1)}
    )
    monkeypatch.setattr(topics, "fetch_topic_sizes", refused)
    monkeypatch.setattr(topics, "fetch_newest_times", lambda *_: {("lines", 0): 100.0})
    warnings: list[str] = []
    (reading,) = topics.read_topics("k:9092", ["lines", "none"], 1.0, warnings.append).values()
    metadata = reading.metadata(130.0)
    assert (metadata["record_count_at_most"], metadata["newest_record_age_seconds"]) == (7, 30.0)
    assert "size_bytes" not in metadata
    assert [row.data for row in metadata["partitions"].records] == [
        {"partition": 0, "start_offset": 3, "end_offset": 9, "newest_record": "1970-01-01T00:01:40+00:00"},
        {"partition": 1, "start_offset": 0, "end_offset": 1, "newest_record": ""},
    ]
    assert warnings == ["The brokers did not return the sizes of topics: not authorized"]


def test_brokers_that_do_not_respond_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> dict[Partition, Bounds]:
        raise KafkaException("timed out")

    monkeypatch.setattr(topics, "fetch_topic_bounds", down)
    workspace = KafkaConnectWorkspace(bootstrap_servers="k:9092")
    defs = dg.Definitions(assets=[build_kafka_topic_assets(workspace=workspace, topics=["lines"], name="observe")])
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(raise_on_error=False)
    failure = result.failure_data_for_node("observe")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert failure.user_failure_data.description == (
        "The brokers k:9092 did not return the offsets of topics: timed out"
    )


def test_a_run_of_a_connector_and_observe_give_a_topic_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def bounds(brokers: Bootstrap, names: Iterable[str], timeout: float) -> dict[Partition, Bounds]:
        return {(name, 0): Bounds(0, 7) for name in names}

    monkeypatch.setattr(poll, "fetch_topic_bounds", bounds)
    monkeypatch.setattr("connect_dagster.orchestration.event_iterator.columns_of_newest_record", lambda *_: None)
    with connect_server(bootstrap_servers="k:9092") as server, DagsterInstance.ephemeral() as instance:
        defs = definitions(server.workspace)
        job = defs.resolve_implicit_global_asset_job_def()
        assert job.execute_in_process(instance=instance, asset_selection=[connector_key("local", "src")]).success
        record = instance.get_latest_data_version_record(LINES, is_source=True)
    assert record is not None
    observation = record.event_log_entry.asset_observation
    assert observation is not None
    assert observation.data_version == TopicReading({0: Bounds(0, 7)}).version


def test_eager_assets_downstream_see_what_the_sensor_materialises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an observable asset Dagster looks at data versions, and not at materialisations as such."""
    ends = {"lines": 0}

    def bounds(brokers: Bootstrap, names: Iterable[str], timeout: float) -> dict[Partition, Bounds]:
        return {(name, 0): Bounds(0, ends[name]) for name in names}

    monkeypatch.setattr(poll, "fetch_topic_bounds", bounds)

    @dg.asset(deps=[LINES], automation_condition=dg.AutomationCondition.any_deps_updated())
    def counts() -> None: ...

    with connect_server(bootstrap_servers="k:9092") as server, DagsterInstance.ephemeral() as instance:
        server.create("src", topic="lines")
        sensor = build_kafka_connect_polling_sensor(
            workspace=server.workspace, event_interval_seconds=0, observe_topics=True
        )
        topic = build_kafka_topic_assets(workspace=server.workspace, topics=["lines"])
        defs = dg.Definitions(assets=[topic, counts])
        sensor_cursor, cursor, requested = None, None, []
        for end in (0, 5, 5, 9):
            ends["lines"] = end
            server.herder.offsets["src"] = [ConnectorOffset({"filename": "/tmp/in"}, {"position": end})]
            with dg.build_sensor_context(instance=instance, cursor=sensor_cursor) as context:
                tick = sensor.evaluate_tick(context)
            sensor_cursor = tick.cursor
            for event in tick.asset_events:
                if isinstance(event, AssetMaterialization):
                    assert event.tags == {"dagster/data_version": TopicReading({0: Bounds(0, end)}).version}
                    instance.report_runless_asset_event(event)
            result = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=cursor)
            cursor = result.cursor
            requested.append(result.total_requested)
    assert requested[1:] == [1, 0, 1]
