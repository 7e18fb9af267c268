"""Assets, checks and jobs of flows in Dagster, and the dedicated process in a run that hosts it."""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import AssetCheckEvaluation, AssetKey, DagsterInstance

from connect_dagster.connectors.mirror.records import Heartbeat
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.kafka.topic_reading import count_records
from connect_dagster.orchestration import (
    KafkaConnectWorkspace,
    MirrorMakerResource,
    build_kafka_connect_polling_sensor,
    build_mirror_config_drift_checks,
    build_mirror_failover_checks,
    build_mirror_failover_job,
    build_mirror_heartbeat_checks,
    build_mirror_lag_checks,
    build_mirror_matches_checks,
    build_mirror_sync_groups_job,
)
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.observations.mirrored_records import fetch_missing
from tests.distributed_process import DistributedProcess
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow
from tests.integration.mirror.test_dedicated import mm2
from tests.integration.mirror.test_topics import set_config
from tests.integration.worker_process import QUICK_JVM

pytestmark = pytest.mark.nightly

RECORDS = 500
CONNECT = "connect-mirror"


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(name="here")
def here_fixture(worker: DistributedProcess, target: Cluster) -> KafkaConnectWorkspace:
    """The workspace of the target's Connect cluster."""
    return KafkaConnectWorkspace(
        url=worker.rest_url, cluster=CONNECT, kafka_cluster="here", bootstrap_servers=target.bootstrap_servers
    )


@pytest.fixture(name="there")
def there_fixture(flow: Flow, source: Cluster) -> KafkaConnectWorkspace:
    """The workspace of the mirrored cluster, under the alias that the flow has for it."""
    return KafkaConnectWorkspace(kafka_cluster=flow.alias, bootstrap_servers=source.bootstrap_servers)


def materialized(
    here: KafkaConnectWorkspace, there: KafkaConnectWorkspace, instance: DagsterInstance, topic: str
) -> Mapping[str, Any] | None:
    """The metadata of a topic's materialisation in a first tick of the sensor; None without one."""
    sensor = build_kafka_connect_polling_sensor(workspace=here, mirror_sources=[there])
    with dg.build_sensor_context(instance=instance) as context:
        events = sensor.evaluate_tick(context).asset_events
    key = AssetKey(["kafka", "here", topic])
    found = [event for event in events if isinstance(event, dg.AssetMaterialization) and event.asset_key == key]
    return {name: value.value for name, value in found[0].metadata.items()} if found else None


def evaluated(
    checks: Sequence[dg.AssetChecksDefinition], connector: str, instance: DagsterInstance
) -> dict[str, AssetCheckEvaluation]:
    """Outcomes of checks of one connector, by their names."""
    defs = dg.Definitions(
        assets=[dg.AssetSpec(connector_key(CONNECT, connector))],
        asset_checks=checks,
        jobs=[dg.define_asset_job("checks", selection=dg.AssetSelection.all_asset_checks())],
    )
    result = defs.resolve_job_def("checks").execute_in_process(instance=instance)
    return {one.check_name: one for one in result.get_asset_check_evaluations()}


def reported(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """Metadata of the output of a job with one op."""
    (output,) = (event for event in result.all_events if event.is_successful_output)
    return {name: found.value for name, found in output.step_output_data.metadata.items()}


def test_a_mirrored_topic_is_materialised_with_lag_and_ages(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    here: KafkaConnectWorkspace,
    there: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    topic = source.create(f"{flow.alias}-t", 2)
    source.produce(topic, ({"value": str(number).encode(), "partition": number % 2} for number in range(RECORDS)))
    name = flow.start("Source", topics=topic)
    target.read(flow.remote(topic), {0: RECORDS // 2, 1: RECORDS // 2})

    def is_caught_up() -> bool:
        metadata = materialized(here, there, instance, flow.remote(topic))
        return metadata is not None and metadata["records_lag_total"] == 0

    eventually(is_caught_up, "all offsets are committed")
    metadata = materialized(here, there, DagsterInstance.ephemeral(), flow.remote(topic))
    assert metadata is not None
    assert (metadata["source_cluster"], metadata["replication_policy"]) == (flow.alias, "DefaultReplicationPolicy")
    assert metadata["end_offset_total"] == RECORDS
    assert 0 <= metadata["newest_record_age_seconds"] < 600
    (lag,) = evaluated(
        build_mirror_lag_checks(workspace=here, source=there, connectors=[name], max_lag=0), name, instance
    ).values()
    assert (lag.passed, lag.description) == (True, "0 records are beyond the committed positions; 0 are allowed")


def test_records_are_compared_in_both_clusters(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    here: KafkaConnectWorkspace,
    there: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    topic = source.create(f"{flow.alias}-t", 2)
    records = [
        {"key": b"k", "value": str(number).encode(), "headers": [("h", b"1"), ("h", None)], "partition": number % 2}
        for number in range(RECORDS)
    ]
    source.produce(topic, records)
    name = flow.start("Source", topics=topic, offset_lag_max="0")
    target.read(flow.remote(topic), {0: RECORDS // 2, 1: RECORDS // 2})
    checks = build_mirror_matches_checks(workspace=here, source=there, connectors=[name])

    def compared() -> AssetCheckEvaluation:
        return evaluated(checks, name, instance)["mirror_matches"]

    # Ten syncs of each batch of a partition are written at most, and one batch need not have all records.
    def count() -> int:
        found = compared().metadata["records_compared"].value
        assert isinstance(found, int)
        return found

    eventually(lambda: count() >= 2 * 10, "syncs of both partitions are written")
    assert compared().passed, compared().description
    # A record that nobody sent: each further one is at another offset than MirrorMaker knows.
    target.produce(flow.remote(topic), [{"value": b"from another producer", "partition": 0}])
    source.produce(topic, [{"value": b"last", "partition": 0}])
    target.read(flow.remote(topic), {0: RECORDS // 2 + 2})
    eventually(lambda: compared().metadata["offsets_between_syncs_target"].value == RECORDS, "a foreign record counts")
    assert compared().passed, compared().description


def test_records_of_the_source_between_two_syncs_are_counted(source: Cluster) -> None:
    topic = source.create(f"counted-{uuid.uuid4().hex[:8]}")
    source.produce(topic, ({"value": str(number).encode()} for number in range(10)))
    place = topic, 0
    assert count_records(source.bootstrap_servers, place, 2, 7, 10.0) == 5
    assert count_records(source.bootstrap_servers, place, 8, 20, 10.0) == 2
    assert fetch_missing(source.bootstrap_servers, {place: ((1, 1), (6, 4))}, 10.0) == {place: 2}
    assert fetch_missing(source.bootstrap_servers, {place: ((1, 1), (6, 6))}, 10.0) == {}


def test_settings_that_were_changed_by_hand_are_a_drift(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    here: KafkaConnectWorkspace,
    there: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    topic = source.create(f"{flow.alias}-t", retention_ms="1234567")
    source.produce(topic, [{"value": b"one"}])
    name = flow.start("Source", topics=topic, sync_topic_configs_enabled="false")
    target.read(flow.remote(topic), {0: 1})
    checks = build_mirror_config_drift_checks(workspace=here, source=there, connectors=[name])
    assert evaluated(checks, name, instance)["mirror_config_drift"].passed
    set_config(target, flow.remote(topic), retention_ms="7654321")

    def is_found() -> bool:
        found = evaluated(checks, name, instance)["mirror_config_drift"]
        return not found.passed and found.metadata["changed_settings"].value == 1

    eventually(is_found, "the change is found")


def test_heartbeats_that_are_late_are_named(
    flow: Flow, source: Cluster, target: Cluster, here: KafkaConnectWorkspace, instance: DagsterInstance
) -> None:
    topic = source.create(f"{flow.alias}-t")
    beat = Heartbeat("elsewhere", flow.alias, round(time.time() * 1000))
    source.produce("heartbeats", [{"key": beat.key, "value": beat.value}])
    name = flow.start("Source", topics=topic, heartbeats_replication_enabled="true")

    def outcome(max_age_seconds: float) -> AssetCheckEvaluation:
        checks = build_mirror_heartbeat_checks(workspace=here, connectors=[name], max_age_seconds=max_age_seconds)
        return evaluated(checks, name, instance)["mirror_heartbeat"]

    eventually(lambda: outcome(3600.0).passed, "the heartbeat has arrived")
    time.sleep(1.0)
    late = outcome(0.5)
    assert not late.passed
    assert flow.alias in str(late.description)


def test_groups_are_ready_where_their_offsets_are_translated_and_the_report_shows_them(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    here: KafkaConnectWorkspace,
    there: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    topic, group = source.create(f"{flow.alias}-t"), f"{flow.alias}-group"
    source.produce(topic, ({"value": str(number).encode()} for number in range(RECORDS)))
    source.commit(group, {(topic, 0): RECORDS})
    flow.start("Source", topics=topic, offset_lag_max="0")
    target.read(flow.remote(topic), {0: RECORDS})
    name = flow.start("Checkpoint", topics=topic, groups=group)
    eventually(lambda: target.ends(f"{flow.alias}.checkpoints.internal").get(0, 0) > 0, "a checkpoint is emitted")
    checks = build_mirror_failover_checks(workspace=here, source=there, connectors=[name], groups=[group, "none"])
    outcome = evaluated(checks, name, instance)["mirror_failover_ready"]
    assert outcome.description == "1 of 2 groups cannot go on in the target: 'none': it has no checkpoint"
    # A group that stands still is ready, however old its checkpoint.
    time.sleep(1.5)
    still = build_mirror_failover_checks(
        workspace=here, source=there, connectors=[name], groups=[group], max_age_seconds=1.0
    )
    assert evaluated(still, name, instance)["mirror_failover_ready"].passed
    job = build_mirror_failover_job(workspace=here, source=there)
    table = reported(job.execute_in_process(instance=instance))[f"{flow.alias}->target-of-{flow.alias}"]
    (row,) = (record.data for record in table.records if record.data["group"] == group)
    assert (row["topic"], row["upstream"], row["committed"]) == (flow.remote(topic), RECORDS, RECORDS)
    assert row["downstream"] <= row["end"] == RECORDS
    # The report is for the time when the source is lost.
    lost = KafkaConnectWorkspace(kafka_cluster=flow.alias, bootstrap_servers=f"{HOST}:{free_port()}")
    alone = build_mirror_failover_job(workspace=here, source=lost, connectors=[name]).execute_in_process(
        {"ops": {"mirror_failover_report_op": {"config": {"groups": [group], "timeout": 10.0}}}}, instance=instance
    )
    (left,) = reported(alone)[f"{flow.alias}->target-of-{flow.alias}"].records
    assert (left.data["downstream"], left.data["committed"]) == (row["downstream"], None)
    sync = build_mirror_sync_groups_job(workspace=here).execute_in_process(
        {"ops": {"mirror_sync_groups_op": {"config": {"groups": [group]}}}}, instance=instance
    )
    assert reported(sync)["groups_set"] == 1
    assert target.committed(group, flow.remote(topic)) == row["downstream"]


def test_the_dedicated_process_is_started_reported_and_stopped(
    source: Cluster, target: Cluster, tmp_path: Path
) -> None:
    tag = uuid.uuid4().hex[:8]
    topic = source.create(f"hosted-{tag}")
    source.produce(topic, ({"value": str(number).encode()} for number in range(RECORDS)))
    file = mm2(source, target, tag, **{f"A{tag}->B{tag}.enabled": "true", "topics": topic, **QUICK_JVM})
    resource = MirrorMakerResource(properties=file, clusters=[f"B{tag}"])
    process, report = resource.start(120), resource.report()
    try:
        target.read(f"A{tag}.{topic}", {0: RECORDS})

        def is_reported() -> bool:
            metadata = report.running(process)
            found: tuple[int, ...] = tuple(metadata[name] for name in ("connector_count", "tasks_failed"))
            return found == (3, 0) and int(metadata["task_count"]) >= 2

        eventually(is_reported, "all connectors and tasks are in the topic of states")
    finally:
        process.stop(60)
    assert report.ended(process)["exit"] == "exit code 0"
