"""The polling sensor evaluates the checks of sinks, without runs and without filling the event log."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pytest
from confluent_kafka import KafkaException
from dagster import AssetCheckEvaluation, AssetCheckSeverity, DagsterInstance

from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration import KafkaConnectWorkspace, build_kafka_connect_polling_sensor
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.observations import poll as connector_poll
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from connect_dagster.orchestration.sensors.polling import EVENT_INTERVAL_SECONDS
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

LAG, LETTERS = "connector_lag", "dead_letters"


@dataclass
class Cluster:
    """A sink of `lines` with a dead letter queue, and the end offsets that brokers return."""

    server: ConnectServer
    instance: DagsterInstance
    monkeypatch: pytest.MonkeyPatch
    ends: dict[str, int] = field(default_factory=lambda: {"lines": 100, "broken": 0})
    cursor: str | None = None
    now: float = 1_700_000_000.0

    def commit(self, offset: int) -> None:
        place = {"kafka_topic": "lines", "kafka_partition": 0}
        self.server.herder.offsets["snk"] = [ConnectorOffset(place, {"kafka_offset": offset})]

    def tick(self, after: float = 30.0, **bounds: Any) -> list[tuple[str, bool]]:
        """One tick, seconds after the last one: the evaluations of checks of sinks that the daemon stores."""
        self.now += after
        self.monkeypatch.setattr("connect_dagster.orchestration.sensors.polling.time.time", lambda: self.now)
        self.monkeypatch.setattr(connector_poll, "fetch_topic_bounds", self.bounds)
        given = bounds or {"max_lag": 10, "max_dead_letters": 2}
        sensor = build_kafka_connect_polling_sensor(workspace=self.server.workspace, **given)
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor) as context:
            result = sensor.evaluate_tick(context)
        self.cursor = result.cursor
        evaluations = [one for one in result.asset_events if isinstance(one, AssetCheckEvaluation)]
        own = [one for one in evaluations if one.check_name in (LAG, LETTERS)]
        for evaluation in own:
            self.instance.report_runless_asset_event(evaluation)
        assert {one.asset_key for one in own} <= {connector_key("local", "snk")}
        self.newest = own
        return [(one.check_name, one.passed) for one in own]

    def bounds(self, brokers: Bootstrap, topics: Iterable[str], timeout: float) -> dict[Partition, Bounds]:
        return {(topic, 0): Bounds(0, self.ends[topic]) for topic in topics}


@pytest.fixture(name="cluster")
def cluster_fixture(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with connect_server(bootstrap_servers="k:9092") as server, DagsterInstance.ephemeral() as instance:
        server.create("src", topic="lines")
        server.create(
            "snk",
            connector_class="FileStreamSink",
            topics="lines",
            file="/tmp/out.txt",
            errors_deadletterqueue_topic_name="broken",
        )
        cluster = Cluster(server, instance, monkeypatch)
        cluster.commit(95)
        yield cluster


def test_both_checks_are_evaluated_at_first_and_then_once_in_an_interval(cluster: Cluster) -> None:
    assert cluster.tick() == [(LAG, True), (LETTERS, True)]
    assert cluster.tick() == []
    assert cluster.tick(EVENT_INTERVAL_SECONDS) == [(LAG, True), (LETTERS, True)]


def test_a_lag_above_its_bound_fails_at_once_and_passes_again_after_the_interval(cluster: Cluster) -> None:
    cluster.tick()
    cluster.commit(80)
    assert cluster.tick() == [(LAG, False)]
    assert cluster.newest[0].metadata["records_lag_total"].value == 20
    assert cluster.tick() == []
    cluster.commit(100)
    assert cluster.tick() == []
    assert (LAG, True) in cluster.tick(EVENT_INTERVAL_SECONDS)


def test_dead_letters_add_up_until_they_are_too_many(cluster: Cluster) -> None:
    cluster.tick()
    for end, expected in ((1, []), (2, []), (3, [(LETTERS, False)])):
        cluster.ends["broken"] = end
        assert cluster.tick() == expected
    assert cluster.newest[0].metadata["dead_letter_growth"].value == 3
    assert (LETTERS, True) in cluster.tick(EVENT_INTERVAL_SECONDS), "none was added since"


def test_dead_letters_that_a_run_has_reported_are_not_reported_again(cluster: Cluster) -> None:
    cluster.tick()
    cluster.ends["broken"] = 50
    seen = {"dead_letter_total": 50}
    cluster.instance.report_runless_asset_event(
        AssetCheckEvaluation(connector_key("local", "snk"), LETTERS, passed=False, metadata=seen)
    )
    assert cluster.tick() == []


def test_a_reset_cursor_goes_on_from_the_last_evaluation(cluster: Cluster) -> None:
    cluster.tick()
    cluster.cursor, cluster.ends["broken"] = None, 9
    assert (LETTERS, False) in cluster.tick()


def test_brokers_that_do_not_respond_are_no_failure_at_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> dict[Partition, Bounds]:
        raise KafkaException("down")

    cluster.tick()
    monkeypatch.setattr(cluster, "bounds", broken)
    assert cluster.tick() == []
    assert cluster.tick(EVENT_INTERVAL_SECONDS) == [(LAG, False), (LETTERS, False)]
    assert {one.severity for one in cluster.newest} == {AssetCheckSeverity.WARN}


def test_a_bound_that_is_not_given_is_not_checked(cluster: Cluster) -> None:
    assert cluster.tick(max_lag=3) == [(LAG, False)]
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers"):
        build_kafka_connect_polling_sensor(workspace=KafkaConnectWorkspace(), max_dead_letters=0)
