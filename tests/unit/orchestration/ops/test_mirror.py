"""The report of translated offsets, as a value and as a job's run."""

from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
import pytest
from dagster import DagsterInstance

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_failover_job
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.ops import mirror
from connect_dagster.orchestration.ops.mirror import checkpoint_flows, report_metadata
from tests.unit.orchestration.answers import SOURCE, connector
from tests.unit.orchestration.connect_server import ConnectServer, connect_server
from tests.unit.orchestration.observations.test_checkpoints import BILLING, NOW

CHECKPOINTS = {
    "name": "checkpoints",
    "connector.class": "MirrorCheckpointConnector",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
}
AUDIT = replace(BILLING, group="audit", committed=1005)


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("checkpoints", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")
        yield server


def launch(workspace: KafkaConnectWorkspace, groups: list[str] | None = None) -> dg.ExecuteInProcessResult:
    job = build_mirror_failover_job(workspace=workspace)
    config = {"ops": {"mirror_failover_report_op": {"config": {"groups": groups or []}}}}
    with DagsterInstance.ephemeral() as instance:
        return job.execute_in_process(config, instance=instance, raise_on_error=False)


def test_flows_are_those_of_checkpoint_connectors_each_once() -> None:
    asia = {**CHECKPOINTS, "name": "asia", "source.cluster.alias": "asia"}
    twice = {**CHECKPOINTS, "name": "twice"}
    flows = checkpoint_flows([connector(config) for config in (CHECKPOINTS, SOURCE, twice, asia)])
    assert [names.flow for names in flows] == ["asia->us", "eu->us"]


def test_the_report_has_a_table_for_each_flow() -> None:
    metadata = report_metadata({"eu->us": [BILLING, AUDIT], "asia->us": []}, [], NOW)
    assert (metadata["group_count"], metadata["partition_count"], metadata["records_lag_total"]) == (2, 2, 20)
    rows = [record.data for record in metadata["eu->us"].records]
    assert [row["group"] for row in rows] == ["audit", "billing"]
    assert rows[0] == {
        "group": "audit",
        "topic": "eu.orders",
        "partition": 0,
        "upstream": 1000,
        "committed": 1005,
        "downstream": 990,
        "end": 1000,
        "records": 10,
        "age_seconds": 30.0,
    }
    assert metadata["asia->us"].records == []


def test_the_report_of_chosen_groups_has_no_others() -> None:
    metadata = report_metadata({"eu->us": [BILLING, AUDIT]}, ["audit"], NOW)
    assert (metadata["group_count"], len(metadata["eu->us"].records)) == (1, 1)


def test_very_many_rows_are_cut_and_counted() -> None:
    many = [replace(BILLING, partition=number) for number in range(mirror.MOST_ROWS + 5)]
    metadata = report_metadata({"eu->us": many}, [], NOW)
    assert (len(metadata["eu->us"].records), metadata["eu->us more"]) == (mirror.MOST_ROWS, 5)


def test_a_run_reads_the_flows_of_the_cluster(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def fetch(
        target: Bootstrap, names: MirrorNames, timeout: float, source: Bootstrap | None = None
    ) -> list[TranslatedOffset]:
        asked.append((str(target), names.checkpoints))
        return [BILLING]

    monkeypatch.setattr(mirror, "fetch_translated_offsets", fetch)
    assert launch(server.workspace).success
    assert asked == [("us:9092", "eu.checkpoints.internal")]
    failed = launch(server.workspace, ["billing", "reports"])
    (event,) = failed.get_step_failure_events()
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description == "No flow has a checkpoint of 'reports'. There are those of: billing."


def test_a_topic_that_cannot_be_read_fails_the_run_with_a_sentence(
    server: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> list[TranslatedOffset]:
        raise BrokersError("Topic 'eu.checkpoints.internal' does not exist.")

    monkeypatch.setattr(mirror, "fetch_translated_offsets", fetch)
    (event,) = launch(server.workspace).get_step_failure_events()
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description == (
        "The checkpoints of eu->target cannot be read: Topic 'eu.checkpoints.internal' does not exist."
    )


def test_the_job_needs_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers to the workspace 'local'"):
        build_mirror_failover_job(workspace=KafkaConnectWorkspace())
