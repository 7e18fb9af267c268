"""Metrics of Kafka clients: from librdkafka's own statistics, and from ones that are worked out by hand."""

import gc
import math
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import ClientStatistics, StatisticsCollector
from connect_dagster.kafka.column_producer import ColumnProducer, LazyColumnProducer
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.plugin.metrics import MetricReading
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors import dead_letter_queue
from connect_dagster.worker.errors.policy import DeadLetterSettings
from connect_dagster.worker.metrics.clients import CLIENT_GROUPS, client_readings
from connect_dagster.worker.metrics.errors import ErrorMetrics
from tests.mock_cluster import mock_cluster

INTERVAL_MS = 50
SECONDS = 30


def by_type(statistics: list[ClientStatistics]) -> dict[str, MetricReading]:
    return {reading.group.type: reading for reading in client_readings(statistics)}


def served(serve: Callable[[], object], condition: Callable[[], bool]) -> None:
    """Serve a client until something is so."""
    ends = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends
        serve()
        time.sleep(0.01)


def test_both_producers_of_a_task_count_as_one_and_are_forgotten_with_their_clients() -> None:
    collector = StatisticsCollector(INTERVAL_MS)
    with mock_cluster() as cluster:
        settings = clients.producer_settings(cluster.bootstrap_servers, "p", {})
        held = [clients.producer(settings, collector.callback())]
        opener = LazyColumnProducer(settings, {}, lambda *_: None, lambda _: None, None, collector)

        def columns() -> ColumnProducer:
            found = opener.get()
            assert found is not None
            return found

        held[0].produce("a", b"1")
        assert list(columns().produce(pa.table({"value": [b"2"] * 10}), "b", lambda: False)) == []
        assert held[0].flush(SECONDS) == 0
        assert columns().flush(SECONDS)

        def is_done() -> bool:
            """Return whether all records are sent, and the queue is empty, which comes a moment later."""
            found = by_type(collector.read()).get("producer-metrics")
            if found is None or found.values["record-send-total"] != 11:
                return False
            return found.values["buffer-available-bytes"] == found.values["buffer-total-bytes"]

        def serve() -> None:
            held[0].poll(0)
            columns().serve()

        served(serve, is_done)
        readings = list(client_readings(collector.read()))
        assert {reading.tags for reading in readings} == {("p",), ("p", "a"), ("p", "b")}
        (producer,) = [reading for reading in readings if reading.group.type == "producer-metrics"]
        assert set(producer.values) == set(producer.group.numbers)
        assert float(producer.values["connection-count"]) >= 2
        topics = {one.tags[1]: one.values for one in readings if one.group.type == "producer-topic-metrics"}
        assert (topics["a"]["record-send-total"], topics["b"]["record-send-total"]) == (1, 10)
        assert topics["b"]["byte-total"] == 10
        opener.close()
        held.clear()
        gc.collect()
        assert collector.read() == []


def test_a_consumer() -> None:
    collector = StatisticsCollector(INTERVAL_MS)
    with mock_cluster() as cluster:
        producer = clients.producer(clients.producer_settings(cluster.bootstrap_servers, "p", {}))
        producer.produce("t", b"12345")
        assert producer.flush(SECONDS) == 0
        settings = clients.consumer_settings(cluster.bootstrap_servers, "c", "g", {})
        with closing(clients.consumer(settings, collector.callback())) as consumer:
            consumer.subscribe(["t"])

            def fetched() -> bool:
                found = by_type(collector.read()).get("consumer-fetch-manager-metrics")
                return found is not None and found.values["records-consumed-total"] == 1

            served(lambda: consumer.poll(0), fetched)
            readings = by_type(collector.read())
        assert {group.type for group in CLIENT_GROUPS if "consumer" in group.type} == set(readings)
        assert all(set(reading.values) == set(reading.group.numbers) for reading in readings.values())
        assert float(readings["consumer-coordinator-metrics"].values["assigned-partitions"]) >= 1
        assert float(readings["consumer-fetch-manager-metrics"].values["fetch-total"]) >= 1
        assert float(readings["consumer-metrics"].values["request-total"]) >= 4


def test_admin_clients_are_a_kind_of_their_own() -> None:
    collector = StatisticsCollector(INTERVAL_MS)
    with mock_cluster() as cluster:
        admin = TopicAdmin({"bootstrap.servers": cluster.bootstrap_servers, "client.id": "a"}, collector)
        producer = clients.producer(clients.producer_settings(cluster.bootstrap_servers, "p", {}))
        producer.produce("t", b"1", partition=0)
        assert producer.flush(SECONDS) == 0
        assert admin.end_offsets("t", [0], SECONDS) == {0: 1}
        served(admin.serve, lambda: bool(collector.read()) and sent_by(collector) >= 2)
        (reading,) = client_readings(collector.read())
        assert (reading.group.type, reading.tags) == ("admin-client-metrics", ("a",))
        assert set(reading.values) == set(reading.group.numbers)
        assert float(reading.values["connection-count"]) >= 1
        del admin
        gc.collect()
        assert collector.read() == []


def test_a_dead_letter_queue_has_statistics_without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter_queue, "_ensure_topic", lambda *_: None)  # the mock describes no topics
    collector = StatisticsCollector(INTERVAL_MS)
    with mock_cluster() as cluster:
        settings = clients.producer_settings(cluster.bootstrap_servers, "d", {"enable.idempotence": "false"})
        letters = dead_letter_queue.DeadLetterQueue(
            TaskId("c", 0),
            DeadLetterSettings("dead", 1, context_headers=False),
            settings,
            {"bootstrap.servers": cluster.bootstrap_servers},
            ErrorMetrics(TaskId("c", 0)),
            statistics=collector,
        )
        with closing(letters):
            served(letters.serve, lambda: bool(collector.read()) and sent_by(collector) >= 2)
            (reading,) = client_readings(collector.read())
            assert (reading.group.type, reading.tags) == ("producer-metrics", ("d",))


def sent_by(collector: StatisticsCollector) -> float:
    return float(next(client_readings(collector.read())).values["request-total"])


def document(**values: Any) -> dict[str, Any]:
    """Statistics of a producer without brokers and topics."""
    totals = dict.fromkeys(("tx", "tx_bytes", "rx", "rx_bytes", "txmsgs", "msg_size", "msg_size_max"), 0)
    return {"type": "producer", "client_id": "p", "ts": 0, "age": 0, "brokers": {}, "topics": {}, **totals, **values}


def test_rates_are_those_between_the_last_two_statistics() -> None:
    before, now = document(ts=1_000_000, txmsgs=10), document(ts=3_000_000, txmsgs=40)
    (reading,) = client_readings([ClientStatistics(before, now)])
    assert reading.values["record-send-rate"] == 15
    (first,) = client_readings([ClientStatistics(None, document(age=4_000_000, txmsgs=10))])
    assert first.values["record-send-rate"] == 2.5


def test_averages_are_weighted_and_unknown_where_nothing_was_measured() -> None:
    def broker(count: int, mean: int, most: int) -> dict[str, Any]:
        window = {"cnt": count, "sum": count * mean, "max": most}
        return {
            "nodeid": 1,
            "state": "UP",
            "waitresp_cnt": 1,
            "rtt": window,
            "throttle": {"cnt": 0, "sum": 0, "max": 0},
        }

    now = document(brokers={"a": broker(1, 1_000, 1_000), "b": broker(3, 5_000, 9_000)})
    (reading,) = client_readings([ClientStatistics(None, now)])
    assert reading.values["request-latency-avg"] == pytest.approx(4)
    assert reading.values["request-latency-max"] == pytest.approx(9)
    assert reading.values["requests-in-flight"] == 2
    assert reading.values["connection-count"] == 2
    assert math.isnan(float(reading.values["produce-throttle-time-avg"]))
    assert math.isnan(float(reading.values["record-queue-time-max"]))


def test_without_an_interval_there_are_none() -> None:
    assert StatisticsCollector(0).settings == {"statistics.interval.ms": 0}
    assert StatisticsCollector(10**12).settings == {"statistics.interval.ms": 86_400_000}
