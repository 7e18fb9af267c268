"""What a flow shows on `/metrics`."""

import time

import pytest

from connect_dagster.cli.mirror.flow_reading import append_latency
from connect_dagster.connectors.mirror.records import Heartbeat
from connect_dagster.kafka.topic_reading import fetch_records
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow

pytestmark = pytest.mark.nightly

SOURCE = "kafka_connect_mirror_mirrorsourceconnector_"
RECORDS = 1_000


def shown(flow: Flow, name: str, **labels: str) -> list[float]:
    """The values of a metric with these labels."""
    text = flow.worker.call("GET", "/metrics").body.decode()
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = (line for line in text.splitlines() if line.startswith(f"{name}{{"))
    return [float(line.rpartition(" ")[2]) for line in lines if all(part in line for part in wanted)]


def test_lb_09_the_metrics_of_a_partition(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t", 2)
    began = time.time()
    source.produce(topic, ({"value": b"12345", "partition": 1} for _ in range(RECORDS)))
    flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    target.read(remote, {1: RECORDS})
    labels = {"source": flow.alias, "target": f"target-of-{flow.alias}", "topic": remote, "partition": "1"}
    eventually(lambda: shown(flow, f"{SOURCE}record_count", **labels) == [RECORDS], "all records are counted")
    assert shown(flow, f"{SOURCE}byte_count", **labels) == [RECORDS * 5]
    (latency,) = shown(flow, f"{SOURCE}replication_latency_ms_avg", **labels)
    assert 0 < latency < (time.time() - began) * 1000
    (age,) = shown(flow, f"{SOURCE}record_age_ms_avg", **labels)
    assert age <= latency
    assert shown(flow, f"{SOURCE}record_count", **{**labels, "partition": "0"}) == [0]


def test_lb_09_the_metrics_of_a_group(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic, group = source.create(f"{flow.alias}-t"), f"{flow.alias}-group"
    source.produce(topic, ({"value": b"1"} for _ in range(10)))
    source.commit(group, {(topic, 0): 10})
    flow.start("Source", topics=topic)
    target.read(flow.remote(topic), {0: 10})
    flow.start("Checkpoint", topics=topic, groups=group)
    name = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    labels = {"group": group, "topic": flow.remote(topic), "partition": "0"}
    eventually(lambda: len(shown(flow, name, **labels)) == 1, "a checkpoint is measured")
    assert shown(flow, name, **labels)[0] >= 0


def test_lb_09_replicated_heartbeats_give_the_latency_of_the_hop(flow: Flow, source: Cluster, target: Cluster) -> None:
    """Heartbeats that another flow writes to the source go over without being asked for."""
    source.create(f"{flow.alias}-none")
    heartbeats = f"{flow.alias}b.heartbeats"
    remote = target.create(flow.remote(heartbeats), message_timestamp_type="LogAppendTime")
    source.create(heartbeats)
    flow.start("Source", topics=f"{flow.alias}-none", heartbeats_replication_enabled="true")
    sent = int(time.time() * 1000)
    beat = Heartbeat("elsewhere", flow.alias, sent)
    source.produce(heartbeats, [{"key": beat.key, "value": beat.value}])
    target.read(remote, {0: 1})
    (arrived,) = fetch_records(target.bootstrap_servers, [(remote, 0, 0)], 10.0).values()
    latency = append_latency(arrived)
    assert latency is not None
    assert 0 <= latency <= time.time() - sent / 1000
